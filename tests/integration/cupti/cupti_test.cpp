// SPDX-License-Identifier: Apache-2.0
// usage: cupti_tests PROGRAM LIBTIDEMARK SOFTGPU FAKES (by CTest)
// The program beside this file under libtidemark.so, with CUPTI: the kernels and the audit in its trace, and that
// whatever CUPTI does, the program ends as it would without.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "trace/read/trace.h"

namespace tidemark::interpose {
namespace {

using trace::Event;
using trace::Phase;

struct Places {
  std::string program, tidemark, softgpu, fakes;
} places;

using Environment = std::map<std::string, std::string>;

struct Ended {
  int status = 0;
  std::string out, errors;
  bool operator==(const Ended& other) const { return status == other.status && out == other.out; }
};

std::string contents(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

class Cupti : public testing::Test {
 protected:
  Cupti() {
    std::string pattern = testing::TempDir() + "cupti-XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~Cupti() override { std::filesystem::remove_all(folder_); }

  Ended play(const std::string& scene, const Environment& environment, const std::string& libraries) {
    std::string const out = folder_ + "/out", errors = folder_ + "/errors";
    pid_t const child = fork();
    if (child == 0) {
      dup2(open(out.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600), STDOUT_FILENO);
      dup2(open(errors.c_str(), O_CREAT | O_TRUNC | O_WRONLY, 0600), STDERR_FILENO);
      for (const char* const name : {"TIDEMARK_CUPTI", "CUDA_INJECTION64_PATH", "LD_PRELOAD"}) unsetenv(name);
      setenv("LD_LIBRARY_PATH", libraries.c_str(), 1);
      setenv("SOFTGPU_QUIET", "1", 1);
      for (auto const& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
      execl(places.program.c_str(), places.program.c_str(), scene.c_str(), nullptr);
      _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return {status, contents(out), contents(errors)};
  }
  Ended bare(const std::string& scene) { return play(scene, {}, places.softgpu); }

  // Under the recorder; the trace is opened.
  Ended record(const std::string& scene, Environment environment, const std::string& fake = "") {
    std::string const path = folder_ + "/" + scene + std::to_string(++runs_) + ".tide";
    environment["LD_PRELOAD"] = places.tidemark;
    environment["TIDEMARK_OUT"] = path;
    environment["TIDEMARK_SUMMARY"] = "0";
    // What is audited are the driver's own blocks. (tidemark_preload_programs has the audit of served programs.)
    environment.emplace("TIDEMARK_MODE", "observe");
    Ended const ended =
        play(scene, environment, fake.empty() ? places.softgpu : places.fakes + "/" + fake + ":" + places.softgpu);
    auto opened = trace::Trace::open(path);
    if (opened.ok())
      trace_.emplace(std::move(*opened));
    else
      ADD_FAILURE() << opened.error().what << "\n" << ended.errors;
    return ended;
  }

  std::string fact(const std::string& key) const { return trace_->names().fact(key); }
  std::vector<Event> kernels() const {
    std::vector<Event> events;
    for (std::size_t i = 0; i < trace_->event_chunks(); ++i) trace_->decode_chunk(i, events);
    std::erase_if(events, [](const Event& e) { return e.type != Event::Type::Kernel; });
    // They are written once their launch is known, which for some is later than for others.
    std::stable_sort(events.begin(), events.end(),
                     [](const Event& a, const Event& b) { return a.start_ticks < b.start_ticks; });
    return events;
  }
  std::string name(const Event& kernel) const { return trace_->names().string(kernel.name); }
  std::string layer(const Event& kernel) const { return trace_->names().path(kernel.context.scope); }

  // Everything that both sides told, they told alike.
  void expect_agreement() const {
    EXPECT_EQ(fact("cupti"), "on");
    EXPECT_EQ(fact("cupti.audit"), "agrees") << fact("cupti.audit.samples");
    EXPECT_EQ(fact("cupti.audit.unmatched"), "0");
    EXPECT_EQ(fact("cupti.audit.difference_bytes"), "0");
    EXPECT_EQ(fact("cupti.audit.allocations"), fact("cupti.audit.agreeing"));
    EXPECT_EQ(fact("cupti.audit.releases"), fact("cupti.audit.releases_agreeing"));
    EXPECT_NE(fact("cupti.audit.allocations"), "0");
    EXPECT_EQ(fact("cupti.records.odd"), "0");
    EXPECT_EQ(fact("cupti.records.dropped"), "0");
  }

  std::string folder_;
  int runs_ = 0;
  std::optional<trace::Trace> trace_;
};

constexpr const char* kFill = "_ZN7watched4fillEPiii";
constexpr const char* kAdd = "_ZN7watched3addEPiii";

struct Expected {
  std::string name, layer;
  Phase phase;
  std::uint64_t step;
  bool operator==(const Expected&) const = default;
};
void PrintTo(const Expected& e, std::ostream* out) {
  *out << e.name << " in '" << e.layer << "', " << trace::name(e.phase) << ", step " << e.step;
}

class EachMode : public Cupti, public testing::WithParamInterface<Environment> {};

TEST_P(EachMode, KernelsAreInTheLayerPhaseAndStepOfTheirLaunch) {
  Environment environment = GetParam();
  environment["TIDEMARK_CUPTI"] = "1";
  Ended const ended = record("training", environment);
  EXPECT_EQ(ended.status, 0) << ended.errors;
  EXPECT_EQ(ended.errors, "");
  std::vector<Expected> expected, seen;
  for (std::uint64_t step = 1; step <= 3; ++step) {
    expected.push_back({kFill, "encoder", Phase::Forward, step});
    expected.push_back({kAdd, "encoder.attn", Phase::Forward, step});
    expected.push_back({kAdd, "encoder", Phase::Backward, step});
    expected.push_back({kAdd, "", Phase::Other, step});
  }
  for (Event const& k : kernels()) {
    seen.push_back({name(k), layer(k), static_cast<Phase>(k.context.phase), k.context.step});
    EXPECT_EQ(k.source, 0) << "its launch was seen";
    EXPECT_EQ(k.context.device, 0);
    EXPECT_NE(k.address, 0u) << "its stream has a number";
  }
  EXPECT_EQ(seen, expected);
  EXPECT_EQ(fact("cupti.kernels"), "12");
  EXPECT_EQ(fact("cupti.kernels.unscoped"), "0");
  EXPECT_EQ(fact("cupti.kernels.unfinished"), "0");
  expect_agreement();
}
INSTANTIATE_TEST_SUITE_P(, EachMode,
                         testing::Values(Environment{{"SOFTGPU_DRY_RUN", "0"}}, Environment{{"SOFTGPU_DRY_RUN", "1"}},
                                         Environment{{"SOFTGPU_SCHEDULE", "late"}},
                                         Environment{{"SOFTGPU_SCHEDULE", "random:7"}},
                                         Environment{{"SOFTGPU_CLOCK", "sim"}, {"SOFTGPU_KERNEL_TIME", "5us"}}));

// CUPTI's clock is that of the wall, the trace's counts ticks: a kernel lies in the run, and inside of its own layer's
// work.
TEST_F(Cupti, KernelsLieWhereTheyRan) {
  record("training", {{"TIDEMARK_CUPTI", "1"}, {"SOFTGPU_DRY_RUN", "0"}});
  std::vector<Event> events;
  for (std::size_t i = 0; i < trace_->event_chunks(); ++i) trace_->decode_chunk(i, events);
  std::uint64_t born = 0, freed = 0;
  for (Event const& e : events) {
    if (e.type == Event::Type::Alloc) born = e.ticks;
    if (e.type == Event::Type::Free) freed = e.ticks;
  }
  std::uint64_t before = born;
  for (Event const& k : kernels()) {
    EXPECT_GT(k.start_ticks, before) << "the block was there, and the stream's order is kept";
    EXPECT_LT(k.start_ticks, freed);
    EXPECT_LT(trace_->nanoseconds(k.start_ticks) + k.other, trace_->nanoseconds(freed));
    before = k.start_ticks;
  }
}

TEST_F(Cupti, TimeOnTheDeviceIsMeasuredInItsOwnNanoseconds) {
  record("training", {{"TIDEMARK_CUPTI", "1"}, {"SOFTGPU_CLOCK", "sim"}, {"SOFTGPU_KERNEL_TIME", "5us"}});
  for (Event const& k : kernels()) EXPECT_EQ(k.other, 5000u);
}

TEST_F(Cupti, EveryThreadHasItsOwnScope) {
  Ended const ended = record("threads", {{"TIDEMARK_CUPTI", "1"}, {"SOFTGPU_DRY_RUN", "0"}});
  EXPECT_EQ(ended, bare("threads"));
  std::map<std::string, int> count;
  std::map<std::string, std::set<std::uint64_t>> streams;
  for (Event const& k : kernels()) {
    ++count[layer(k)];
    streams[layer(k)].insert(k.address);
  }
  for (const char* const name : {"worker0", "worker1", "worker2", "worker3"}) {
    EXPECT_EQ(count[name], 51) << name;
    EXPECT_EQ(streams[name].size(), 1u) << name;
  }
  EXPECT_EQ(count.size(), 4u);
  EXPECT_EQ(fact("cupti.audit.allocations"), "204");
  expect_agreement();
}

TEST_F(Cupti, RangesOfNvtxAreLayersToo) {
  Ended const ended = record("ranges", {{"TIDEMARK_CUPTI", "1"}, {"SOFTGPU_DRY_RUN", "0"}});
  EXPECT_EQ(ended, bare("ranges"));
  ASSERT_EQ(kernels().size(), 1u);
  EXPECT_EQ(layer(kernels()[0]), "decoder");
}

TEST_F(Cupti, KernelsOfLibrariesAreInTheLayerThatCalledThem) {
  if (!std::filesystem::exists(places.softgpu + "/libcublas.so.13")) GTEST_SKIP() << "softgpu was built without cuBLAS";
  Ended const ended = record("gemm", {{"TIDEMARK_CUPTI", "1"}});
  EXPECT_EQ(ended.status, 0) << ended.errors;
  std::vector<std::string> layers;
  for (Event const& k : kernels()) layers.push_back(layer(k));
  EXPECT_EQ(layers, (std::vector<std::string>{"first", "second"}));
  EXPECT_EQ(fact("cupti.kernels.unscoped"), "0");
  EXPECT_EQ(fact("cupti.audit"), "agrees");
}

TEST_F(Cupti, EveryClassOfMemoryIsAudited) {
  record("classes", {{"TIDEMARK_CUPTI", "1"}});
  expect_agreement();
  // Plain, pitched, pooled, kept, the array and the mapping; managed and pinned.
  EXPECT_EQ(fact("cupti.audit.device.0.allocations"), "6");
  EXPECT_EQ(fact("cupti.audit.host.allocations"), "2");
  EXPECT_EQ(fact("cupti.audit.host.bytes"), "8000");
  EXPECT_EQ(fact("cupti.audit.releases"), "7") << "one block is left";
  EXPECT_EQ(fact("cupti.audit.unseen"), "2") << "memory that was only registered, and its end";
  EXPECT_EQ(fact("cupti.audit.graph_operations"), "6");
}

TEST_F(Cupti, WhatGoesWithItsContextAgrees) {
  record("contexts", {{"TIDEMARK_CUPTI", "1"}, {"SOFTGPU_DRY_RUN", "0"}});
  expect_agreement();
  EXPECT_EQ(fact("cupti.audit.allocations"), "2");
  EXPECT_EQ(fact("cupti.audit.releases"), "2");
}

TEST_F(Cupti, AContextDoesNotTakeThePoolsMemoryWithIt) {
  record("pools", {{"TIDEMARK_CUPTI", "1"}});
  expect_agreement();
  EXPECT_EQ(fact("cupti.audit.releases"), "2");
  record("resets", {{"TIDEMARK_CUPTI", "1"}, {"SOFTGPU_DRY_RUN", "0"}});
  expect_agreement();
}

// Where a granule of the driver's goes beyond the limit, the block is made and given back: the program never had it,
// but CUPTI has seen it come and go.
TEST_F(Cupti, WhatALimitTookBackIsNoDifference) {
  Ended const ended = record(
      "until_full",
      {{"TIDEMARK_CUPTI", "1"}, {"TIDEMARK_LIMIT", "65MiB"}, {"SOFTGPU_CONTEXT", "32MiB"}, {"SOFTGPU_DRY_RUN", "1"}});
  EXPECT_EQ(ended.out, "16\n") << ended.errors;
  expect_agreement();
  EXPECT_EQ(fact("cupti.audit.allocations"), "17");
  EXPECT_EQ(trace_->header().totals.allocations, 16u);
}

TEST_F(Cupti, ManyBuffersLoseNothing) {
  Ended const ended = record("long_run", {{"TIDEMARK_CUPTI", "1"}, {"SOFTGPU_DRY_RUN", "0"}});
  EXPECT_EQ(ended, bare("long_run"));
  EXPECT_EQ(kernels().size(), 5000u);
  for (Event const& k : kernels()) ASSERT_EQ(layer(k), "long");
  expect_agreement();
}

TEST_F(Cupti, AForkedChildIsLeftInPeace) {
  Ended const ended = record("forks", {{"TIDEMARK_CUPTI", "1"}, {"SOFTGPU_DRY_RUN", "0"}});
  EXPECT_EQ(ended, bare("forks"));
  EXPECT_EQ(kernels().size(), 12u);
  expect_agreement();
}

TEST_F(Cupti, AThreadMayEndTheProgram) {
  Ended const ended = record("ends_in_thread", {{"TIDEMARK_CUPTI", "1"}, {"SOFTGPU_DRY_RUN", "0"}});
  EXPECT_EQ(ended, bare("ends_in_thread"));
  EXPECT_EQ(WEXITSTATUS(ended.status), 3);
  EXPECT_EQ(kernels().size(), 12u);
  expect_agreement();
}

TEST_F(Cupti, AKilledProgramLeavesAReadableTrace) {
  Ended const ended = record("killed", {{"TIDEMARK_CUPTI", "1"}});
  EXPECT_EQ(WTERMSIG(ended.status), SIGKILL);
  EXPECT_EQ(fact("cupti"), "on");
  EXPECT_EQ(fact("cupti.audit"), "") << "nobody came to compare";
  EXPECT_EQ(trace_->header().totals.allocations, 1u);
}

TEST_F(Cupti, OffIsTheDefault) {
  for (Environment const& environment : {Environment{}, Environment{{"TIDEMARK_CUPTI", "0"}}}) {
    Ended const ended = record("training", environment);
    EXPECT_EQ(ended, bare("training"));
    EXPECT_EQ(fact("cupti"), "off");
    EXPECT_EQ(fact("cupti.version"), "") << "it was not even opened";
    EXPECT_TRUE(kernels().empty());
  }
}

TEST_F(Cupti, AnUnknownChoiceIsNamed) {
  std::string const path = folder_ + "/none.tide";
  Ended const ended = play(
      "training", {{"LD_PRELOAD", places.tidemark}, {"TIDEMARK_OUT", path}, {"TIDEMARK_CUPTI", "yes"}}, places.softgpu);
  EXPECT_EQ(ended, bare("training"));
  EXPECT_NE(ended.errors.find("TIDEMARK_CUPTI: not a choice: 'yes'"), std::string::npos) << ended.errors;
}

TEST_F(Cupti, AnotherClientIsNamedAndLeftAlone) {
  Ended const ended = record("busy", {{"TIDEMARK_CUPTI", "1"}});
  EXPECT_EQ(ended, bare("busy")) << "the program's own subscription stands";
  EXPECT_EQ(fact("cupti"), "busy: held by CUPTI for the program");
  EXPECT_EQ(ended.errors, "tidemark: CUPTI: busy: held by CUPTI for the program\n");
  EXPECT_TRUE(kernels().empty());
}

TEST_F(Cupti, WhoComesLaterIsToldWhoWasFirst) {
  Ended const ended = record("busy_later", {{"TIDEMARK_CUPTI", "1"}});
  EXPECT_EQ(ended.status, 0);
  EXPECT_NE(ended.out.find("held by 'CUPTI for tidemark'"), std::string::npos) << ended.out;
  expect_agreement();
}

TEST_F(Cupti, AutoStepsBackWhereSomebodyElseMayWantIt) {
  struct Case {
    std::string scene;
    Environment environment;
    std::string expected;
  };
  Case const cases[] = {
      {"training", {{"TIDEMARK_CUPTI", "auto"}}, "on"},
      {"brings_cupti", {{"TIDEMARK_CUPTI", "auto"}}, "off: the program has brought libcupti.so.13 itself"},
      {"brings_cupti", {{"TIDEMARK_CUPTI", "1"}}, "on"},
      {"training",
       {{"TIDEMARK_CUPTI", "auto"}, {"CUDA_INJECTION64_PATH", "/nowhere/tool.so"}},
       "off: CUDA_INJECTION64_PATH names another tool"},
  };
  for (Case const& c : cases) {
    Ended const ended = record(c.scene, c.environment);
    EXPECT_EQ(ended.status, 0);
    EXPECT_EQ(fact("cupti"), c.expected);
    EXPECT_EQ(ended.errors, "") << "auto is no wish that was refused";
  }
}

struct Failing {
  const char *fake, *part, *expected;
};
class Broken : public Cupti, public testing::WithParamInterface<Failing> {};

TEST_P(Broken, IsSaidAndChangesNothing) {
  Ended const ended = record("training", {{"TIDEMARK_CUPTI", "1"}, {"FAKE_CUPTI", GetParam().part}}, GetParam().fake);
  EXPECT_EQ(ended, bare("training"));
  EXPECT_EQ(fact("cupti").substr(0, std::string(GetParam().expected).size()), GetParam().expected);
  EXPECT_EQ(ended.errors, "tidemark: CUPTI: " + fact("cupti") + "\n");
  EXPECT_EQ(trace_->header().totals.allocations, 1u);
  EXPECT_TRUE(trace_->complete());
  EXPECT_TRUE(kernels().empty());
}
INSTANTIATE_TEST_SUITE_P(, Broken,
                         testing::Values(Failing{"fake", "errors", "refused: cuptiSubscribe: an unknown error (999)"},
                                         Failing{"fake", "version", "refused: its version 990000 is not known here"},
                                         Failing{"fake", "busy", "busy: held by Nsight Systems"},
                                         Failing{"fake", "no_kinds",
                                                 "refused: cuptiActivityEnable: an unknown error (21)"},
                                         Failing{"lacking", "", "refused: libcupti lacks functions"},
                                         Failing{"no_library", "", "no libcupti: "}));

TEST_F(Cupti, WithoutMemoryRecordsThereIsNoAudit) {
  Ended const ended = record("training", {{"TIDEMARK_CUPTI", "1"}, {"FAKE_CUPTI", "no_memory"}}, "fake");
  EXPECT_EQ(ended, bare("training"));
  EXPECT_EQ(fact("cupti"), "on");
  EXPECT_EQ(fact("cupti.audit"), "refused: an unknown error");
  EXPECT_EQ(fact("cupti.audit.allocations"), "");
  EXPECT_EQ(fact("cupti.scopes"), "on");
}

TEST_F(Cupti, AnAuditThatHeardNothingDiffers) {
  Ended const ended = record("training", {{"TIDEMARK_CUPTI", "1"}, {"FAKE_CUPTI", "silent"}}, "fake");
  EXPECT_EQ(ended, bare("training"));
  EXPECT_EQ(fact("cupti.audit"), "differs");
  EXPECT_EQ(fact("cupti.audit.allocations"), "1");
  EXPECT_EQ(fact("cupti.audit.agreeing"), "0");
  EXPECT_EQ(fact("cupti.audit.difference_bytes"), "-4000");
  EXPECT_NE(fact("cupti.audit.samples").find("the account alone: 1 allocation of 4000 bytes"), std::string::npos)
      << fact("cupti.audit.samples");
  EXPECT_NE(ended.errors.find("tidemark: CUPTI and the trace differ in 2 memory operations"), std::string::npos)
      << ended.errors;
}

TEST_F(Cupti, BuffersMayHoldAnything) {
  Ended const ended = record("training", {{"TIDEMARK_CUPTI", "1"}, {"FAKE_CUPTI", "garbage"}}, "fake");
  EXPECT_EQ(ended, bare("training"));
  EXPECT_EQ(fact("cupti"), "on");
  EXPECT_EQ(fact("cupti.audit").substr(0, 12), "incomplete: ") << fact("cupti.audit");
  EXPECT_NE(fact("cupti.records.odd"), "0");
  EXPECT_EQ(trace_->header().totals.allocations, 1u);
}

TEST_F(Cupti, AHangingFlushDoesNotKeepTheProgramAlive) {
  Ended const ended = record("training", {{"TIDEMARK_CUPTI", "1"}, {"FAKE_CUPTI", "hangs"}}, "fake");
  EXPECT_EQ(ended, bare("training"));
  EXPECT_EQ(fact("cupti.audit"), "incomplete: CUPTI did not answer at the program's end");
  EXPECT_TRUE(trace_->complete());
}

}  // namespace
}  // namespace tidemark::interpose

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (argc != 5) return 2;
  tidemark::interpose::places = {argv[1], argv[2], argv[3], argv[4]};
  return RUN_ALL_TESTS();
}
