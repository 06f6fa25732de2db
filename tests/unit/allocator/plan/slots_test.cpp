// SPDX-License-Identifier: Apache-2.0
#include "allocator/core/plan/slots.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace tidemark::plan {
namespace {

TEST(PlanSlots, APlaceIsTakenOnceUntilItIsReleased) {
  PlanSlots slots;
  slots.allow(std::vector<Extent>{{0, 512}, {256, 512}});
  EXPECT_TRUE(slots.take({0, 512}));
  EXPECT_FALSE(slots.take({0, 512}));
  EXPECT_FALSE(slots.take({256, 512})) << "half of it is taken";
  EXPECT_TRUE(slots.release(0));
  EXPECT_TRUE(slots.take({256, 512}));
  EXPECT_EQ(slots.taken_bytes(), 512U);
}

TEST(PlanSlots, OnlyWhatBeginsThereIsReleased) {
  PlanSlots slots;
  slots.allow(std::vector<Extent>{{0, 512}, {256, 256}});
  EXPECT_TRUE(slots.take({0, 512}));
  EXPECT_FALSE(slots.release(256));
  EXPECT_FALSE(slots.release(100));
  EXPECT_TRUE(slots.release(0));
  EXPECT_FALSE(slots.release(0)) << "twice";
}

TEST(PlanSlots, PlacesThatNoPlanNamesAreRefused) {
  PlanSlots slots;
  EXPECT_FALSE(slots.take({0, 512}));
  slots.allow(std::vector<Extent>{{0, 512}});
  EXPECT_FALSE(slots.take({0, 511}));
  EXPECT_FALSE(slots.take({0, 0}));
  EXPECT_FALSE(slots.take({512, 512}));
  EXPECT_FALSE(slots.take({UINT64_MAX, 512}));
}

TEST(PlanSlots, BlocksStayTakenWhenPlansChange) {
  PlanSlots slots;
  slots.allow(std::vector<Extent>{{0, 1024}, {2048, 512}});
  EXPECT_TRUE(slots.take({0, 1024}));
  slots.allow(std::vector<Extent>{{512, 1024}, {1024, 512}});
  EXPECT_FALSE(slots.take({512, 1024})) << "overlaps a block of the former plan";
  EXPECT_TRUE(slots.take({1024, 512}));
  EXPECT_FALSE(slots.take({2048, 512})) << "no place of this plan";
  EXPECT_TRUE(slots.release(0));
  EXPECT_TRUE(slots.release(1024));
  EXPECT_TRUE(slots.take({512, 1024}));
}

TEST(PlanSlots, WhateverTheCallerDoesNoTwoBlocksOverlap) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    std::mt19937_64 random(seed);
    auto const place = [&] { return Extent{random() % 300, random() % 30}; };
    PlanSlots slots;
    std::map<std::uint64_t, std::uint64_t> taken;  // offset and end
    std::uint64_t successes = 0;
    for (int i = 0; i < 3000; ++i) {
      if (i % 500 == 0) {
        std::vector<Extent> places;
        for (int k = 0; k < 200; ++k) places.push_back(place());
        slots.allow(places);
      }
      if (random() % 3 == 0) {
        auto const some = taken.lower_bound(random() % 300);
        std::uint64_t const offset = some == taken.end() ? random() % 300 : some->first;
        EXPECT_EQ(slots.release(offset), taken.erase(offset) == 1);
      } else {
        Extent const e = place();
        bool clear = true;
        for (auto const& [from, to] : taken) clear &= to <= e.offset || e.end() <= from;
        if (!slots.take(e)) continue;
        EXPECT_TRUE(clear) << "seed " << seed << " step " << i;
        taken[e.offset] = e.end();
        ++successes;
      }
      EXPECT_EQ(slots.taken_blocks(), taken.size());
    }
    EXPECT_GT(successes, 100U);
  }
}

}  // namespace
}  // namespace tidemark::plan
