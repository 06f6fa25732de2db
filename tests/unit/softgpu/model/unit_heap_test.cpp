// SPDX-License-Identifier: Apache-2.0
#include "softgpu/model/unit_heap.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <vector>

namespace tidemark::softgpu {
namespace {

TEST(UnitHeap, NothingCanBeHadBeforeARegionIsAdded) {
  UnitHeap heap(1024, 0);
  EXPECT_FALSE(heap.allocate(1));
}

TEST(UnitHeap, TheWholeRegionCanBeHadAndComesBackAsOneRun) {
  UnitHeap heap(1024, 0);
  heap.add_region({0, 1024});
  auto const all = heap.allocate(1024);
  ASSERT_TRUE(all);
  EXPECT_FALSE(heap.allocate(1));
  auto const run = heap.free(*all);
  EXPECT_EQ(run.first, 0u);
  EXPECT_EQ(run.count, 1024u);
}

TEST(UnitHeap, NeighboursMergeInEitherOrder) {
  for (auto const order : {std::array{0, 1, 2}, {2, 1, 0}, {0, 2, 1}, {1, 0, 2}}) {
    UnitHeap heap(30, 0);
    heap.add_region({0, 30});
    std::array<UnitHeap::Unit, 3> blocks{};
    for (auto& b : blocks) b = *heap.allocate(10);
    UnitHeap::Run last{};
    for (int const i : order) last = heap.free(blocks[static_cast<std::size_t>(i)]);
    EXPECT_EQ(last.count, 30u);
  }
}

TEST(UnitHeap, RunsDoNotMergeAcrossABorder) {
  UnitHeap heap(64, 16);
  heap.add_region({0, 16});
  heap.add_region({16, 16});
  EXPECT_FALSE(heap.allocate(17));
  auto const a = heap.allocate(16), b = heap.allocate(16);
  ASSERT_TRUE(a && b);
  EXPECT_EQ(heap.free(*a).count, 16u);
  EXPECT_EQ(heap.free(*b).count, 16u);
}

TEST(UnitHeap, ARemovedRegionIsNotHandedOut) {
  UnitHeap heap(64, 16);
  heap.add_region({16, 16});
  heap.remove_region({16, 16});
  EXPECT_FALSE(heap.allocate(1));
  heap.add_region({16, 16});
  EXPECT_EQ(heap.allocate(16), 16u);
}

TEST(UnitHeap, FindGivesTheRunOfAnyUnitInsideAndNothingForFreeOnes) {
  UnitHeap heap(1u << 20, 0);
  heap.add_region({0, 1u << 20});
  auto const a = *heap.allocate(3), b = *heap.allocate(500'000), c = *heap.allocate(7);
  for (auto const unit : {b, b + 1, b + 250'000, b + 499'999}) {
    auto const run = heap.find(unit);
    ASSERT_TRUE(run) << unit;
    EXPECT_EQ(run->first, b);
    EXPECT_EQ(run->count, 500'000u);
  }
  EXPECT_EQ(heap.find(a + 2)->first, a);
  EXPECT_EQ(heap.find(c)->first, c);
  heap.free(b);
  EXPECT_FALSE(heap.find(b + 250'000));
  EXPECT_FALSE(heap.find(c + 7));
  EXPECT_FALSE(heap.find((1u << 20) - 1));
  EXPECT_FALSE(heap.find(1u << 20));
}

TEST(UnitHeap, SplitMakesTwoUsedRunsThatAreFreedApart) {
  UnitHeap heap(100, 0);
  heap.add_region({0, 100});
  auto const first = *heap.allocate(100);
  heap.split(first, 40);
  EXPECT_EQ(heap.find(39)->count, 40u);
  EXPECT_EQ(heap.find(40)->first, 40u);
  heap.free(40);
  EXPECT_EQ(heap.allocate(60), 40u);
}

// Against the plainest model: a byte per unit.
class RandomHeap : public testing::TestWithParam<int> {};

TEST_P(RandomHeap, AgreesWithAByteMap) {
  constexpr UnitHeap::Unit kUnits = 4096;
  std::mt19937 random(static_cast<unsigned>(GetParam()));
  UnitHeap heap(kUnits, 0);
  heap.add_region({0, kUnits});
  std::vector<bool> used(kUnits);
  std::map<UnitHeap::Unit, UnitHeap::Unit> live;
  for (int step = 0; step < 3000; ++step) {
    if (live.empty() || random() % 5 < 3) {
      UnitHeap::Unit const count = 1 + static_cast<UnitHeap::Unit>(random() % (random() % 8 == 0 ? 600 : 24));
      auto const first = heap.allocate(count);
      if (!first) continue;
      for (auto u = *first; u < *first + count; ++u) {
        ASSERT_FALSE(used[u]) << "unit " << u << " handed out twice";
        used[u] = true;
      }
      live[*first] = count;
    } else {
      auto it = live.begin();
      std::advance(it, static_cast<long>(random() % live.size()));
      auto const run = heap.free(it->first);
      ASSERT_LE(run.first, it->first);
      ASSERT_GE(run.first + run.count, it->first + it->second);
      std::fill_n(used.begin() + it->first, it->second, false);
      live.erase(it);
    }
    auto const probe = static_cast<UnitHeap::Unit>(random() % kUnits);
    auto const found = heap.find(probe);
    ASSERT_EQ(found.has_value(), used[probe]);
    if (found) {
      auto const it = std::prev(live.upper_bound(probe));
      ASSERT_EQ(found->first, it->first);
      ASSERT_EQ(found->count, it->second);
    }
  }
  for (auto const& [first, count] : live) heap.free(first);
  EXPECT_EQ(heap.allocate(kUnits), 0u) << "not all came back as one run";
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomHeap, testing::Range(0, 20));

}  // namespace
}  // namespace tidemark::softgpu
