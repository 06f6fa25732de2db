// SPDX-License-Identifier: Apache-2.0
#include "allocator/core/size_index.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <tuple>

namespace tidemark::allocator {
namespace {

struct Holes : testing::Test {
  Record& make(Granules offset, Granules granules) {
    Record& r = *records.make();
    r.offset = offset;
    r.granules = granules;
    index.insert(r);
    return r;
  }
  RecordTable records;
  SizeIndex index{records};
};

TEST_F(Holes, AnEmptyIndexHasNoBest) {
  EXPECT_EQ(index.best(1), nullptr);
  EXPECT_EQ(index.largest(), nullptr);
}

TEST_F(Holes, TheSmallestThatFitsIsTakenAndAmongEqualsTheLowest) {
  make(9000, 130);
  Record& high = make(5000, 128);
  Record& low = make(1000, 128);
  EXPECT_EQ(index.best(127), &low);
  index.erase(low);
  EXPECT_EQ(index.best(127), &high);
  EXPECT_EQ(index.best(129)->granules, 130u);
  EXPECT_EQ(index.best(131), nullptr);
}

TEST_F(Holes, AHoleOfTheSameClassThatIsTooSmallIsPassedOver) {
  make(0, 4096);  // one class reaches from 4096 to 4223
  Record& fits = make(10000, 4200);
  EXPECT_EQ(index.best(4100), &fits);
}

TEST_F(Holes, ThousandsOfHolesAgreeWithASortedSet) {
  std::mt19937 random(7);
  std::set<std::tuple<Granules, Granules, Record*>> reference;
  for (int i = 0; i < 20'000; ++i) {
    if (random() % 3 != 0 || reference.empty()) {
      Granules const granules = 1 + (random() % (1u << (random() % 24)));
      Record& r = make(static_cast<Granules>(i) * 64, granules);
      reference.emplace(granules, r.offset, &r);
    } else {
      auto const any = reference.lower_bound({static_cast<Granules>(random() % (1u << (random() % 24))), 0, nullptr});
      if (any == reference.end()) continue;
      index.erase(*std::get<2>(*any));
      records.drop(*std::get<2>(*any));
      reference.erase(any);
    }
    Granules const wanted = 1 + random() % (1u << (random() % 24));
    auto const expected = reference.lower_bound({wanted, 0, nullptr});
    ASSERT_EQ(index.best(wanted), expected == reference.end() ? nullptr : std::get<2>(*expected));
    ASSERT_EQ(index.count(), reference.size());
    if (!reference.empty()) {
      ASSERT_EQ(index.largest(), std::get<2>(*reference.rbegin()));
    }
  }
}

}  // namespace
}  // namespace tidemark::allocator
