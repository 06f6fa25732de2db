// SPDX-License-Identifier: Apache-2.0
#include "allocator/core/plan/verify.h"

#include <gtest/gtest.h>

#include "tests/unit/allocator/plan/instances.h"

namespace tidemark::plan {
namespace {

// Two buffers that meet in [2, 4), a third that meets none.
std::vector<Buffer> const kThree{{.lower = 0, .upper = 4, .size_bytes = 10},
                                 {.lower = 2, .upper = 6, .size_bytes = 5},
                                 {.lower = 6, .upper = 9, .size_bytes = 15}};

bool sound(const std::vector<Buffer>& buffers, std::vector<std::uint64_t> offsets, std::uint64_t height) {
  return verify(buffers, {.offsets = std::move(offsets), .height = height}, height).ok();
}

TEST(Verify, AcceptsALayoutThatTouchesInTimeAndSpace) {
  EXPECT_TRUE(sound(kThree, {0, 10, 0}, 15));
  EXPECT_TRUE(sound(kThree, {5, 0, 0}, 15));
}

TEST(Verify, FindsEveryPlantedOverlapOfOneByte) {
  EXPECT_FALSE(sound(kThree, {0, 9, 0}, 15));
  EXPECT_FALSE(sound(kThree, {4, 0, 0}, 15));
  EXPECT_FALSE(sound(kThree, {0, 0, 0}, 15));
  EXPECT_FALSE(sound(kThree, {0, 3, 0}, 15)) << "one within the other";
}

TEST(Verify, NamesTheTwoThatOverlap) {
  auto const flaw = verify(kThree, {.offsets = {0, 9, 0}, .height = 15}, 15);
  ASSERT_FALSE(flaw.ok());
  EXPECT_NE(flaw.error().what.find("buffer 0 and buffer 1 overlap"), std::string::npos) << flaw.error().what;
}

TEST(Verify, RefusesWhatIsTooHighMisalignedOrMissing) {
  EXPECT_FALSE(sound(kThree, {0, 11, 0}, 15)) << "above the height";
  EXPECT_FALSE(verify(kThree, {.offsets = {0, 10, 0}, .height = 15}, 14).ok()) << "beyond the capacity";
  EXPECT_FALSE(sound(kThree, {0, 10}, 15)) << "without an offset";
  EXPECT_FALSE(sound({{.lower = 0, .upper = 1, .size_bytes = 1, .alignment = 4}}, {2}, 8));
  EXPECT_FALSE(sound({{.lower = 0, .upper = 1, .size_bytes = 2}}, {UINT64_MAX}, 8)) << "the end overflows";
}

TEST(Verify, BuffersWithoutBytesNeverOverlap) {
  EXPECT_TRUE(sound({{.lower = 0, .upper = 4, .size_bytes = 4}, {.lower = 0, .upper = 4, .size_bytes = 0}}, {0, 2}, 4));
}

TEST(Verify, AgreesWithComparingAllPairs) {
  std::size_t refused = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    auto const buffers = testing::random_buffers(seed, {.count = 5});
    std::mt19937_64 random(seed + 1000000);
    Layout layout{.offsets = {}, .height = 40};
    for (std::size_t i = 0; i < buffers.size(); ++i) layout.offsets.push_back(random() % 24);
    bool clean = true;
    for (std::size_t i = 0; i < buffers.size(); ++i)
      for (std::size_t k = 0; k < i; ++k)
        clean &= !testing::meet(buffers[i], buffers[k], 0) ||
                 layout.offsets[i] >= layout.offsets[k] + buffers[k].size_bytes ||
                 layout.offsets[k] >= layout.offsets[i] + buffers[i].size_bytes;
    EXPECT_EQ(verify(buffers, layout, 40).ok(), clean) << "seed " << seed;
    refused += clean ? 0 : 1;
  }
  EXPECT_GT(refused, 100U);
  EXPECT_LT(refused, 1900U);
}

TEST(VerifyRepeating, SeesTheMeetingWithTheNextRound) {
  // Alone they do not meet; the second one lives on into the next round, where the first begins.
  std::vector<Buffer> const two{{.lower = 0, .upper = 2, .size_bytes = 4}, {.lower = 8, .upper = 11, .size_bytes = 4}};
  EXPECT_TRUE(verify(two, {.offsets = {0, 0}, .height = 4}, 4).ok());
  EXPECT_FALSE(verify_repeating(two, 10, {.offsets = {0, 0}, .height = 8}).ok());
  EXPECT_TRUE(verify_repeating(two, 10, {.offsets = {0, 4}, .height = 8}).ok());
  EXPECT_TRUE(verify_repeating(two, 11, {.offsets = {0, 0}, .height = 4}).ok()) << "half-open";
}

TEST(VerifyRepeating, RefusesALifetimeThatMeetsItsOwnSuccessor) {
  std::vector<Buffer> const one{{.lower = 3, .upper = 14, .size_bytes = 4}};
  EXPECT_FALSE(verify_repeating(one, 10, {.offsets = {0}, .height = 4}).ok());
  EXPECT_TRUE(verify_repeating(one, 11, {.offsets = {0}, .height = 4}).ok());
}

}  // namespace
}  // namespace tidemark::plan
