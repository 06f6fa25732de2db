// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/analysis/fixture.h"

namespace tidemark::analysis {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

TEST(Tensors, CountInsteadOfTheBlocksThatHoldThem) {
  TraceMaker t;
  t.alloc(1, 1, {.address = 0x10000000, .size_bytes = 20 * kMiB});  // a segment
  t.alloc(1, 2, {.address = 0x20000000, .size_bytes = 4 * kMiB});   // a library's own
  t.alloc(1, 3, {.address = 0x10000000, .size_bytes = kMiB, .block_class = Class::Tensor});
  t.alloc(1, 4, {.address = 0x10000000 + 2 * kMiB, .size_bytes = kMiB, .block_class = Class::Tensor});
  t.free(1, 5, {.address = 0x10000000, .block_class = Class::Tensor});
  t.free(1, 6, {.address = 0x10000000 + 2 * kMiB, .block_class = Class::Tensor});
  auto const s = summary_of(t);
  EXPECT_EQ(s.peak.live_bytes, 6 * kMiB);
  EXPECT_EQ(s.peak.reserved_bytes, 24 * kMiB) << "what the framework caches is reserved";
  EXPECT_EQ(s.end_live_bytes, 4 * kMiB) << "an empty segment is cached, not live";
}

TEST(Tensors, ASegmentDoesNotCountBeforeItsFirstTensorEither) {
  TraceMaker t;
  t.alloc(1, 1, {.address = 0x10000000, .size_bytes = 512 * kMiB});
  t.alloc(1, 2, {.address = 0x10000000, .size_bytes = kMiB, .block_class = Class::Tensor});
  EXPECT_EQ(summary_of(t).peak.live_bytes, kMiB);
}

TEST(Tensors, InMappedMemoryCountInsteadOfThePhysicalBlocks) {
  TraceMaker t;
  std::uint64_t const base = 0x40000000;
  for (std::uint64_t i = 0; i < 4; ++i) {
    t.alloc(1, 10 * i + 1, {.address = 100 + i, .size_bytes = 2 * kMiB, .block_class = Class::Physical});
    t.alloc(1, 10 * i + 2,
            {.address = base + i * 2 * kMiB, .size_bytes = 2 * kMiB, .block_class = Class::Mapping, .parent = 100 + i});
  }
  // Over the first three.
  t.alloc(1, 50, {.address = base + kMiB, .size_bytes = 4 * kMiB, .block_class = Class::Tensor});
  auto const s = summary_of(t);
  EXPECT_EQ(s.peak.live_bytes, 6 * kMiB) << "the tensor, and the page that holds none";
  EXPECT_EQ(s.peak.reserved_bytes, 8 * kMiB);
}

TEST(Tensors, OfABlockThatIsNotInTheTraceCountToo) {
  TraceMaker t;
  t.alloc(1, 1, {.address = 0x10000000, .size_bytes = 100, .block_class = Class::Tensor});
  EXPECT_EQ(summary_of(t).peak.live_bytes, 512u);
}

TEST(Tensors, ABlockAtAnAddressThatHeldTensorsBeforeCountsAgain) {
  TraceMaker t;
  t.alloc(1, 1, {.address = 0x10000000, .size_bytes = 8 * kMiB});
  t.alloc(1, 2, {.address = 0x10000000, .size_bytes = kMiB, .block_class = Class::Tensor});
  t.free(1, 3, {.address = 0x10000000, .block_class = Class::Tensor});
  t.free(1, 4, {.address = 0x10000000});
  t.alloc(1, 5, {.address = 0x10000000, .size_bytes = 8 * kMiB});
  auto const s = summary_of(t);
  EXPECT_EQ(s.peak.live_bytes, 8 * kMiB);
  EXPECT_EQ(s.peak.time_ns, 5u);
}

}  // namespace
}  // namespace tidemark::analysis
