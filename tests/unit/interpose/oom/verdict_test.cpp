// SPDX-License-Identifier: Apache-2.0
#include "interpose/oom/verdict.h"

#include <gtest/gtest.h>

#include "base/bytes.h"
#include "interpose/oom/page.h"

namespace tidemark::interpose {
namespace {

using namespace literals;

constexpr std::uint64_t gib(double n) {
  return static_cast<std::uint64_t>(n * (1u << 30));
}
constexpr std::uint64_t mib(double n) {
  return static_cast<std::uint64_t>(n * (1u << 20));
}

// "CUDA out of memory. Tried to allocate 44.00 MiB (GPU 0; 10.76 GiB total capacity; 9.46 GiB already allocated;
// 30.94 MiB free; 9.87 GiB reserved in total by PyTorch)"
TEST(Verdict, FoundingArticlesErrorIsFragmentation) {
  Shortage const s{.wanted_bytes = (44_MiB).n,
                   .total_bytes = gib(10.76),
                   .free_bytes = mib(30.94),
                   .live_bytes = gib(9.46),
                   .reserved_bytes = gib(9.87),
                   .cached_bytes = gib(0.41)};
  EXPECT_EQ(judge(s), Verdict::Fragmentation);
  EXPECT_LT(rounding_bytes(s), mib(1));
}

TEST(Verdict, WhatGranulesRoundUpIsOfUseToNobody) {
  Shortage const s{.wanted_bytes = gib(1.68),
                   .total_bytes = gib(14.75),
                   .free_bytes = gib(1.64),
                   .live_bytes = gib(12.74),
                   .reserved_bytes = gib(12.81)};
  EXPECT_EQ(judge(s), Verdict::Shortage);
  EXPECT_NEAR(static_cast<double>(short_bytes(s)), gib(0.04), mib(1));
  EXPECT_NEAR(static_cast<double>(rounding_bytes(s)), gib(0.07), mib(1));
}

TEST(Verdict, BytesThatAreNotThereAreAShortage) {
  EXPECT_EQ(judge({.wanted_bytes = (2_GiB).n,
                   .total_bytes = (8_GiB).n,
                   .free_bytes = (1_GiB).n,
                   .live_bytes = (6_GiB).n,
                   .reserved_bytes = (6_GiB).n}),
            Verdict::Shortage);
}

TEST(Verdict, MoreThanTheCardIsTooLargeWhateverElseIsTrue) {
  EXPECT_EQ(judge({.wanted_bytes = (9_GiB).n, .total_bytes = (8_GiB).n, .free_bytes = (8_GiB).n}), Verdict::TooLarge);
}

TEST(Verdict, OtherProcessesAreBlamedOnlyWhereTheyHoldTheMost) {
  Shortage s{.wanted_bytes = (2_GiB).n,
             .total_bytes = (8_GiB).n,
             .free_bytes = (1_GiB).n,
             .live_bytes = (2_GiB).n,
             .reserved_bytes = (2_GiB).n,
             .others_bytes = (5_GiB).n};
  EXPECT_EQ(judge(s), Verdict::Others);
  s.live_bytes = s.reserved_bytes = (6_GiB).n;
  s.others_bytes = (1_GiB).n;
  EXPECT_EQ(judge(s), Verdict::Shortage);
}

TEST(Verdict, FreeBytesThatWouldDoAreFragmentationToo) {
  EXPECT_EQ(judge({.wanted_bytes = (1_GiB).n, .total_bytes = (8_GiB).n, .free_bytes = (2_GiB).n}),
            Verdict::Fragmentation);
}

TEST(Verdict, WhereFarMoreIsFreeTheDriverRefused) {
  Shortage s{.wanted_bytes = (1_MiB).n, .total_bytes = (8_GiB).n, .free_bytes = (4_GiB).n};
  EXPECT_EQ(judge(s), Verdict::Refused);
  s.free_bytes = (40_MiB).n;
  EXPECT_EQ(judge(s), Verdict::Fragmentation);
}

TEST(Verdict, AnUnknownCapacityIsNotTooSmall) {
  EXPECT_EQ(judge({.wanted_bytes = (1_GiB).n}), Verdict::Shortage);
}

TEST(Page, LinesThatDoNotFitAreLeftOutWhole) {
  Page page;
  std::string const line(90, 'x');
  for (int i = 0; i < 100; ++i) page.line("%d %s", i, line.c_str());
  std::string_view const text = page.text();
  EXPECT_LT(text.size(), 4000u);
  EXPECT_EQ(text.back(), '\n');
  EXPECT_EQ(text.substr(text.rfind('\n', text.size() - 2) + 4), line + "\n");
}

}  // namespace
}  // namespace tidemark::interpose
