// SPDX-License-Identifier: Apache-2.0
#include "softgpu/queue/checker.h"

#include <gtest/gtest.h>

#include "softgpu/queue/stream.h"

namespace tidemark::softgpu {
namespace {

using View = Checker::View;

TEST(GenerationMap, SettingARangeCutsWhatItOverlaps) {
  GenerationMap map;
  map.set(100, 100, 1, {});
  map.set(120, 10, 2, {});
  EXPECT_EQ(map.find(119)->generation, 1u);
  EXPECT_EQ(map.find(120)->generation, 2u);
  EXPECT_EQ(map.find(129)->generation, 2u);
  EXPECT_EQ(map.find(130)->generation, 1u);
  EXPECT_EQ(map.find(199)->generation, 1u);
  EXPECT_EQ(map.find(200), nullptr);
  map.erase(90, 35);
  EXPECT_EQ(map.find(100), nullptr);
  EXPECT_EQ(map.find(124), nullptr);
  EXPECT_EQ(map.find(125)->generation, 2u);
  map.set(0, 1000, 3, {});
  EXPECT_EQ(map.find(125)->generation, 3u);
}

// One item that touches an address, queued now; run() is its execution.
struct Work {
  Checker& checker;
  Stream stream;
  Item item;
  Work(Checker& c, std::uintptr_t address, std::uint64_t bytes = 1, bool certain = true) : checker(c) {
    item.name = "work";
    item.provenance = std::make_unique<Provenance>();
    checker.note(*item.provenance, {.address = address, .bytes = bytes, .writes = true, .certain = certain}, item.name);
  }
  void run() { checker.before(item, stream); }
};

class CheckerTest : public testing::Test {
 protected:
  Checker checker;
};

TEST_F(CheckerTest, WorkOnLiveMemoryIsFine) {
  checker.appear(View::Both, 1000, 100, 1);
  Work work(checker, 1010, 50);
  work.run();
  EXPECT_EQ(checker.reports(), 0u);
}

TEST_F(CheckerTest, WhatLiesBetweenTheEndsIsSeen) {
  // Three mappings side by side; the one in the middle is replaced while the work is queued.
  for (std::uint64_t i = 0; i < 3; ++i) checker.appear(View::Both, 1000 + 100 * i, 100, 1 + i);
  Work reused(checker, 1000, 300), freed(checker, 1000, 300), fine(checker, 1000, 100);
  checker.vanish(View::Both, 1100, 100, 2);
  freed.run();
  EXPECT_EQ(checker.reports(), 1u);
  checker.appear(View::Both, 1100, 100, 9);
  reused.run();
  EXPECT_EQ(checker.reports(), 2u);
  fine.run();
  EXPECT_EQ(checker.reports(), 2u);
}

TEST_F(CheckerTest, FreedBeforeItRanIsUseAfterFree) {
  checker.appear(View::Both, 1000, 100, 1);
  Work work(checker, 1000);
  checker.vanish(View::Both, 1000, 100);
  work.run();
  EXPECT_EQ(checker.reports(), 1u);
}

TEST_F(CheckerTest, HandedOutAgainBeforeItRanIsEarlyReuse) {
  checker.appear(View::Both, 1000, 100, 1);
  Work work(checker, 1000);
  checker.vanish(View::Both, 1000, 100);
  checker.appear(View::Both, 1000, 100, 2);
  work.run();
  EXPECT_EQ(checker.reports(), 1u);
}

TEST_F(CheckerTest, AFreeInStreamOrderDoesNotDisturbWorkBeforeIt) {
  checker.appear(View::Both, 1000, 100, 1);
  Work before(checker, 1000);
  checker.vanish(View::Host, 1000, 100);     // the program has called free
  checker.appear(View::Host, 1000, 100, 2);  // and was given the same memory again
  Work after(checker, 1000);
  before.run();
  EXPECT_EQ(checker.reports(), 0u);
  checker.vanish(View::Device, 1000, 100);
  checker.appear(View::Device, 1000, 100, 2);
  after.run();
  EXPECT_EQ(checker.reports(), 0u);
}

TEST_F(CheckerTest, RunningBeforeTheStreamOrderedAllocationIsFound) {
  checker.appear(View::Host, 1000, 100, 5);
  Work work(checker, 1000);
  work.run();
  EXPECT_EQ(checker.reports(), 1u);
}

// A free that nobody ordered behind the allocation can come first: the block is dead before it was born.
TEST_F(CheckerTest, FreedBeforeTheAllocationRanIsUseAfterFree) {
  checker.appear(View::Host, 1000, 100, 5);
  Work work(checker, 1000);
  checker.vanish(View::Host, 1000, 100);
  checker.vanish(View::Device, 1000, 100, 5);
  checker.appear(View::Device, 1000, 100, 5);
  work.run();
  EXPECT_EQ(checker.reports(), 1u);
}

TEST_F(CheckerTest, ALateFreeLeavesTheNextOwnerAlone) {
  checker.appear(View::Host, 1000, 100, 5);
  checker.vanish(View::Both, 1000, 100, 5);
  checker.appear(View::Both, 1000, 100, 6);
  Work work(checker, 1000);
  checker.appear(View::Device, 1000, 100, 5);
  checker.vanish(View::Device, 1000, 100, 5);
  work.run();
  EXPECT_EQ(checker.reports(), 0u);
}

TEST_F(CheckerTest, TheFarEndOfARangeCounts) {
  checker.appear(View::Both, 1000, 100, 1);
  checker.appear(View::Both, 1100, 100, 2);
  Work work(checker, 1050, 100);
  checker.vanish(View::Both, 1100, 100);
  work.run();
  EXPECT_EQ(checker.reports(), 1u);
}

TEST_F(CheckerTest, WorkQueuedAfterTheFreeIsFoundAtOnceIfItIsSurelyAPointer) {
  checker.appear(View::Both, 1000, 100, 1);
  checker.vanish(View::Both, 1000, 100);
  Work maybe(checker, 1000, 1, false);
  EXPECT_EQ(checker.reports(), 0u);
  Work surely(checker, 1000, 1, true);
  EXPECT_EQ(checker.reports(), 1u);
}

TEST_F(CheckerTest, MemoryThatTheDeviceDoesNotKnowIsIgnored) {
  Work work(checker, 77777, 8);
  work.run();
  EXPECT_EQ(checker.reports(), 0u);
}

TEST_F(CheckerTest, AnAllocatorsOwnBlocksAreSeenInsideTheDevices) {
  checker.appear(View::Both, 1000, 1000, 1);
  checker.overlay(View::Both, 1200, 100, 41);
  Work good(checker, 1250);
  Work bad(checker, 1200);
  good.run();
  EXPECT_EQ(checker.reports(), 0u);
  checker.overlay(View::Both, 1200, 100, 0);
  checker.overlay(View::Both, 1200, 50, 42);
  bad.run();
  EXPECT_EQ(checker.reports(), 1u);
  Work freed(checker, 1260);
  EXPECT_EQ(checker.reports(), 2u) << "queued into a part that the allocator has taken back";
}

TEST_F(CheckerTest, AnAllocatorsFreeBeforeItsServeIsFound) {
  checker.appear(View::Both, 1000, 1000, 1);
  checker.overlay(View::Host, 1000, 100, 7);
  Work work(checker, 1000);
  EXPECT_EQ(checker.overlay_at(1000), 7u);
  checker.overlay(View::Host, 1000, 100, 0);
  checker.overlay(View::Device, 1000, 100, 0, 7);
  checker.overlay(View::Device, 1000, 100, 7);
  work.run();
  EXPECT_EQ(checker.reports(), 1u);
}

// A graph that is launched again says the same about its blocks each time, and may be queued twice.
TEST_F(CheckerTest, ServesOfOneGenerationCanBeQueuedTwice) {
  checker.appear(View::Both, 1000, 1000, 1);
  std::vector<std::unique_ptr<Work>> launches;
  for (int i = 0; i < 2; ++i) {
    checker.overlay(View::Host, 1000, 100, 7);
    launches.push_back(std::make_unique<Work>(checker, 1000));
    checker.overlay(View::Host, 1000, 100, 0);
  }
  for (auto const& launch : launches) {
    checker.overlay(View::Device, 1000, 100, 7);
    launch->run();
    checker.overlay(View::Device, 1000, 100, 0, 7);
  }
  EXPECT_EQ(checker.reports(), 0u);
}

TEST_F(CheckerTest, AnAllocatorsStreamOrderedReuseIsNoFinding) {
  checker.appear(View::Both, 1000, 1000, 1);
  checker.overlay(View::Both, 1000, 100, 7);
  Work before(checker, 1000);
  checker.overlay(View::Host, 1000, 100, 0);
  checker.overlay(View::Host, 1000, 100, 8);
  before.run();
  EXPECT_EQ(checker.reports(), 0u);
  checker.overlay(View::Device, 1000, 100, 8);
  Work after(checker, 1000);
  after.run();
  EXPECT_EQ(checker.reports(), 0u);
}

}  // namespace
}  // namespace tidemark::softgpu
