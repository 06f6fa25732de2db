// SPDX-License-Identifier: Apache-2.0
// The search against trying every batch, on lines, parabolas, staircases and random growing functions.
#include "analysis/savings/largest_batch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <random>

namespace tidemark::analysis {
namespace {

using Memory = std::function<std::uint64_t(std::uint64_t batch)>;

std::uint64_t brute_force(const Memory& memory, const LargestBatch::Question& q) {
  std::uint64_t best = 0;
  for (std::uint64_t batch = q.multiple; batch <= q.most && memory(batch) <= q.budget_bytes; batch += q.multiple)
    best = batch;
  return best;
}

struct Found {
  std::uint64_t batch = 0;
  std::size_t trials = 0;
};
Found search(const Memory& memory, const LargestBatch::Question& q) {
  LargestBatch search(q);
  std::uint64_t fitted = 0, failed = 0;
  while (auto const batch = search.next()) {
    EXPECT_EQ(*batch % q.multiple, 0u);
    EXPECT_GT(*batch, fitted);
    EXPECT_TRUE(failed == 0 || *batch < failed);
    EXPECT_LT(search.trials(), 200u);
    if (search.trials() >= 200) break;
    if (std::uint64_t const bytes = memory(*batch); bytes <= q.budget_bytes) {
      search.fits(*batch, bytes);
      fitted = *batch;
    } else {
      search.does_not_fit(*batch);
      failed = *batch;
    }
  }
  // Proven by trials, unless there is nothing beyond.
  EXPECT_EQ(search.answer(), fitted);
  EXPECT_TRUE(failed == fitted + q.multiple || fitted + q.multiple > q.most);
  return {search.answer(), search.trials()};
}

TEST(LargestBatch, LineIsFoundInFewTrials) {
  for (std::uint64_t const fixed : {0u, 1000u, 5'000'000u})
    for (std::uint64_t const sample : {1u, 37u, 9000u, 200'000u}) {
      auto const memory = [&](std::uint64_t batch) { return fixed + sample * batch; };
      LargestBatch::Question const q{.budget_bytes = 10'000'000, .first = 4};
      Found const found = search(memory, q);
      EXPECT_EQ(found.batch, brute_force(memory, q));
      EXPECT_LE(found.trials, 6u) << fixed << " + " << sample << " a sample";
    }
}

TEST(LargestBatch, NothingFits) {
  Found const found = search([](std::uint64_t) { return 101; }, {.budget_bytes = 100, .first = 64});
  EXPECT_EQ(found.batch, 0u);
  EXPECT_LE(found.trials, 8u);
}

TEST(LargestBatch, OnlyMultiplesAreTried) {
  LargestBatch::Question const q{.budget_bytes = 103, .first = 6, .multiple = 4};
  EXPECT_EQ(search([](std::uint64_t batch) { return batch; }, q).batch, 100u);
  EXPECT_EQ(search([](std::uint64_t batch) { return 30 * batch; }, q).batch, 0u);
}

TEST(LargestBatch, MemoryThatDoesNotGrowEndsAtTheMost) {
  LargestBatch::Question const q{.budget_bytes = 100, .first = 3, .most = 100'000};
  Found const found = search([](std::uint64_t) { return 7; }, q);
  EXPECT_EQ(found.batch, 100'000u);
  EXPECT_LE(found.trials, 20u);
}

TEST(LargestBatch, CurvesAndStairsAgreeWithBruteForce) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 3000; ++i) {
    auto const fixed = random() % 5000, sample = random() % 300, square = random() % 3, stair = 1 + random() % 4000;
    auto const memory = [&](std::uint64_t batch) {
      std::uint64_t const bytes = fixed + sample * batch + square * batch * batch + (batch > 40 ? stair : 0);
      return (bytes + stair - 1) / stair * stair;
    };
    LargestBatch::Question const q{
        .budget_bytes = 1 + random() % 100'000, .first = 1 + random() % 64, .multiple = 1 + random() % 4, .most = 2000};
    Found const found = search(memory, q);
    ASSERT_EQ(found.batch, brute_force(memory, q)) << "case " << i;
    ASSERT_LE(found.trials, 45u) << "case " << i;
  }
}

// What the search is told about bytes may mislead it, never change the answer.
TEST(LargestBatch, FalseFiguresOnlyCostTrials) {
  std::mt19937_64 random(11);
  for (int i = 0; i < 500; ++i) {
    std::uint64_t const limit = 1 + random() % 5000;
    LargestBatch search({.budget_bytes = 1000, .first = 1 + random() % 100, .most = 10'000});
    while (auto const batch = search.next()) {
      ASSERT_LT(search.trials(), 100u);
      if (*batch <= limit)
        search.fits(*batch, random() % 2000);
      else
        search.does_not_fit(*batch);
    }
    ASSERT_EQ(search.answer(), limit);
  }
}

}  // namespace
}  // namespace tidemark::analysis
