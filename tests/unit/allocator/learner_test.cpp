// SPDX-License-Identifier: Apache-2.0
#include "allocator/core/learner.h"

#include <gtest/gtest.h>

#include <deque>

namespace tidemark::allocator {
namespace {

constexpr Granules kMiB = (1 << 20) / kGranuleBytes;

// Allocations of which the last `keeps` ones are live.
struct Program {
  Learner learner;
  std::deque<std::pair<std::uint32_t, Granules>> live;
  std::size_t keeps = 20;
  std::size_t found = 0;  // events after which an iteration was there

  Program() { learner.start(); }
  void allocate(Granules granules) {
    while (live.size() >= keeps) free_oldest();
    live.emplace_back(learner.on_alloc(granules), granules);
    if (found == 0 && learner.has_iteration()) found = ++events;
    ++events;
  }
  void free_oldest() {
    learner.on_free(live.front().first, live.front().second);
    live.pop_front();
  }
  void run(Granules first, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) allocate(first + static_cast<Granules>(i % 97));
  }
  std::size_t events = 0;
};

TEST(Learner, ALoopThatReachesThePeakAndLeavesNothingIsAnIteration) {
  Program p;
  for (int i = 0; i < 30; ++i) p.run(kMiB, 400);
  EXPECT_GT(p.found, 800u);
  plan::Recorded const r = p.learner.take();
  EXPECT_EQ(r.events.size(), 400u);
  EXPECT_TRUE(p.learner.goes_on(r));
  std::size_t at = 0;
  while (!p.learner.is_at(r, 0)) {
    p.run(kMiB, 1);
    ASSERT_LT(++at, 400u);
  }
}

TEST(Learner, WhatPilesUpIsNoIteration) {
  Program p;
  p.keeps = 1'000'000;
  for (int i = 0; i < 30; ++i) p.run(kMiB, 400);
  EXPECT_EQ(p.found, 0u);
}

TEST(Learner, ALoopFarBelowThePeakIsNoIterationUntilItIsAllThereIs) {
  Program p;
  p.keeps = 200;
  p.run(4 * kMiB, 300);
  p.keeps = 20;
  for (int i = 0; i < 30; ++i) p.run(kMiB, 400);
  EXPECT_EQ(p.found, 0u);
  for (int i = 0; i < 100; ++i) p.run(kMiB, 400);
  EXPECT_GT(p.found, 0u);
}

TEST(Learner, WithoutARepeatItsPatienceEnds) {
  Program p;
  for (Granules i = 0; i < Learner::kPatience; ++i) p.allocate(1 + i % 100'003 * 7 + i / 1000);
  EXPECT_FALSE(p.learner.is_exhausted());
  for (Granules i = 0; i < 10; ++i) p.allocate(3'000'000 + i);
  EXPECT_TRUE(p.learner.is_exhausted());
}

TEST(Learner, AFreeOfABlockFromAnEarlierRecordingIsNoneOfThisOne) {
  Program p;
  p.run(kMiB, 10);
  std::uint32_t const old = p.live.front().first;
  p.learner.stop();
  EXPECT_FALSE(p.learner.is_recording());
  p.learner.start();
  p.live.clear();
  p.run(kMiB, 10);
  std::uint64_t const live = p.learner.live_granules();
  p.learner.on_free(old, kMiB);
  p.learner.on_free(0, kMiB);
  EXPECT_EQ(p.learner.live_granules(), live);
  p.free_oldest();
  EXPECT_LT(p.learner.live_granules(), live);
}

}  // namespace
}  // namespace tidemark::allocator
