// SPDX-License-Identifier: Apache-2.0
// The published vectors of Philox4x32 with ten rounds.
#include "kernels/philox.h"

#include <gtest/gtest.h>

#include <vector>

namespace tidemark::kernels {
namespace {

std::vector<std::uint32_t> words(Random4 counter, std::uint32_t key0, std::uint32_t key1) {
  Random4 const out = philox(counter, key0, key1);
  return {out.word, out.word + 4};
}

TEST(Philox, PublishedVectors) {
  using Words = std::vector<std::uint32_t>;
  EXPECT_EQ(words({{0, 0, 0, 0}}, 0, 0), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  std::uint32_t const f = 0xffffffff;
  EXPECT_EQ(words({{f, f, f, f}}, f, f), (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(words({{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}}, 0xa4093822, 0x299f31d0),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, UnitNumbersReachNeitherEnd) {
  EXPECT_GT(unit(0), 0.0f);
  EXPECT_LT(unit(0xffffffff), 1.0f);
}

}  // namespace
}  // namespace tidemark::kernels
