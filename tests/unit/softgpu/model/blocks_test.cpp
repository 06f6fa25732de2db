// SPDX-License-Identifier: Apache-2.0
#include "softgpu/model/blocks.h"

#include <gtest/gtest.h>

#include "softgpu/model/handle_pool.h"

namespace tidemark::softgpu {
namespace {

Block host_block(std::uintptr_t address, std::uint64_t bytes) {
  return {.address = address, .requested = bytes, .rounded = bytes, .kind = MemoryKind::Registered};
}

TEST(BlockMap, FindsTheBlockOfAnAddressUpToItsRequestedEnd) {
  BlockMap map;
  Block* const b = map.create(host_block(0x1000, 100), true);
  EXPECT_EQ(map.find(0x1000), b);
  EXPECT_EQ(map.find(0x1000 + 99), b);
  EXPECT_EQ(map.find(0x1000 + 100), nullptr);
  EXPECT_EQ(map.find(0xfff), nullptr);
  map.destroy(b, true);
  EXPECT_EQ(map.find(0x1000), nullptr);
}

TEST(BlockMap, OverlapIsSeenFromBothSides) {
  BlockMap map;
  map.create(host_block(0x1000, 0x100), true);
  EXPECT_TRUE(map.overlaps(0x10ff, 1));
  EXPECT_TRUE(map.overlaps(0xf00, 0x101));
  EXPECT_TRUE(map.overlaps(0x1010, 1));
  EXPECT_FALSE(map.overlaps(0x1100, 10));
  EXPECT_FALSE(map.overlaps(0xf00, 0x100));
}

TEST(BlockMap, IdsAreNewAtEachAllocation) {
  BlockMap map;
  Block* const a = map.create(host_block(0x1000, 1), true);
  auto const id = a->id;
  map.destroy(a, true);
  EXPECT_GT(map.create(host_block(0x1000, 1), true)->id, id);
}

struct Named {
  int value = 0;
};

TEST(HandlePool, OnlyLiveHandlesPass) {
  HandlePool<Named> pool(1024);
  Named* const a = pool.create(Named{1});
  EXPECT_EQ(pool.check(a), a);
  for (const void* wrong : {static_cast<const void*>(nullptr), static_cast<const void*>(&pool),
                            reinterpret_cast<const void*>(~std::uintptr_t{0}), reinterpret_cast<const void*>(1),
                            static_cast<const void*>(reinterpret_cast<const char*>(a) + 1)})
    EXPECT_EQ(pool.check(wrong), nullptr);
  pool.destroy(a);
  EXPECT_EQ(pool.check(a), nullptr);
  EXPECT_EQ(pool.check(pool.create(Named{2}))->value, 2);
  EXPECT_EQ(pool.check(a), nullptr) << "a stale handle must not name the next object";
}

TEST(HandlePool, RunsOutWithoutHarmAndUsesFreedSlotsThen) {
  HandlePool<Named> pool(4);
  Named* objects[4];
  for (auto& o : objects) o = pool.create();
  EXPECT_THROW(pool.create(), std::bad_alloc);
  pool.destroy(objects[2]);
  EXPECT_NE(pool.create(), nullptr);
}

}  // namespace
}  // namespace tidemark::softgpu
