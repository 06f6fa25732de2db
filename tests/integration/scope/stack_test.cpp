// SPDX-License-Identifier: Apache-2.0
// Call stacks of real programs, resolved after their end.
#include <sstream>

#include "tests/integration/scope/run.h"
#include "trace/symbols/symbols.h"

namespace tidemark {
namespace {

using trace::SymbolFrame;

struct Resolved {
  std::map<std::uint64_t, std::vector<SymbolFrame>> frames;  // by the block's size
  std::map<std::uint64_t, std::uint32_t> ids;
  std::map<std::uint64_t, trace::StackEnd> ends;
};

Resolved resolve(const trace::Trace& trace) {
  Resolved all;
  trace::Symbols symbols(trace.names());
  for (trace::Event const& e : trace::events_of(trace, trace::Event::Type::Alloc)) {
    all.frames[e.size_bytes] = symbols.resolve(e.context.stack);
    all.ids[e.size_bytes] = e.context.stack;
    all.ends[e.size_bytes] = trace.names().stack_end(e.context.stack);
  }
  return all;
}

std::string all_text(const std::vector<SymbolFrame>& frames) {
  std::string text;
  for (SymbolFrame const& frame : frames) text += trace::text(frame) + "\n";
  return text;
}

// "layer:34" for "(anonymous namespace)::Layer<int>::layer()" at line 34 of the program's own source.
bool is_at(const SymbolFrame& frame, const std::string& place) {
  std::size_t const colon = place.find(':');
  std::string const function = place.substr(0, colon);
  return frame.file.ends_with("stack_program.cpp") && std::to_string(frame.line) == place.substr(colon + 1) &&
         frame.function.find(function) != std::string::npos;
}

// Every place that the program printed for a block is among its frames, in that order.
void expect_account(const std::string& out, const Resolved& resolved) {
  std::istringstream lines(out);
  int blocks = 0;
  for (std::string line; std::getline(lines, line); ++blocks) {
    std::istringstream words(line);
    std::uint64_t bytes = 0;
    words >> bytes;
    ASSERT_TRUE(resolved.frames.contains(bytes)) << line;
    auto const& frames = resolved.frames.at(bytes);
    auto at = frames.begin();
    for (std::string place; words >> place;) {
      at = std::find_if(at, frames.end(), [&](const SymbolFrame& f) { return is_at(f, place); });
      ASSERT_NE(at, frames.end()) << place << " of " << line << " is not in\n" << all_text(frames);
      ++at;
    }
  }
  EXPECT_GT(blocks, 0);
}

class Program : public testing::TestWithParam<const char*> {
 protected:
  Resolved run_it(std::vector<std::string> arguments) {
    Outcome ran = run({.program = GetParam(), .arguments = std::move(arguments), .environment = {"TIDEMARK_STACKS=1"}});
    EXPECT_EQ(ran.program.exit_code, 0) << ran.program.err;
    out_ = ran.program.out;
    if (!ran.trace) {
      ADD_FAILURE() << "no trace";
      return {};
    }
    trace_ = std::move(ran.trace);
    EXPECT_EQ(trace_->names().fact("stacks"), "native");
    return resolve(*trace_);
  }

  std::string out_;
  std::optional<trace::Trace> trace_;
};

TEST_P(Program, AKnownChainIsFoundWithItsFunctionsAndLines) {
  Resolved const resolved = run_it({"chain"});
  expect_account(out_, resolved);
  for (auto const& [bytes, frames] : resolved.frames) {
    EXPECT_EQ(resolved.ends.at(bytes), trace::StackEnd::Whole);
    std::string const text = all_text(frames);
    EXPECT_NE(text.find("main at "), std::string::npos) << text;
    for (SymbolFrame const& frame : frames)
      EXPECT_EQ(frame.object.find("libtidemark"), std::string::npos) << "ours are left out\n" << text;
  }
  // But for the first: it came by the runtime, which made the context.
  EXPECT_EQ(resolved.ids.at(2000), resolved.ids.at(3000)) << "the same place is the same stack";
  EXPECT_NE(resolved.ids.at(2000), resolved.ids.at(4000));
}

TEST_P(Program, ThreadsAndSignalHandlersHaveStacksToo) {
  for (const char* const mode : {"thread", "signal"}) {
    Resolved const resolved = run_it({mode});
    expect_account(out_, resolved);
    EXPECT_EQ(resolved.ends.at(1000), trace::StackEnd::Whole) << mode;
    std::string const text = all_text(resolved.frames.at(1000));
    EXPECT_EQ(text.find("(signal handler)") != std::string::npos, mode == std::string("signal")) << text;
  }
}

TEST_P(Program, DeepRecursionIsCutAtItsOuterEnd) {
  Resolved const resolved = run_it({"deep"});
  EXPECT_EQ(resolved.ends.at(1000), trace::StackEnd::Cut);
  std::string const text = all_text(resolved.frames.at(1000));
  EXPECT_NE(text.find("allocate() at "), std::string::npos) << text;
  EXPECT_EQ(text.find("main at "), std::string::npos) << text;
}

// Two libraries that, one after the other, have the same addresses; then both again.
TEST_P(Program, PluginsThatComeAndGoAreToldApart) {
  Resolved const resolved = run_it({"plugins", STACK_PLUGIN_SMALL, STACK_PLUGIN_LARGE, STACK_PLUGIN_SMALL});
  expect_account(out_, resolved);
  for (std::uint64_t const bytes : {1000, 2000, 3000}) {
    auto const& frames = resolved.frames.at(bytes);
    std::string const text = all_text(frames), plugin = bytes == 2000 ? STACK_PLUGIN_LARGE : STACK_PLUGIN_SMALL;
    std::size_t in_plugin = 0;
    for (SymbolFrame const& frame : frames) in_plugin += frame.object == plugin ? 1 : 0;
    EXPECT_EQ(in_plugin, 2u) << text;
    EXPECT_NE(text.find("through_template<void (*)()>(void (*)()) at "), std::string::npos) << text;
    EXPECT_NE(text.find("plugin_layer at "), std::string::npos) << text;
  }
  EXPECT_NE(resolved.ids.at(1000), resolved.ids.at(2000));
}

INSTANTIATE_TEST_SUITE_P(Compiled, Program,
                         testing::Values(STACK_PROGRAM_O0, STACK_PROGRAM_O2, STACK_PROGRAM_O2_FRAME_POINTER),
                         [](const auto& program) {
                           std::string const path = program.param;
                           return path.substr(path.rfind("program_") + 8);
                         });

TEST(Stacks, AStrippedProgramGivesFilesAndAddresses) {
  Outcome const ran =
      run({.program = STACK_PROGRAM_STRIPPED, .arguments = {"chain"}, .environment = {"TIDEMARK_STACKS=1"}});
  ASSERT_TRUE(ran.trace);
  Resolved const resolved = resolve(*ran.trace);
  std::size_t own = 0;
  for (SymbolFrame const& frame : resolved.frames.at(1000)) {
    if (frame.object != STACK_PROGRAM_STRIPPED) continue;
    ++own;
    EXPECT_EQ(frame.missing, trace::NoSymbol::Stripped);
    EXPECT_TRUE(trace::text(frame).starts_with("scope_stack_program_STRIPPED+0x")) << trace::text(frame);
  }
  EXPECT_GE(own, 2u) << all_text(resolved.frames.at(1000));
}

TEST(Stacks, AreTakenOnlyWhenAskedFor) {
  Outcome const ran = run({.program = STACK_PROGRAM_O2, .arguments = {"chain"}});
  ASSERT_TRUE(ran.trace);
  EXPECT_EQ(resolve(*ran.trace).ids.at(1000), 0u);
  EXPECT_TRUE(ran.trace->names().objects().empty());
  EXPECT_EQ(ran.trace->names().fact("stacks"), "");
}

}  // namespace
}  // namespace tidemark
