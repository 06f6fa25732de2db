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

}  // namespace
}  // namespace tidemark::allocator
