// SPDX-License-Identifier: Apache-2.0
#include "allocator/core/arena.h"

#include "tests/unit/allocator/fixture.h"

namespace tidemark::allocator {
namespace {

TEST_F(ArenaTest, AFreshArenaHasNoHoleAndTakesNothingFromTheDriver) {
  EXPECT_EQ(take(1_KiB), nullptr);
  EXPECT_EQ(reserved(), 0u);
}

TEST_F(ArenaTest, ABlockIsAccessibleAndFoundByItsFirstByteOnly) {
  Record* const block = grow(5_MiB);
  ASSERT_NE(block, nullptr);
  EXPECT_TRUE(driver.accessible(address(block), 5 << 20));
  EXPECT_EQ(arena.find(address(block)), block);
  EXPECT_EQ(arena.find(address(block) + 512), nullptr);
  EXPECT_EQ(arena.find(0x1234), nullptr);
  EXPECT_EQ(reserved(), 6u << 20);
}

TEST_F(ArenaTest, TheRestOfAFrameIsAHoleForTheNextBlock) {
  Record* const a = grow(1_KiB);
  Record* const b = take(1_KiB);
  ASSERT_NE(b, nullptr);
  EXPECT_EQ(address(b), address(a) + 1024);
  EXPECT_EQ(reserved(), 2u << 20);
}

TEST_F(ArenaTest, SmallAndLargeBlocksShareNoFrame) {
  Record* const small = grow(1_MiB);
  Record* const large = grow(1_MiB + 512_B);
  EXPECT_NE(address(small) >> 21, address(large) >> 21);
  EXPECT_EQ(reserved(), 4u << 20);
}

TEST_F(ArenaTest, FreedNeighboursBecomeOneHole) {
  Record* const a = grow(3_MiB);
  Record* const b = get(3_MiB);
  Record* const c = get(2_MiB);
  free(a);
  free(c);
  free(b);
  EXPECT_EQ(arena.use().holes, 1u);
  EXPECT_EQ(arena.use().largest_hole_bytes, 8u << 20);
}

TEST_F(ArenaTest, LongLivedBlocksAreCutFromTheOtherEnd) {
  free(grow(20_MiB));
  Record* const low = take(2_MiB);
  Record* const high = arena.take({.granules = to_granules(2 << 20), .lifetime = Lifetime::Long});
  EXPECT_EQ(address(high) - address(low), 18u << 20);
  Record* const far = grow(30_MiB, {}, Lifetime::Long);
  EXPECT_GT(address(far), address(high));
  EXPECT_EQ(address(far) + (30u << 20), arena.pool().base() + 8 * ((1ull << 30) + (32ull << 20)));
}

TEST_F(ArenaTest, ADomainsHoleIsItsOwnUntilItsStreamHasPassed) {
  Record* const block = grow(4_MiB);
  auto const stream = DomainId{3};
  arena.release(*block, stream, 10);
  EXPECT_EQ(take(4_MiB), nullptr);
  arena.promote(stream, 9);
  EXPECT_EQ(take(4_MiB), nullptr);
  arena.promote(stream, 10);
  EXPECT_NE(take(4_MiB), nullptr);
}

TEST_F(ArenaTest, ADomainTakesItsOwnHoleAtOnce) {
  Record* const block = grow(4_MiB);
  auto const stream = DomainId{3};
  std::uint64_t const at = address(block);
  arena.release(*block, stream, 10);
  Record* const again = arena.take({.domain = stream, .granules = to_granules(4 << 20)});
  ASSERT_NE(again, nullptr);
  EXPECT_EQ(address(again), at);
}

TEST_F(ArenaTest, HolesOfDifferentDomainsMergeWhenBothAreEverybodys) {
  Record* const a = grow(4_MiB);
  Record* const b = get(4_MiB);
  arena.release(*a, DomainId{1}, 5);
  arena.release(*b, DomainId{2}, 7);
  EXPECT_EQ(arena.use().holes, 2u);
  arena.promote(DomainId{1}, 5);
  arena.promote(DomainId{2}, 7);
  EXPECT_EQ(arena.use().holes, 1u);
}

TEST_F(ArenaTest, TheOwnersOfAnAddressAreCountedWhileNoBlockBeginsThere) {
  Record* const block = grow(4_MiB);
  EXPECT_EQ(block->generation, 0);
  block->generation = 7;
  free(block);
  Record* const other = take(3_MiB);
  EXPECT_EQ(other->generation, 7);
}

TEST_F(ArenaTest, AWholeBlockIsTheDriversOwn) {
  Record* block = nullptr;
  ASSERT_EQ(arena.take_whole(1000, &block), Status::Ok);
  EXPECT_EQ(driver.used_bytes(), 1000u);
  std::uint64_t const at = address(block);
  EXPECT_EQ(arena.find(at), block);
  EXPECT_FALSE(arena.contains(at));
  EXPECT_EQ(arena.drop_whole(*block), Status::Ok);
  EXPECT_EQ(arena.find(at), nullptr);
  EXPECT_EQ(driver.used_bytes(), 0u);
}

struct SegmentTest : ArenaTest {
  SegmentTest() : ArenaTest({.capacity_bytes = 100 << 20, .can_map = false}) {}
};

TEST_F(SegmentTest, WithoutMappingBlocksComeFromSegmentsOfTheDriver) {
  Record* const a = grow(3_MiB);
  Record* const b = grow(6_MiB);
  EXPECT_TRUE(driver.accessible(address(a), 3 << 20));
  EXPECT_TRUE(driver.accessible(address(b), 6 << 20));
  EXPECT_EQ(arena.find(address(a)), a);
  EXPECT_EQ(arena.find(address(a) + 512), nullptr);
  EXPECT_EQ(driver.used_bytes(), 10u << 20);
  EXPECT_EQ(driver.calls(tests::Call::Create), 0u);
}

TEST_F(SegmentTest, SegmentsNeverMergeAndGoBackWhole) {
  Record* const a = grow(4_MiB);
  Record* const b = grow(4_MiB);
  Record* const keep = grow(3_MiB);
  free(a);
  free(b);
  EXPECT_EQ(arena.use().largest_hole_bytes, 4u << 20);
  EXPECT_EQ(arena.trim(~0ull >> 1, {.sole_passed = 0}), 8u << 20);
  EXPECT_EQ(driver.used_bytes(), 4u << 20);
  EXPECT_TRUE(driver.accessible(address(keep), 3 << 20));
}

// --- stretches: what is free between blocks that stay ---

struct StretchTest : ArenaTest {
  std::vector<Arena::Stretch> stretches() { return arena.stretches({.granules = 1}, {}); }
  // Blocks that stay, with room between them.
  void pin(Bytes size, Bytes room) {
    Record* const a = get(size);
    Record* const free_later = get(room);
    Record* const b = get(size);
    free(free_later);
    pinned = {a, b};
  }
  std::vector<Record*> pinned;
};

TEST_F(StretchTest, HolesInFramesThatAreHeldAreFoundWithoutThosePartsThatCouldMove) {
  EXPECT_TRUE(stretches().empty());
  pin(300_KiB, 400_KiB);
  auto const found = stretches();
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].granules, to_granules((2 << 20) - (1000 << 10))) << "the rest of the frame";
  EXPECT_EQ(found[1].granules, to_granules(400 << 10));
  pin(3_MiB, 7_MiB);
  auto const large = stretches();
  for (const Arena::Stretch& s : large) EXPECT_LT(s.granules, kFrameGranules);
  EXPECT_TRUE(std::any_of(large.begin(), large.end(), [](auto& s) { return s.least == kSmallGranules; }));
}

TEST_F(StretchTest, OneThatIsLeasedIsNobodysUntilTheLeaseEnds) {
  pin(300_KiB, 400_KiB);
  Arena::Stretch const stretch = stretches()[1];
  Arena::Leased* const lease = arena.lease(stretch, DomainId::Shared, {});
  ASSERT_NE(lease, nullptr);
  EXPECT_EQ(arena.lease(stretch, DomainId::Shared, {}), nullptr) << "once";
  EXPECT_EQ(stretches().size(), 1u);
  std::vector<Arena::Change> change = {
      {.lease = lease, .wanted = {{.offset = 0, .granules = 100}, {.offset = 50, .granules = 100}}}};
  ASSERT_TRUE(arena.change_places(change));
  Record& block = *lease->places[1];
  block.state = State::Live;
  arena.turn_to(block);
  EXPECT_EQ(arena.find(address(&block)), &block);
  EXPECT_EQ(arena.holding(address(&block) + 1000), &block);
  EXPECT_EQ(arena.check(), "");
  arena.end_lease(*lease, std::vector<Record*>{&block}, DomainId::Shared, 0);
  EXPECT_EQ(arena.check(), "");
  EXPECT_EQ(arena.find(address(&block)), &block) << "it lives on";
  EXPECT_EQ(stretches().size(), 3u) << "before it and behind it";
  free(&block);
  EXPECT_EQ(stretches().size(), 2u);
}

TEST_F(StretchTest, WhatIsInUseOrWaitsForAStreamIsNotLeased) {
  pin(300_KiB, 400_KiB);
  Arena::Stretch const stretch = stretches()[1];
  Record* const block = take(10_KiB);
  ASSERT_NE(block, nullptr);
  auto const other = static_cast<DomainId>(3);
  EXPECT_EQ(arena.lease(stretch, DomainId::Shared, {}), nullptr);
  free(block, 7);
  EXPECT_EQ(arena.lease(stretch, other, {.sole_passed = 6}), nullptr);
  EXPECT_NE(arena.lease(stretch, other, {.sole_passed = 7}), nullptr);
}

TEST_F(StretchTest, WhatALeaseLeavesFreeCountsWithTheHolesBesideIt) {
  pin(700_KiB, 1_MiB);
  for (Record* const block : pinned) free(block);
  std::uint64_t const all = arena.returnable_bytes();
  EXPECT_EQ(all, reserved());
  Arena::Leased* const lease = arena.lease({.offset = pinned[0]->offset + 1000, .granules = 500}, DomainId::Shared, {});
  ASSERT_NE(lease, nullptr);
  EXPECT_EQ(arena.returnable_bytes(), all);
}

}  // namespace
}  // namespace tidemark::allocator
