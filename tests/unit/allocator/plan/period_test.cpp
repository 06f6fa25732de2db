// SPDX-License-Identifier: Apache-2.0
#include "allocator/core/plan/period.h"

#include <gtest/gtest.h>

#include <random>

#include "allocator/core/plan/recorder.h"

namespace tidemark::plan {
namespace {

using Sizes = std::vector<std::uint64_t>;

// The number of events after which a period was accepted first, or 0.
std::uint64_t feed(PeriodFinder& finder, const Sizes& sizes, int times = 1) {
  std::uint64_t accepted = 0;
  for (int t = 0; t < times; ++t)
    for (std::uint64_t const size : sizes)
      if (finder.on_alloc({.size_bytes = size}) && accepted == 0) accepted = finder.events();
  return accepted;
}

Sizes distinct(std::uint64_t from, std::size_t count) {
  Sizes sizes;
  for (std::size_t i = 0; i < count; ++i) sizes.push_back(from + i);
  return sizes;
}

// Layers that are alike, between a head and a tail that occur once.
Sizes layered(std::size_t layers) {
  Sizes sizes = distinct(1000, 20);
  for (std::size_t l = 0; l < layers; ++l)
    for (std::uint64_t const s : {10, 20, 30, 20, 40, 50, 10, 60, 70, 80}) sizes.push_back(s);
  for (std::uint64_t const s : distinct(2000, 30)) sizes.push_back(s);
  return sizes;
}

TEST(PeriodFinder, AcceptsAfterOneFullExactRepeat) {
  PeriodFinder finder;
  EXPECT_EQ(feed(finder, distinct(5000, 123)), 0U) << "set-up";
  EXPECT_EQ(feed(finder, distinct(1, 50)), 0U);
  EXPECT_EQ(feed(finder, distinct(1, 50)), 123U + 100U);
  EXPECT_EQ(finder.period(), 50U);
}

TEST(PeriodFinder, FirstIterationsMayDiffer) {
  PeriodFinder finder;
  Sizes first = distinct(1, 60);
  first[30] = 999;
  first.insert(first.begin() + 40, 17, 777);
  EXPECT_EQ(feed(finder, first), 0U);
  EXPECT_EQ(feed(finder, distinct(1, 60)), 0U);
  // The last 20 events of the first one were already those that come again.
  EXPECT_EQ(feed(finder, distinct(1, 60)), 77U + 120U - 20U);
  EXPECT_EQ(finder.period(), 60U);
}

TEST(PeriodFinder, DomainAndRoleBelongToTheEvent) {
  PeriodFinder finder;
  for (std::uint32_t t = 0; t < 6; ++t)
    for (std::uint64_t const s : distinct(1, 40)) EXPECT_FALSE(finder.on_alloc({.size_bytes = s, .domain = t}));
  PeriodFinder roles;
  for (std::uint32_t t = 0; t < 6; ++t)
    for (std::uint64_t const s : distinct(1, 40)) EXPECT_FALSE(roles.on_alloc({.size_bytes = s, .role = t}));
}

TEST(PeriodFinder, LoopsWithinAnIterationAreBelievedOnceAtMost) {
  PeriodFinder finder;
  Sizes const iteration = layered(24);
  std::vector<std::size_t> accepted;
  for (int t = 0; t < 6; ++t)
    for (std::uint64_t const size : iteration)
      if (finder.on_alloc({.size_bytes = size})) accepted.push_back(*finder.period());
  ASSERT_FALSE(accepted.empty());
  EXPECT_LE(accepted.size(), 2U);
  EXPECT_EQ(accepted.back(), iteration.size());
  EXPECT_EQ(finder.period(), iteration.size());
}

TEST(PeriodFinder, LoopsDoNotDelayWhatContainsThem) {
  PeriodFinder finder;
  Sizes const iteration = layered(24);
  feed(finder, distinct(5000, 50));
  feed(finder, iteration, 2);
  EXPECT_EQ(finder.period(), iteration.size());
}

TEST(PeriodFinder, AnInterruptionEndsThePeriodAndItIsFoundAgain) {
  PeriodFinder finder;
  Sizes const iteration = layered(6);
  feed(finder, iteration, 3);
  for (int t = 0; t < 5; ++t) feed(finder, iteration);
  ASSERT_EQ(finder.period(), iteration.size());
  feed(finder, distinct(9000, 40));  // an evaluation
  EXPECT_EQ(finder.period(), std::nullopt);
  bool again = false;
  for (int t = 0; t < 30 && !again; ++t) again = feed(finder, iteration) != 0;
  EXPECT_TRUE(again);
  EXPECT_EQ(finder.period(), iteration.size());
}

TEST(PeriodFinder, LoopsOfAFewAllocationsAreLeftToTheCache) {
  PeriodFinder finder;
  EXPECT_EQ(feed(finder, {512}, 1000), 0U);
  EXPECT_EQ(feed(finder, {10, 20, 30}, 1000), 0U);
}

TEST(PeriodFinder, MarksNameThePeriodEvenWhereLoopsAreLonger) {
  PeriodFinder finder;
  Sizes const loop{10, 20, 30, 40, 50, 60, 70, 80, 90};
  feed(finder, loop, 500);  // warm-up: one long loop, then steps
  feed(finder, distinct(5000, 20));
  std::uint64_t accepted = 0;
  for (int t = 0; t < 4 && accepted == 0; ++t) {
    finder.on_mark();
    accepted = feed(finder, layered(3));
  }
  EXPECT_NE(accepted, 0U);
  EXPECT_EQ(finder.period(), layered(3).size());
}

TEST(PeriodFinder, RandomStreamsHaveNoPeriod) {
  std::mt19937_64 random(5);
  PeriodFinder finder(1024);
  for (int i = 0; i < 200'000; ++i) EXPECT_FALSE(finder.on_alloc({.size_bytes = random() % 50}));
}

TEST(PeriodFinder, APeriodLongerThanItsMemoryIsNotFound) {
  PeriodFinder finder(64);
  EXPECT_EQ(feed(finder, distinct(1, 65), 8), 0U);
  PeriodFinder enough(65);
  EXPECT_NE(feed(enough, distinct(1, 65), 8), 0U);
}

TEST(PeriodFinder, EveryRandomIterationIsFound) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    Sizes iteration;
    while (iteration.size() < 30) {
      Sizes part;
      for (std::uint64_t n = 1 + random() % 12; n > 0; --n) part.push_back(random() % 6);
      for (std::uint64_t n = 1 + random() % 5; n > 0; --n) iteration.insert(iteration.end(), part.begin(), part.end());
    }
    iteration.push_back(100 + seed);  // once per iteration
    PeriodFinder finder;
    std::size_t last = 0;
    for (int t = 0; t < 6; ++t)
      for (std::uint64_t const size : iteration)
        if (finder.on_alloc({.size_bytes = size})) last = *finder.period();
    EXPECT_EQ(last, iteration.size()) << "seed " << seed;
    EXPECT_EQ(finder.period(), iteration.size()) << "seed " << seed;
  }
}

TEST(Recorder, TellsLifetimesOfTheIteration) {
  Recorder recorder;
  std::uint64_t carried = 0;
  for (int t = 0; t < 4; ++t) {
    Sizes const sizes = distinct(100, 12);
    std::vector<std::uint64_t> numbers;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      numbers.push_back(recorder.on_alloc({.size_bytes = sizes[i]}));
      if (i == 5 && t > 0) recorder.on_free(carried);  // of the iteration before
      if (i > 0 && i != 4) recorder.on_free(numbers.back());
    }
    carried = numbers[4];
  }
  ASSERT_TRUE(recorder.ready());
  Recorded const r = recorder.take(512);
  EXPECT_FALSE(recorder.ready()) << "taken";
  ASSERT_EQ(r.events.size(), 12U);
  ASSERT_EQ(r.iteration.blocks.size(), 12U);
  // In steady state an iteration is 12 allocations, 10 frees of its own and one of the carried block.
  std::size_t const kept = [&] {
    std::size_t n = 0;
    for (Block const& b : r.iteration.blocks) n += b.end == kNever ? 1 : 0;
    return n;
  }();
  EXPECT_EQ(kept, 1U) << "the one that is never freed";
  for (std::size_t i = 0; i < 12; ++i) {
    EXPECT_EQ(r.iteration.blocks[i].size_bytes, r.events[i].size_bytes);
    Block const& b = r.iteration.blocks[i];
    if (r.events[i].size_bytes != 104) continue;
    EXPECT_GT(b.end - b.begin, r.iteration.period) << "longer than an iteration";
  }
}

}  // namespace
}  // namespace tidemark::plan
