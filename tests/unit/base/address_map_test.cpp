// SPDX-License-Identifier: Apache-2.0
#include "base/address_map.h"

#include <gtest/gtest.h>

#include <random>
#include <unordered_map>
#include <vector>

namespace tidemark {
namespace {

TEST(AddressMap, AnEmptyMapHasNothing) {
  AddressMap<int> map;
  EXPECT_EQ(map.find(16), nullptr);
  EXPECT_FALSE(map.erase(16));
}

TEST(AddressMap, InsertingTwiceKeepsTheValue) {
  AddressMap<int> map;
  *map.insert(512) = 7;
  EXPECT_EQ(*map.insert(512), 7);
  EXPECT_EQ(map.size(), 1u);
}

// Addresses come in rows of a page or a granule: the worst that real programs do to a hash.
TEST(AddressMap, AgreesWithAReferenceOverRandomSequences) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    std::mt19937_64 random(seed);
    AddressMap<std::uint64_t> map;
    std::unordered_map<std::uint64_t, std::uint64_t> reference;
    std::uint64_t const step = std::uint64_t{1} << (9 + seed);
    for (int i = 0; i < 50'000; ++i) {
      std::uint64_t const address = (1 + random() % 5000) * step;
      switch (random() % 3) {
        case 0: *map.insert(address) = reference[address] = random(); break;
        case 1: ASSERT_EQ(map.erase(address), reference.erase(address) != 0); break;
        default: {
          auto const* const found = map.find(address);
          auto const expected = reference.find(address);
          ASSERT_EQ(found != nullptr, expected != reference.end());
          if (found != nullptr) {
            ASSERT_EQ(*found, expected->second);
          }
        }
      }
      ASSERT_EQ(map.size(), reference.size());
    }
    std::size_t seen = 0;
    map.for_each([&](std::uint64_t address, std::uint64_t value) {
      ++seen;
      EXPECT_EQ(reference.at(address), value);
    });
    EXPECT_EQ(seen, reference.size());
  }
}

}  // namespace
}  // namespace tidemark
