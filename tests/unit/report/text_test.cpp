// SPDX-License-Identifier: Apache-2.0
#include "analysis/report/text.h"

#include <sstream>

#include "analysis/report/words.h"
#include "tests/support/sample_traces.h"
#include "tests/unit/analysis/fixture.h"

namespace tidemark::analysis::report {
namespace {

Summary sample(std::string_view name, Question question = {}) {
  for (auto const& s : trace::samples())
    if (s.name == name) return summary_of(s.make(), question);
  ADD_FAILURE() << "no sample " << name;
  return {};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

void expect_fits(const std::string& text, const TextOptions& options) {
  for (std::string const& line : lines_of(text)) {
    // A command is shown whole: it is meant to be copied.
    if (line.starts_with("  tidemark ")) continue;
    EXPECT_LE(columns(line), options.width) << line;
    EXPECT_TRUE(line.empty() || line.back() != ' ') << "'" << line << "'";
  }
  bool const ascii = std::all_of(text.begin(), text.end(), [](char c) { return c > 0; });
  EXPECT_TRUE(options.unicode || ascii) << text;
}

TEST(TextReport, FitsItsWidthWhateverIsAsked) {
  std::vector<TextOptions> all;
  for (std::size_t const width : {60u, 100u})
    for (bool const unicode : {true, false}) {
      all.push_back({.width = width, .unicode = unicode});
      for (By const by : {By::Kind, By::Layer, By::Phase, By::Step, By::Stack})
        all.push_back({.by = by, .width = width, .unicode = unicode});
    }
  for (auto const& s : trace::samples())
    for (TextOptions const& options : all) {
      SCOPED_TRACE(s.name);
      expect_fits(text_report(sample(s.name, {.timeline_points = chart_points(options), .largest_blocks = 9}), options),
                  options);
    }
}

TEST(TextReport, SaysFirstWhatIsMissing) {
  std::string const text = text_report(sample("unmarked"), {});
  auto const lines = lines_of(text);
  ASSERT_GE(lines.size(), 4u);
  EXPECT_TRUE(has(lines[0], "1,203 events are not in this trace (1,200 no space, 3 re-entered)")) << lines[0];
  EXPECT_TRUE(has(text, "The program was ended by signal 9 (SIGKILL): this is"));
  EXPECT_TRUE(has(text, "frees without an allocation: 1"));
  EXPECT_LT(text.find("not in this trace"), text.find("Peak live"));
}

TEST(TextReport, HasColoursOnlyWhereTheyAreWanted) {
  Summary const s = sample("oom", {.timeline_points = 80});
  EXPECT_FALSE(has(text_report(s, {}), "\033"));
  std::string const coloured = text_report(s, {.colour = true});
  EXPECT_TRUE(has(coloured, "\033[1;31mOut of memory\033[0m"));
  std::string stripped;
  for (std::size_t i = 0; i < coloured.size(); ++i) {
    if (coloured[i] == '\033')
      i = coloured.find('m', i);
    else
      stripped += coloured[i];
  }
  EXPECT_EQ(stripped, text_report(s, {})) << "colours change nothing else";
}

TEST(TextReport, NamesCannotSteerATerminal) {
  TraceMaker t;
  t.fact("program.command", "[\"\\u001b[2J\"]");
  t.fact("device.0.name", "card\033]0;title\a");
  t.scope(1, 1, t.path("layer\033[31m\r\n"));
  t.alloc(1, 2, {.address = 0x1000, .size_bytes = 1});
  t.failure(1, 3, {.size_bytes = 1, .text = t.string("line\033[1A\n\rsecond")});
  std::string const text = text_report(summary_of(t), {});
  for (char const c : text) EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << static_cast<int>(c);
}

TEST(TextReport, ShowsTheTopRowsAndTheSumOfTheRest) {
  std::string const text = text_report(sample("training"), {.by = By::Layer, .top = 3});
  EXPECT_TRUE(has(text, "(13 more)"));
  EXPECT_TRUE(has(text, "classifier.fc1"));
  EXPECT_FALSE(has(text, "features.conv9 "));
  EXPECT_FALSE(has(text, "By kind"));
}

TEST(TextReport, LongLayersAreToldApart) {
  TraceMaker t;
  for (std::uint64_t i = 0; i < 12; ++i) {
    std::string const block = "transformer.encoder.block." + std::to_string(20 + i);
    t.scope(1, 2 * i, t.path(block + ".attention.self_attention.query_key_value.projection"));
    t.alloc(1, 2 * i + 1, {.address = 0x1000 * (i + 1), .size_bytes = 512});
  }
  for (TextOptions const& options : {TextOptions{}, TextOptions{.width = 60, .unicode = false}}) {
    std::string const text = text_report(summary_of(t), options);
    for (std::uint64_t i = 0; i < 10; ++i) EXPECT_TRUE(has(text, "block." + std::to_string(20 + i))) << text;
    expect_fits(text, options);
  }
}

TEST(TextReport, ABarGivesWayToAName) {
  std::string const name = "a_layer_of_one_word_that_has_nothing_in_common_with_any_other_one";
  TraceMaker t;
  t.scope(1, 1, t.path(name));
  t.alloc(1, 2, {.address = 0x1000, .size_bytes = 512});
  std::string const text = text_report(summary_of(t), {.by = By::Layer});
  EXPECT_TRUE(has(text, "\n  " + name + "  ")) << text;
  EXPECT_TRUE(has(text, "█")) << text;
}

TEST(TextReport, ShowsTheCallsOfAStackBelowItsFigures) {
  TraceMaker t;
  t.use_stack(1, t.stack(std::vector<std::uint64_t>(20, 0x1000)));
  t.alloc(1, 1, {.address = 0x1000, .size_bytes = 1024});
  t.use_stack(1, 0);
  t.alloc(1, 2, {.address = 0x2000, .size_bytes = 512});
  TextOptions const options{.by = By::Stack, .top = 1};
  std::string const text = text_report(summary_of(t, {.named_stacks = 1}), options);
  EXPECT_TRUE(has(text, "1.00 KiB   66.7 %         1 block")) << text;
  EXPECT_TRUE(has(text, "    0x1000")) << text;
  EXPECT_TRUE(has(text, "    8 calls more")) << text;
  EXPECT_TRUE(has(text, "(1 more stack)")) << text;
  expect_fits(text, options);
}

TEST(TextReport, ShowsTheFailureWithItsText) {
  std::string const text = text_report(sample("oom"), {});
  EXPECT_TRUE(has(text, "44.00 MiB were asked for, 30.94 MiB free on device 0"));
  EXPECT_TRUE(has(text, "try: a smaller batch"));
}

TEST(TextReport, OfManyFailuresShowsTheLastThatWasExplained) {
  TraceMaker t;
  t.failure(1, 1, {.size_bytes = 1024, .text = t.string("first\n  verdict   shortage")});
  t.failure(1, 2, {.size_bytes = 2048, .text = t.string("second\n  verdict   fragmentation")});
  for (std::uint64_t i = 3; i < 100; ++i) t.failure(1, i, {.size_bytes = 4096});
  std::string const text = text_report(summary_of(t), {});
  EXPECT_TRUE(has(text, "Out of memory  99 failed allocations, the last that was explained:\n  2.00 KiB were")) << text;
  EXPECT_TRUE(has(text, "  second\n    verdict   fragmentation")) << text;
  EXPECT_FALSE(has(text, "first")) << text;
}

TEST(TextReport, ThePostMortemKeepsItsShapeWhereItIsWrappedAndIsShortBesideAFilter) {
  TraceMaker t;
  t.scope(1, 1, t.path("a"));
  t.alloc(1, 2, {.address = 0x1000, .size_bytes = 512});
  std::string const words = "many words that do not fit into a line of sixty columns by themselves";
  t.failure(1, 3,
            {.size_bytes = 1,
             .text = t.string("page\n  verdict   " + words + "\n  what to try\n    - " + words +
                              "\n    1.00 MiB  50.0 %  " + std::string(50, 'x'))});
  std::string const text = text_report(summary_of(t), {.width = 60});
  EXPECT_TRUE(has(text, "\n    verdict   many words that do not fit into a line of\n              sixty columns"))
      << text;
  expect_fits(text, {.width = 60});
  EXPECT_TRUE(has(text, "\n      - many words that do not fit into a line of sixty\n        columns")) << text;
  std::string const filtered = text_report(summary_of(t, {.filter = {.layer = "a"}}), {});
  EXPECT_TRUE(has(filtered, "verdict   many")) << filtered;
  EXPECT_FALSE(has(filtered, "what to try")) << filtered;
}

TEST(TextReport, ShowsWhoAskedForWhatFailed) {
  TraceMaker t;
  t.use_stack(1, t.stack({0x1000, 0x2000}));
  t.failure(1, 1, {.size_bytes = 1, .text = t.string("page")});
  EXPECT_TRUE(has(text_report(summary_of(t, {.named_failures = 1}), {}), "  asked for by\n    0x1000"));
}

TEST(TextReport, ListsTheLargestBlocksWithTheirBeginning) {
  std::string const text = text_report(sample("training", {.largest_blocks = 2}), {});
  EXPECT_TRUE(has(text, "classifier.fc1  784.00 MiB  moments  optimizer      0  13.440 ms")) << text;
  std::string const unmarked = text_report(sample("unmarked", {.largest_blocks = 2}), {});
  EXPECT_TRUE(has(unmarked, "0x7f0002100000  7.00 MiB  13.000 ms")) << unmarked;
}

TEST(TextReport, SaysHowTheProgramEnded) {
  TraceMaker t;
  t.header().state = trace::FileState::Open;
  t.header().exit_status = -1;
  EXPECT_TRUE(has(text_report(summary_of(t), {}), "The program was killed, or still runs"));
  t.header().exit_status = 11;
  EXPECT_TRUE(has(text_report(summary_of(t), {}), "The program was ended by signal 11 (SIGSEGV)"));
  EXPECT_TRUE(has(text_report(summary_of(t), {}), "\n  signal 11 (SIGSEGV)"));
  t.header().exit_status = 3 << 8;
  EXPECT_TRUE(has(text_report(summary_of(t), {}), "The program ended at once, with code 3"));
}

TEST(TextReport, ALimitIsTheMeasure) {
  TraceMaker t;
  t.fact("device.count", "1");
  t.fact("device.0.total_bytes", "10240");
  t.fact("device.0.baseline_bytes", "0");
  t.fact("limit_bytes", "4096");
  t.alloc(1, 1, {.address = 0x1000, .size_bytes = 1024});
  t.device_use(1, 2, {.used_bytes = 1024, .total_bytes = 10240});
  std::string const text = text_report(summary_of(t), {});
  EXPECT_TRUE(has(text, "10.00 KiB, limited to 4.00 KiB")) << text;
  EXPECT_TRUE(has(text, "25.0 % of the limit")) << text;
  t.fact("limit_bytes", "20480");
  EXPECT_FALSE(has(text_report(summary_of(t), {}), "limit")) << "larger than the card: no limit at all";
}

TEST(TextReport, AnUnmarkedProgramIsPointedToStacksAndRanges) {
  std::string const text = text_report(sample("unmarked"), {});
  EXPECT_TRUE(has(text, "tidemark run --stacks")) << text;
  EXPECT_TRUE(has(text, "NVTX ranges, or tidemark_push(TIDEMARK_LAYER")) << text;
  EXPECT_TRUE(has(text_report(sample("unmarked"), {.by = By::Stack}), "No call stacks were recorded: tidemark run"));
  TraceMaker t;
  t.use_stack(1, t.stack({0x1000}));
  t.alloc(1, 1, {.address = 0x1000, .size_bytes = 1024});
  EXPECT_TRUE(has(text_report(summary_of(t), {}), "a.tide --by stack")) << text_report(summary_of(t), {});
  EXPECT_FALSE(has(text_report(summary_of(t), {.by = By::Stack}), "--by stack")) << "it was just asked";
}

TEST(TextReport, HintsGoOnFromTheQuestion) {
  TextOptions const options{.by = By::Layer, .top = 3, .question = {"--kind", "activation"}};
  std::string const text = text_report(sample("training", {.filter = {.kind = Kind::Activation}}), options);
  EXPECT_TRUE(has(text, "a.tide --kind activation --by layer --top 12  ")) << text;
  EXPECT_FALSE(has(text_report(sample("training"), {.by = By::Phase, .top = 3}), "--by layer"));
  // The peak is in step 1; the one of step 4 is another.
  EXPECT_TRUE(has(text_report(sample("training"), {}), "--at step:4"));
  EXPECT_FALSE(has(text_report(sample("oom"), {}), "--at step:")) << "the only step is the one above";
}

TEST(TextReport, AnotherInstantIsNamedByItsStepAndToTheMicrosecond) {
  std::string const text = text_report(sample("training", {.at_step = 0}), {});
  EXPECT_TRUE(has(text, "By kind  at the peak of step 0, 8.600 ms: ")) << text;
  EXPECT_EQ(instant_text(79'999'000'006'000), "79999.000006 s");
}

TEST(TextReport, AFewPointsFillTheChart) {
  std::string const text = text_report(sample("training", {.timeline_points = 5}), {});
  EXPECT_TRUE(has(text, "\n             0 s      ")) << text;
  expect_fits(text, {});
}

TEST(TextReport, OfManyStepsShowsTheEndsAndTheHighest) {
  TraceMaker t;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    t.step(1, 10 * i, i);
    t.alloc(1, 10 * i + 1, {.address = 0x1000, .size_bytes = i == 500 ? 8192u : 512u});
    t.free(1, 10 * i + 2, {.address = 0x1000});
  }
  std::string const text = text_report(summary_of(t), {});
  EXPECT_TRUE(has(text, "1,000 steps, highest in step 500"));
  EXPECT_TRUE(has(text, "\n  500 "));
  EXPECT_TRUE(has(text, "\n  999 "));
  EXPECT_LT(lines_of(text).size(), 50u);
}

TEST(TextReport, AnEmptyTraceIsSaidToBeEmpty) {
  EXPECT_TRUE(has(text_report(summary_of(TraceMaker{}), {}), "No device memory was allocated."));
  TraceMaker t;
  t.alloc(1, 1, {.address = 0x1000, .size_bytes = 1});
  Filter const nothing{.kind = Kind::Gradient};
  EXPECT_TRUE(has(text_report(summary_of(t, {.filter = nothing}), {}), "No device memory matches"));
}

TEST(TextReport, SeveralProcessesAreListedHighestFirst) {
  std::vector<Summary> all{sample("unmarked"), sample("training")};
  std::string const text = text_overview(all, {});
  auto const lines = lines_of(text);
  ASSERT_EQ(lines.size(), 4u) << text;
  EXPECT_TRUE(has(lines[0], "2 processes"));
  EXPECT_TRUE(has(lines[2], "4.38 GiB"));
  EXPECT_TRUE(has(lines[3], "1,203"));
}

}  // namespace
}  // namespace tidemark::analysis::report
