// SPDX-License-Identifier: Apache-2.0
#include "allocator/core/diagnosis.h"

#include "tests/unit/allocator/fixture.h"

namespace tidemark::allocator {
namespace {

TEST_F(ArenaTest, WithoutHolesNothingIsPinned) {
  grow(2_MiB);
  get(2_MiB);
  EXPECT_TRUE(find_pins(arena, 10).empty());
}

TEST_F(ArenaTest, ASmallBlockBetweenTwoHolesIsNamedWithWhatMovingItWouldGive) {
  Record* const a = grow(3_MiB);
  Record* const small = get(1_MiB + 512_B);  // over the end of the second frame
  Record* const b = get(4_MiB - 512_B);
  Record* const end = get(2_MiB);
  ASSERT_NE(end, nullptr);
  free(a);
  free(b);
  std::vector<Pin> const pins = find_pins(arena, 10);
  ASSERT_EQ(pins.size(), 2u);
  EXPECT_EQ(pins[0].address, address(small));
  EXPECT_EQ(pins[0].before_bytes, 3u << 20);
  EXPECT_EQ(pins[0].after_bytes, (4u << 20) - 512);
  EXPECT_EQ(pins[0].hole_bytes(), 8u << 20);
  EXPECT_EQ(pins[0].given_back_bytes, 4u << 20) << "frames [2, 6) MiB";
  EXPECT_EQ(find_pins(arena, 1).size(), 1u);
}

}  // namespace
}  // namespace tidemark::allocator
