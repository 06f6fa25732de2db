// SPDX-License-Identifier: Apache-2.0
#include "allocator/core/allocator.h"

#include "tests/unit/allocator/allocator_fixture.h"

namespace tidemark::allocator {
namespace {

TEST_F(AllocatorTest, AFreedBlockOfTheSameSizeComesBackWithoutACallOfTheDriver) {
  std::uint64_t const a = allocate(3_MiB);
  EXPECT_EQ(allocator->free(a), Freed::Yes);
  std::uint64_t const calls = statistics().driver_calls;
  EXPECT_EQ(allocate(3_MiB), a);
  EXPECT_EQ(statistics().driver_calls, calls);
}

TEST_F(AllocatorTest, LiveRequestedAndReservedAddUp) {
  std::uint64_t const a = allocate(1000_B);
  allocate(3_MiB);
  Statistics s = statistics();
  EXPECT_EQ(s.live_bytes, 1024u + (3u << 20));
  EXPECT_EQ(s.requested_bytes, 1000u + (3u << 20));
  EXPECT_EQ(s.rounding_loss_bytes(), 24u);
  EXPECT_EQ(s.reserved_bytes, 6u << 20);
  EXPECT_EQ(s.live_bytes + s.cached_bytes, s.reserved_bytes);
  allocator->free(a);
  s = statistics();
  EXPECT_EQ(s.live_bytes, 3u << 20);
  EXPECT_EQ(s.allocations, 2u);
  EXPECT_EQ(s.frees, 1u);
}

TEST_F(AllocatorTest, AForeignPointerAnInteriorOneAndADoubleFreeAreTold) {
  std::uint64_t const a = allocate(3_MiB);
  EXPECT_EQ(allocator->free(0x1000), Freed::NotOurs);
  EXPECT_EQ(allocator->free(a + 512), Freed::NotOurs);
  EXPECT_EQ(allocator->free(a), Freed::Yes);
  EXPECT_EQ(allocator->free(a), Freed::NotLive);
  allocator->merge_everything();
  EXPECT_NE(allocator->free(a), Freed::Yes);
}

TEST_F(AllocatorTest, OwnersOfAnAddressAreCountedFromOne) {
  Allocator::Block block;
  std::uint64_t const a = allocate(3_MiB);
  ASSERT_TRUE(allocator->describe(a, &block));
  EXPECT_EQ(block.generation, 1);
  for (int i = 0; i < 254; ++i) {
    allocator->free(a);
    ASSERT_EQ(allocate(3_MiB), a);
  }
  ASSERT_TRUE(allocator->describe(a, &block));
  EXPECT_EQ(block.generation, 255);
  allocator->free(a);
  EXPECT_FALSE(allocator->describe(a, &block));
  ASSERT_EQ(allocate(3_MiB - 512_B), a);  // another block, the same address
  ASSERT_TRUE(allocator->describe(a, &block));
  EXPECT_EQ(block.generation, 1);
  EXPECT_EQ(block.requested_bytes, (3u << 20) - 512);
}

TEST_F(AllocatorTest, DifferentSizesShareMemoryThroughTheArena) {
  std::vector<std::uint64_t> blocks;
  for (int i = 0; i < 20; ++i) blocks.push_back(allocate(4_MiB));
  for (std::uint64_t const a : blocks) allocator->free(a);
  allocate(80_MiB);
  EXPECT_EQ(statistics().reserved_bytes, 80u << 20);
}

TEST_F(AllocatorTest, AWholeBlockIsTheDriversOwnAndGoesBackAtOnce) {
  std::uint64_t address = 0;
  ASSERT_EQ(allocator->allocate({.bytes = 3 << 20, .whole = true}, &address), Status::Ok);
  EXPECT_EQ(device.used_bytes(), 3u << 20);
  EXPECT_EQ(statistics().live_bytes, 3u << 20);
  EXPECT_EQ(allocator->free(address), Freed::Yes);
  EXPECT_EQ(device.used_bytes(), 0u);
  EXPECT_EQ(allocator->free(address), Freed::NotOurs);
}

TEST_F(AllocatorTest, AWholeBlockThatTheDriverDoesNotTakeBackLivesOn) {
  std::uint64_t address = 0;
  ASSERT_EQ(allocator->allocate({.bytes = 3 << 20, .whole = true}, &address), Status::Ok);
  device.fail(tests::Call::Free, 0, Status::Failed);
  EXPECT_EQ(allocator->free(address), Freed::Refused);
  EXPECT_EQ(statistics().live_bytes, 3u << 20);
  EXPECT_EQ(statistics().reserved_bytes, 3u << 20);
  Allocator::Block block;
  EXPECT_TRUE(allocator->describe(address, &block));
  EXPECT_EQ(allocator->free(address), Freed::Yes);
  EXPECT_EQ(statistics().reserved_bytes, 0u);
}

TEST_F(AllocatorTest, SizesThatNoDeviceHasAreRefused) {
  allocator->free(allocate(1_KiB));
  for (std::uint64_t const bytes : {~0ull, ~0ull - 600, 1ull << 60, (1ull << 41) + 1024, 1ull << 40})
    EXPECT_EQ(allocate({bytes}), 0u) << bytes;
  EXPECT_EQ(allocate(0_B), 0u);
  EXPECT_NE(allocate(1_KiB), 0u);
}

struct NoSubAllocation : AllocatorTest {
  NoSubAllocation() : AllocatorTest({.capacity_bytes = 1ull << 30}, {.sub_allocate = false}) {}
};
TEST_F(NoSubAllocation, EveryBlockIsTheDriversOwn) {
  std::uint64_t const a = allocate(1_KiB);
  EXPECT_EQ(device.used_bytes(), 1024u);
  EXPECT_EQ(allocator->free(a), Freed::Yes);
  EXPECT_EQ(device.used_bytes(), 0u);
}

struct Limited : AllocatorTest {
  Limited() : AllocatorTest({.capacity_bytes = 1ull << 30}, {.limit_bytes = 64 << 20}) {}
};

TEST_F(Limited, NothingIsReservedBeyondTheLimitAndTheFailureIsExplained) {
  std::uint64_t const a = allocate(30_MiB);
  allocate(30_MiB);
  EXPECT_EQ(allocate(30_MiB), 0u);
  EXPECT_EQ(allocator->last_failure().wanted_bytes, 30u << 20);
  EXPECT_EQ(allocator->last_failure().live_bytes, 60u << 20);
  EXPECT_EQ(allocator->last_failure().limit_bytes, 64u << 20);
  EXPECT_EQ(statistics().failures, 1u);
  allocator->free(a);
  EXPECT_NE(allocate(34_MiB), 0u);
}

TEST_F(Limited, ScatteredFreePagesServeALargeBlock) {
  std::vector<std::uint64_t> blocks;
  for (int i = 0; i < 16; ++i) blocks.push_back(allocate(4_MiB));
  for (std::size_t i = 0; i < 16; i += 2) allocator->free(blocks[i]);
  std::uint64_t const large = allocate(32_MiB);
  ASSERT_NE(large, 0u);
  EXPECT_TRUE(device.accessible(large, 32 << 20));
  EXPECT_EQ(statistics().reserved_bytes, 64u << 20);
}

TEST_F(Limited, MemoryInMagazinesIsFoundBeforeAFailure) {
  std::vector<std::uint64_t> blocks;
  for (int i = 0; i < 64; ++i) blocks.push_back(allocate(1_MiB - 512_B));
  for (std::uint64_t const a : blocks) allocator->free(a);
  EXPECT_NE(allocate(64_MiB), 0u);
}

TEST_F(Limited, MemoryInfoCountsWhatCanBeGivenBackAndKeepsItsWord) {
  std::uint64_t const a = allocate(20_MiB);
  std::uint64_t const b = allocate(20_MiB);
  DeviceMemory memory;
  ASSERT_EQ(allocator->memory_info(&memory), Status::Ok);
  EXPECT_EQ(memory.total_bytes, 64u << 20);
  EXPECT_EQ(memory.free_bytes, 24u << 20);
  allocator->free(a);
  ASSERT_EQ(allocator->memory_info(&memory), Status::Ok);
  EXPECT_EQ(memory.free_bytes, 44u << 20);
  EXPECT_EQ(allocator->give_back(~0ull >> 1), 20u << 20);
  EXPECT_EQ(device.used_bytes(), 20u << 20);
  ASSERT_EQ(allocator->memory_info(&memory), Status::Ok);
  EXPECT_EQ(memory.free_bytes, 44u << 20);
  allocator->free(b);
}

TEST_F(AllocatorTest, MagazinesHoldAtMostOnePercentOfTheDevice) {
  std::vector<std::uint64_t> blocks;
  for (int size = 1; size <= 60; ++size)
    for (int i = 0; i < 8; ++i) blocks.push_back(allocate(Bytes{std::uint64_t(size) << 16}));
  for (std::uint64_t const a : blocks) allocator->free(a);
  std::uint64_t const held = allocator->magazine_bytes();
  EXPECT_GT(held, 0u);
  EXPECT_LE(held, (1ull << 30) / 100);
}

struct Segments : AllocatorTest {
  Segments() : AllocatorTest({.capacity_bytes = 64 << 20, .can_map = false}) {}
};
TEST_F(Segments, WithoutMappingTheSameCallsWorkAndIdleSegmentsGoBackWhenMemoryIsShort) {
  std::uint64_t const a = allocate(30_MiB);
  std::uint64_t const b = allocate(30_MiB);
  allocator->free(a);
  allocator->free(b);
  std::uint64_t const c = allocate(60_MiB);
  ASSERT_NE(c, 0u);
  EXPECT_TRUE(device.accessible(c, 60 << 20));
  EXPECT_EQ(device.used_bytes(), 60u << 20);
}

}  // namespace
}  // namespace tidemark::allocator
