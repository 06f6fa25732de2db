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
      expect_fits(text_report(sample(s.name, {.timeline_points = chart_points(options)}), options), options);
    }
}

TEST(TextReport, SaysFirstWhatIsMissing) {
  std::string const text = text_report(sample("unmarked"), {});
  auto const lines = lines_of(text);
  ASSERT_GE(lines.size(), 4u);
  EXPECT_TRUE(has(lines[0], "1,203 events are not in this trace (1,200 no space, 3 re-entered)")) << lines[0];
  EXPECT_TRUE(has(text, "killed, or still runs"));
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
  EXPECT_TRUE(has(text_report(summary_of(t, {.filter = {.layer = "nowhere"}}), {}), "No device memory matches"));
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
