// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "analysis/savings/savings.h"

namespace tidemark::analysis {
namespace {

// ResNet-50 by the article's own rule: 22.23 million outputs of convolutions and norms, pools and the head.
TEST(Article, Resnet50TakesTwiceWhatItKeeps) {
  ArticleTerms const terms{.parameters = 25'557'032, .copies = 4, .outputs = 22'230'000, .input = 3 * 224 * 224};
  std::uint64_t const sample = article_peak_bytes(terms, 2) - article_peak_bytes(terms, 1);
  EXPECT_EQ(sample, 4u * (2 * 22'230'000 + 150'528));
  EXPECT_EQ(article_peak_bytes(terms, 0), 4u * 4 * 25'557'032);
}

TEST(Article, LargestBatchIsTheLastThatFits) {
  ArticleTerms const terms{.parameters = 1000, .copies = 2, .outputs = 90, .input = 20, .element_bytes = 2};
  for (std::uint64_t const budget : {0u, 3999u, 4000u, 4399u, 4400u, 100'000u}) {
    std::uint64_t const batch = article_max_batch(terms, budget);
    if (batch > 0) {
      EXPECT_LE(article_peak_bytes(terms, batch), budget);
    }
    EXPECT_GT(article_peak_bytes(terms, batch + 1), budget);
  }
}

TEST(Savings, PercentIsOfTheBaseline) {
  SavingsRow const row{.exactness = Exactness::Bits, .peak_live_bytes = 75, .baseline_live_bytes = 100};
  EXPECT_EQ(row.saved_bytes(), 25);
  EXPECT_DOUBLE_EQ(row.saved_percent(), 25);
  SavingsRow const costs{.exactness = Exactness::Bits, .peak_live_bytes = 110, .baseline_live_bytes = 100};
  EXPECT_EQ(costs.saved_bytes(), -10);
  EXPECT_DOUBLE_EQ(costs.saved_percent(), -10);
}

}  // namespace
}  // namespace tidemark::analysis
