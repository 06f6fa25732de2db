// SPDX-License-Identifier: Apache-2.0
// Frames move: stitching, stock, giving back, and what is left when the driver refuses in the middle.
#include "tests/unit/allocator/fixture.h"

namespace tidemark::allocator {
namespace {

using tests::Call;

TEST_F(ArenaTest, ABlockGrowsOutOfTheHoleBeforeTheGap) {
  Record* const a = grow(3_MiB);  // a hole of 1 MiB is left behind it
  Record* const b = grow(5_MiB);
  EXPECT_EQ(address(b), address(a) + (3u << 20));
  EXPECT_EQ(reserved(), 8u << 20);
}

TEST_F(ArenaTest, WholeFreeFramesMoveBeforeNewOnesAreMade) {
  std::array<Record*, 4> blocks{};
  for (Record*& block : blocks) block = get(4_MiB);
  free(blocks[0]);
  free(blocks[2]);
  Record* const large = grow(8_MiB);
  EXPECT_TRUE(driver.accessible(address(large), 8 << 20));
  EXPECT_EQ(reserved(), 16u << 20);
  EXPECT_EQ(arena.use().moved_frames, 4u);
}

TEST_F(ArenaTest, FramesThatWorkMayStillUseDoNotMove) {
  std::array<Record*, 4> blocks{};
  for (Record*& block : blocks) block = get(4_MiB);
  free(blocks[0], 5);
  free(blocks[2], 9);
  EXPECT_TRUE(arena.has_unpassed_frames(5));
  EXPECT_FALSE(arena.has_unpassed_frames(9));
  grow(8_MiB, {.sole_passed = 5});
  EXPECT_EQ(arena.use().moved_frames, 2u);
  EXPECT_EQ(reserved(), 20u << 20);
}

TEST_F(ArenaTest, AStitchedRangeThatBecomesFreeServesTheSameSizeAgainWithoutACall) {
  std::array<Record*, 4> blocks{};
  for (Record*& block : blocks) block = get(4_MiB);
  free(blocks[0]);
  free(blocks[2]);
  Record* const large = grow(8_MiB);
  std::uint64_t const at = address(large);
  free(large);
  std::uint64_t const calls = arena.pool().calls().total();
  EXPECT_EQ(address(take(8_MiB)), at);
  EXPECT_EQ(arena.pool().calls().total(), calls);
}

TEST_F(ArenaTest, TheLimitHolds) {
  Record* block = nullptr;
  EXPECT_EQ(arena.grow({.granules = to_granules(6 << 20)}, {.frames = 2}, &block), Status::OutOfMemory);
  EXPECT_EQ(block, nullptr);
  EXPECT_NE(grow(4_MiB, {.frames = 2}), nullptr);
}

TEST_F(ArenaTest, AccessIsSetOncePerRun) {
  grow(40_MiB);
  EXPECT_EQ(driver.calls(Call::Map), 20u);
  EXPECT_EQ(driver.calls(Call::SetAccess), 1u);
}

TEST_F(ArenaTest, TrimGivesWholeFramesBackAndKeepsTheRest) {
  Record* const a = grow(3_MiB);
  Record* const b = get(6_MiB);
  Record* const c = get(3_MiB);
  free(b);
  EXPECT_EQ(arena.returnable_bytes(), 4u << 20);  // of [3, 9) MiB whole frames are [4, 8)
  EXPECT_EQ(arena.trim(1 << 20, {.sole_passed = 0}), 2u << 20);
  EXPECT_EQ(arena.trim(~0ull >> 1, {.sole_passed = 0}), 2u << 20);
  EXPECT_EQ(driver.used_bytes(), 8u << 20);
  EXPECT_TRUE(driver.accessible(address(a), 3 << 20));
  EXPECT_TRUE(driver.accessible(address(c), 3 << 20));
  Record* const again = grow(6_MiB);  // the gap is filled where it was
  EXPECT_EQ(address(again), address(a) + (3u << 20));
}

TEST_F(ArenaTest, WhatTrimWaitsForIsNotGivenBack) {
  free(grow(4_MiB), 3);
  EXPECT_EQ(arena.trim(~0ull >> 1, {.sole_passed = 2}), 0u);
  EXPECT_EQ(arena.trim(~0ull >> 1, {.sole_passed = 3}), 4u << 20);
}

// A failure in any call of a growth: nothing is half mapped, the next try succeeds and no frame is lost.
TEST_F(ArenaTest, AFailureInTheMiddleOfAGrowthLeavesNoTrace) {
  for (Call const call : {Call::Create, Call::Map, Call::SetAccess}) {
    for (std::uint64_t after = 0; after < (call == Call::SetAccess ? 1 : 5); ++after) {
      driver.fail(call, after, call == Call::Create ? Status::OutOfMemory : Status::Failed);
      Record* block = nullptr;
      EXPECT_NE(arena.grow({.granules = to_granules(10 << 20)}, {}, &block), Status::Ok);
      EXPECT_EQ(block, nullptr);
      EXPECT_EQ(arena.check(), "");
      block = grow(10_MiB);
      EXPECT_EQ(reserved(), 10u << 20);
      free(block);
      EXPECT_EQ(arena.trim(~0ull >> 1, {.sole_passed = 0}), 10u << 20);
      EXPECT_EQ(driver.used_bytes(), 0u);
    }
  }
}

TEST_F(ArenaTest, AFrameThatTheDriverDoesNotUnmapIsNeverUsedAgain) {
  std::array<Record*, 4> blocks{};
  for (Record*& block : blocks) block = get(4_MiB);
  free(blocks[0]);
  driver.fail(Call::Unmap, 1, Status::Failed);
  Record* block = nullptr;
  EXPECT_NE(arena.grow({.granules = to_granules(8 << 20)}, {}, &block), Status::Ok);
  EXPECT_GT(arena.use().lost_bytes, 0u);
  EXPECT_EQ(take(4_MiB), nullptr);
  EXPECT_TRUE(driver.accessible(address(grow(8_MiB)), 8 << 20));
}

struct LargePieces : ArenaTest {
  LargePieces() : ArenaTest({}, {.capacity_bytes = 1ull << 30, .larger_pieces_from_bytes = {8 << 20, 32 << 20}}) {}
};

TEST_F(LargePieces, AGrowthIsMadeOfTheLargestPiecesThatFit) {
  grow(8_MiB);   // four of 2 MiB
  grow(30_MiB);  // 8, 8, 8, then 2, 2, 2
  grow(74_MiB);  // 32, 32, 8, 2
  EXPECT_EQ(driver.calls(Call::Create), 4u + 6u + 4u);
}

TEST_F(LargePieces, APieceMovesOnlyWhenAllOfItIsFree) {
  Record* const first = grow(8_MiB);
  Record* const a = grow(8_MiB);  // one piece
  free(a);
  Record* const part = take(2_MiB);
  EXPECT_EQ(arena.returnable_bytes(), 0u);
  free(part);
  EXPECT_EQ(arena.returnable_bytes(), 8u << 20);
  free(first);
  EXPECT_EQ(arena.returnable_bytes(), 16u << 20);
}

}  // namespace
}  // namespace tidemark::allocator
