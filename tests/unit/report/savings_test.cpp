// SPDX-License-Identifier: Apache-2.0
#include "analysis/report/savings.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "analysis/report/words.h"
#include "base/bytes.h"

namespace tidemark::analysis::report {
namespace {

using namespace tidemark::literals;

Savings sample() {
  Savings s{.model = "gpt",
            .size = "124m",
            .tiny_size = "tiny",
            .batch = 4,
            .tiny_batch = 2,
            .parameters = 124'439'808,
            .budget_bytes = (11_GiB).n,
            .device = "SoftGPU"};
  s.rows.push_back({.trick = "plain",
                    .flags = "--model gpt",
                    .peak_live_bytes = (8_GiB).n,
                    .peak_reserved_bytes = (8_GiB + 4_MiB).n,
                    .baseline_live_bytes = (8_GiB).n,
                    .peak_by_kind = {{"activation", (6_GiB).n}, {"parameter", (2_GiB).n}},
                    .slowdown = 1.0,
                    .max_batch = 5,
                    .article_max_batch = 3});
  s.rows.push_back({.trick = "checkpoints, sqrt(N)",
                    .exactness = Exactness::Bits,
                    .baseline = "plain",
                    .peak_live_bytes = (3_GiB).n,
                    .peak_reserved_bytes = (3_GiB).n,
                    .baseline_live_bytes = (8_GiB).n,
                    .recompute_flops_ratio = 0.31,
                    .slowdown = 1.284,
                    .loss_difference = 0,
                    .verified = true,
                    .max_batch = 12'288});
  s.rows.push_back({.trick = "a <b> & \"c\"\x1b[31m",
                    .exactness = Exactness::Tolerance,
                    .baseline = "plain",
                    .peak_live_bytes = (9_GiB).n,
                    .peak_reserved_bytes = (9_GiB).n,
                    .baseline_live_bytes = (8_GiB).n,
                    .loss_difference = 0.004,
                    .verified = true,
                    .max_batch = 0});
  return s;
}

TEST(SavingsText, FitsAHundredColumns) {
  std::istringstream lines(savings_text(sample(), {.width = 100}));
  for (std::string line; std::getline(lines, line);) EXPECT_LE(columns(line), 100u) << line;
}

TEST(SavingsText, ShowsWhatThereIs) {
  std::string const text = savings_text(sample(), {.width = 100});
  EXPECT_NE(text.find("124,439,808 parameters"), std::string::npos);
  EXPECT_NE(text.find("12,288"), std::string::npos);
  EXPECT_NE(text.find("62.5"), std::string::npos);   // saved of 8 GiB
  EXPECT_NE(text.find("-12.5"), std::string::npos);  // a trick that costs memory
  EXPECT_NE(text.find("none"), std::string::npos);   // no batch fits
  EXPECT_NE(text.find("1.28"), std::string::npos);
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(SavingsText, BrokenPromiseIsNamed) {
  Savings s = sample();
  s.rows[1].verified = false;
  EXPECT_EQ(broken_promises(s).size(), 1u);
  EXPECT_NE(savings_text(s, {.width = 100}).find("NO: checkpoints, sqrt(N) was to be bit-identical"),
            std::string::npos);
}

TEST(SavingsJson, HasTheKeysThatAreFixed) {
  auto const json = nlohmann::json::parse(savings_json(sample()));
  EXPECT_EQ(json.at("model"), "gpt");
  EXPECT_EQ(json.at("budget_bytes"), (11_GiB).n);
  ASSERT_EQ(json.at("rows").size(), 3u);
  for (auto const& row : json.at("rows"))
    for (const char* const key : {"trick", "baseline", "peak_live_bytes", "peak_reserved_bytes", "saved_bytes",
                                  "saved_percent", "slowdown", "recompute_flops_ratio", "exactness", "max_batch"})
      EXPECT_TRUE(row.contains(key)) << key;
  auto const& row = json.at("rows")[1];
  EXPECT_EQ(row.at("saved_bytes"), (5_GiB).n);
  EXPECT_EQ(row.at("exactness"), "bit-identical");
  EXPECT_EQ(row.at("max_batch"), 12'288);
  EXPECT_TRUE(json.at("rows")[2].at("slowdown").is_null());
  EXPECT_TRUE(json.at("rows")[0].at("baseline").is_null());
}

TEST(SavingsMarkdown, IsOneTableWithARowForEach) {
  std::string const text = savings_markdown(sample());
  std::size_t rows = 0;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("|")) {
      ++rows;
      EXPECT_EQ(std::count(line.begin(), line.end(), '|'), 11) << line;
    }
  EXPECT_EQ(rows, 5u);
}

TEST(SavingsHtml, IsOnePageThatFetchesNothing) {
  std::string const text = savings_html(sample());
  EXPECT_TRUE(text.starts_with("<!doctype html>"));
  EXPECT_TRUE(text.ends_with("</html>\n"));
  for (const char* const outside : {"http:", "https:", "<script", "<link", "<img", "url("})
    EXPECT_EQ(text.find(outside), std::string::npos) << outside;
  EXPECT_NE(text.find("a &lt;b&gt; &amp; &quot;c&quot;"), std::string::npos);
  EXPECT_EQ(text.find("a <b>"), std::string::npos);
  EXPECT_NE(text.find("title=\"activation: 6.00 GiB\""), std::string::npos);
}

TEST(SavingsSvg, HasABarForEachKindAndNothingFromOutside) {
  std::string const text = savings_svg(sample());
  EXPECT_TRUE(text.starts_with("<svg "));
  EXPECT_TRUE(text.ends_with("</svg>\n"));
  EXPECT_NE(text.find("activation: 6.00 GiB"), std::string::npos);
  EXPECT_EQ(text.find("<script"), std::string::npos);
  EXPECT_EQ(text.find("a <b>"), std::string::npos);
  EXPECT_EQ(text.find("href"), std::string::npos);
}

}  // namespace
}  // namespace tidemark::analysis::report
