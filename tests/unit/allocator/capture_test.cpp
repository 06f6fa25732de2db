// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/allocator/allocator_fixture.h"

namespace tidemark::allocator {
namespace {

TEST_F(AllocatorTest, DuringACaptureNothingThatIsFreedComesBack) {
  std::uint64_t const a = allocate(4_MiB);
  auto const capture = allocator->begin_capture();
  EXPECT_EQ(allocator->free(a), Freed::Yes);
  EXPECT_EQ(allocator->free(a), Freed::NotLive);
  EXPECT_NE(allocate(4_MiB), a);
  allocator->end_capture(capture);
  EXPECT_EQ(allocate(4_MiB), a);
}

TEST_F(AllocatorTest, WhatACaptureGotStaysOutUntilItsGraphsAreGone) {
  auto const capture = allocator->begin_capture();
  std::uint64_t const a = allocate(4_MiB);
  allocator->end_capture(capture);
  EXPECT_EQ(allocator->free(a), Freed::Yes);
  EXPECT_NE(allocate(4_MiB), a);
  allocator->graphs_are_gone(capture);
  EXPECT_EQ(allocate(4_MiB), a);
}

TEST_F(AllocatorTest, ABlockThatOutlivesItsGraphsIsAnOrdinaryOne) {
  auto const capture = allocator->begin_capture();
  std::uint64_t const a = allocate(4_MiB);
  allocator->end_capture(capture);
  allocator->graphs_are_gone(capture);
  EXPECT_EQ(allocator->free(a), Freed::Yes);
  EXPECT_EQ(allocate(4_MiB), a);
}

TEST_F(AllocatorTest, GraphsThatEndDuringAnotherCaptureGiveTheirBlocksAfterIt) {
  auto const first = allocator->begin_capture();
  std::uint64_t const a = allocate(4_MiB);
  allocator->end_capture(first);
  allocator->free(a);
  auto const second = allocator->begin_capture();
  allocator->graphs_are_gone(first);
  EXPECT_NE(allocate(4_MiB), a);
  allocator->end_capture(second);
  EXPECT_EQ(allocate(4_MiB), a);
}

TEST_F(AllocatorTest, DuringACaptureNoEventIsRecordedAndNoFrameMoves) {
  std::vector<std::uint64_t> blocks;
  for (int i = 0; i < 4; ++i) blocks.push_back(allocate(4_MiB));
  allocator->free(blocks[0]);
  allocator->free(blocks[2]);
  auto const capture = allocator->begin_capture();
  ASSERT_NE(allocate(8_MiB), 0u);
  EXPECT_EQ(statistics().moved_bytes, 0u);
  EXPECT_EQ(device.calls(tests::Call::Unmap), 0u);
  EXPECT_EQ(device.calls(tests::Call::Record), 0u);
  EXPECT_EQ(allocator->give_back(~0ull >> 1), 0u);
  allocator->end_capture(capture);
}

}  // namespace
}  // namespace tidemark::allocator
