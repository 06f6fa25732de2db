// SPDX-License-Identifier: Apache-2.0
// NVTX by the way that programs go: a variable, set by us or by somebody else, and a library opened at the first call.
#include "tests/integration/scope/run.h"

namespace tidemark {
namespace {

using Places = std::map<std::uint64_t, std::string>;

Places const kPlaces{{1000, "forward:network.conv1"},
                     {2000, "forward:network.attention.started"},
                     {3000, "forward:network.attention"},
                     {4000, "other:network"},
                     {5000, "other:"}};

TEST(Nvtx, ThePreloadedLibraryIsFoundByAPlainProgram) {
  Outcome const ran = run({.program = NVTX_PROGRAM});
  EXPECT_EQ(ran.program.exit_code, 0) << ran.program.err;
  ASSERT_TRUE(ran.trace);
  EXPECT_EQ(places(*ran.trace), kPlaces);
}

TEST(Nvtx, TheProgramSeesTheSameWithAndWithoutUs) {
  Outcome const bare = run({.program = NVTX_PROGRAM, .preloaded = false}), ours = run({.program = NVTX_PROGRAM});
  EXPECT_EQ(bare.program.exit_code, 0) << bare.program.err;
  EXPECT_EQ(ours.program.exit_code, 0);
  EXPECT_EQ(ours.program.out, bare.program.out);
  EXPECT_EQ(ours.program.err, bare.program.err);
}

TEST(Nvtx, ModulesAndThreadsShareWhatBelongsTogether) {
  Outcome const ran = run({.program = NVTX_MODULES, .arguments = {NVTX_MODULE}});
  EXPECT_EQ(ran.program.exit_code, 0) << ran.program.err;
  ASSERT_TRUE(ran.trace);
  EXPECT_EQ(places(*ran.trace), (Places{{1000, "other:outer.in the module"},
                                        {2000, "other:outer.in a domain"},
                                        {3000, "other:thread.handed over"},
                                        {4000, "other:"},
                                        {5000, "other:thread"},
                                        {6000, "other:"}}));
}

TEST(Nvtx, AnotherToolSeesEveryCallAsIfItWereAlone) {
  std::string const tool = "NVTX_INJECTION64_PATH=" NVTX_TOOL;
  Outcome const alone = run({.program = NVTX_PROGRAM, .environment = {tool}, .preloaded = false}),
                both = run({.program = NVTX_PROGRAM, .environment = {tool}});
  EXPECT_EQ(alone.program.exit_code, 0) << alone.program.err;
  EXPECT_EQ(both.program.exit_code, 0) << both.program.err;
  EXPECT_NE(alone.tool_log.find("push 0x1000 attention\n"), std::string::npos) << alone.tool_log;
  EXPECT_NE(alone.tool_log.find("mark a mark\n"), std::string::npos) << alone.tool_log;
  EXPECT_NE(alone.tool_log.find("end abcdef0000000001\n"), std::string::npos) << alone.tool_log;
  EXPECT_EQ(both.tool_log, alone.tool_log);
  EXPECT_EQ(both.program.out, alone.program.out) << "the tool's depths";
  ASSERT_TRUE(both.trace);
  EXPECT_EQ(places(*both.trace), kPlaces);
}

TEST(Nvtx, AToolForSeveralModulesIsSetUpInEach) {
  std::string const tool = "NVTX_INJECTION64_PATH=" NVTX_TOOL;
  ScopeRun program{.program = NVTX_MODULES, .arguments = {NVTX_MODULE}, .environment = {tool}, .preloaded = false};
  Outcome const alone = run(program);
  program.preloaded = true;
  Outcome const both = run(program);
  EXPECT_EQ(both.program.exit_code, 0) << both.program.err;
  EXPECT_NE(alone.tool_log.find("in the module"), std::string::npos) << alone.tool_log;
  EXPECT_EQ(both.tool_log, alone.tool_log);
  ASSERT_TRUE(both.trace);
  EXPECT_EQ(places(*both.trace).at(1000), "other:outer.in the module");
}

TEST(Nvtx, ALauncherMaySetTheVariablesItself) {
  Outcome const ran =
      run({.program = NVTX_PROGRAM,
           .environment = {"NVTX_INJECTION64_PATH=" TIDEMARK_LIBRARY, "TIDEMARK_NVTX_CHAIN=" NVTX_TOOL}});
  EXPECT_EQ(ran.program.exit_code, 0) << ran.program.err;
  EXPECT_NE(ran.tool_log.find("push network\n"), std::string::npos) << ran.tool_log;
  ASSERT_TRUE(ran.trace);
  EXPECT_EQ(places(*ran.trace), kPlaces);
}

TEST(Nvtx, AToolThatRefusesOrIsNotThereLeavesOurs) {
  for (std::vector<std::string> const& environment :
       {std::vector<std::string>{"NVTX_INJECTION64_PATH=" NVTX_TOOL, "TOOL_REFUSES=1"},
        std::vector<std::string>{"NVTX_INJECTION64_PATH=/no/such/tool.so"},
        std::vector<std::string>{"NVTX_INJECTION64_PATH=" NVTX_MODULE},  // a library, but no tool
        std::vector<std::string>{"NVTX_INJECTION64_PATH="},
        std::vector<std::string>{"TIDEMARK_NVTX_CHAIN=" TIDEMARK_LIBRARY}}) {
    Outcome const ran = run({.program = NVTX_PROGRAM, .environment = environment});
    EXPECT_EQ(ran.program.exit_code, 0) << environment[0] << ran.program.err;
    EXPECT_EQ(ran.tool_log, "");
    ASSERT_TRUE(ran.trace);
    EXPECT_EQ(places(*ran.trace), kPlaces) << environment[0];
  }
}

TEST(Nvtx, MayBeSwitchedOff) {
  std::string const tool = "NVTX_INJECTION64_PATH=" NVTX_TOOL, off = "TIDEMARK_NVTX=0";
  Outcome const without = run({.program = NVTX_PROGRAM, .environment = {off}}),
                with_tool = run({.program = NVTX_PROGRAM, .environment = {off, tool}}),
                launched =
                    run({.program = NVTX_PROGRAM, .environment = {off, "NVTX_INJECTION64_PATH=" TIDEMARK_LIBRARY}});
  for (Outcome const* const ran : {&without, &with_tool, &launched}) {
    EXPECT_EQ(ran->program.exit_code, 0) << ran->program.err;
    ASSERT_TRUE(ran->trace);
    EXPECT_EQ(places(*ran->trace).at(1000), "other:");
  }
  EXPECT_NE(with_tool.tool_log, "");
}

// A shell has functions of its own for its environment, and hands it on.
TEST(Nvtx, IsSetForTheProgramsOfAShell) {
  for (const char* const shell : {"/bin/bash", "/bin/sh"}) {
    if (!std::filesystem::exists(shell)) continue;
    Outcome const ran = run({.program = shell, .arguments = {"-c", "X=1; exec " NVTX_PROGRAM}});
    EXPECT_EQ(ran.program.exit_code, 0) << ran.program.err;
    EXPECT_EQ(ran.program.err, "");
    ASSERT_TRUE(ran.trace) << shell;
    EXPECT_EQ(places(*ran.trace), kPlaces) << shell;
  }
}

TEST(Nvtx, AProgramStartedWithoutUsIsLeftAlone) {
  Outcome const ran =
      run({.program = NVTX_PROGRAM, .environment = {"NVTX_INJECTION64_PATH=" TIDEMARK_LIBRARY}, .preloaded = false});
  EXPECT_EQ(ran.program.exit_code, 0) << ran.program.err;
  EXPECT_FALSE(ran.trace);
}

}  // namespace
}  // namespace tidemark
