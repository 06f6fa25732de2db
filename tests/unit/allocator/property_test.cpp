// SPDX-License-Identifier: Apache-2.0
// Random programs against a reference that knows only what is live: no two blocks overlap, every byte of them can be
// touched, and when all is free, all can be given back. TIDEMARK_TEST_OPERATIONS says how long (default: a million in
// all shapes together).
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <random>

#include "allocator/core/allocator.h"
#include "tests/support/fake_upstream.h"

namespace tidemark::allocator {
namespace {

using tests::Call;

std::uint64_t operations() {
  const char* const given = std::getenv("TIDEMARK_TEST_OPERATIONS");
  return given == nullptr ? 150'000 : std::strtoull(given, nullptr, 10);
}

struct Shape {
  const char* name;
  tests::FakeOptions fake;
  Options options;
  unsigned live;        // about so many blocks
  unsigned most_log2;   // of a block's bytes
  bool faults = false;  // the driver refuses now and then
};

class Reference {
 public:
  // False: it overlaps a live block.
  bool add(std::uint64_t address, std::uint64_t bytes) {
    auto const next = live_.lower_bound(address);
    if (next != live_.end() && next->first < address + bytes) return false;
    if (next != live_.begin() && std::prev(next)->first + std::prev(next)->second > address) return false;
    live_[address] = bytes;
    rounded_ += round_up(bytes, kGranuleBytes);
    return true;
  }
  std::uint64_t remove_any(std::mt19937& random) {
    auto it = live_.lower_bound(last_ + random());
    if (it == live_.end()) it = live_.begin();
    last_ = it->first;
    std::uint64_t const address = it->first;
    rounded_ -= round_up(it->second, kGranuleBytes);
    live_.erase(it);
    return address;
  }
  std::size_t count() const { return live_.size(); }
  std::uint64_t rounded() const { return rounded_; }

 private:
  std::map<std::uint64_t, std::uint64_t> live_;
  std::uint64_t rounded_ = 0;
  std::uint64_t last_ = 0;
};

struct Property : testing::TestWithParam<Shape> {};

TEST_P(Property, NothingOverlapsNothingIsLostAndTheInvariantsHold) {
  const Shape& shape = GetParam();
  tests::FakeUpstream driver(shape.fake);
  Options options = shape.options;
  options.capacity_bytes = shape.fake.capacity_bytes;
  auto const allocator = Allocator::make(driver, options);
  ASSERT_NE(allocator, nullptr);
  Reference reference;
  std::mt19937 random(42);
  std::vector<std::uint64_t> sizes(24);  // half of the requests repeat a size
  for (std::uint64_t& size : sizes) size = 1 + random() % (1u << (9 + random() % (shape.most_log2 - 9)));
  std::uint64_t refused = 0;
  for (std::uint64_t i = 0; i < operations(); ++i) {
    if (shape.faults && random() % 50 == 0)
      driver.fail(static_cast<Call>(1 + random() % 6), random() % 3,
                  random() % 2 == 0 ? Status::OutOfMemory : Status::Failed);
    if (reference.count() < shape.live / 2 + random() % shape.live) {
      std::uint64_t const bytes = random() % 2 == 0 ? sizes[random() % sizes.size()]
                                                    : 1 + random() % (1u << (9 + random() % (shape.most_log2 - 9)));
      std::uint64_t address = 0;
      auto const lifetime = random() % 8 == 0 ? Lifetime::Long : Lifetime::Unknown;
      if (allocator->allocate({.bytes = bytes, .lifetime = lifetime}, &address) != Status::Ok) {
        ++refused;
        if (reference.count() != 0) {
          ASSERT_EQ(allocator->free(reference.remove_any(random)), Freed::Yes);
        }
        continue;
      }
      ASSERT_EQ(address % kGranuleBytes, 0u);
      ASSERT_TRUE(reference.add(address, bytes)) << "overlap";
      ASSERT_TRUE(driver.accessible(address, bytes));
    } else {
      ASSERT_EQ(allocator->free(reference.remove_any(random)), Freed::Yes);
    }
    if (random() % 1000 == 0) allocator->give_back(random() % (8 << 20));
    ASSERT_EQ(allocator->statistics().live_bytes, reference.rounded());
    ASSERT_EQ(allocator->check(), "") << "after operation " << i;
  }
  EXPECT_TRUE(shape.options.limit_bytes != 0 || shape.faults || refused == 0);
  while (reference.count() != 0) allocator->free(reference.remove_any(random));
  allocator->give_back(~0ull >> 1);
  std::uint64_t const lost = allocator->statistics().reserved_bytes;
  EXPECT_TRUE(shape.faults || lost == 0);
  EXPECT_EQ(driver.used_bytes(), lost);
  EXPECT_TRUE(driver.violations().empty()) << driver.violations().front();
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, Property,
    testing::Values(Shape{.name = "mapped", .fake = {.capacity_bytes = 4ull << 30}, .live = 64, .most_log2 = 24},
                    Shape{.name = "small", .fake = {.capacity_bytes = 1ull << 30}, .live = 200, .most_log2 = 20},
                    Shape{.name = "tight",
                          .fake = {.capacity_bytes = 1ull << 30},
                          .options = {.limit_bytes = 96 << 20},
                          .live = 40,
                          .most_log2 = 24},
                    Shape{.name = "large_pieces",
                          .fake = {.capacity_bytes = 4ull << 30},
                          .options = {.larger_pieces_from_bytes = {16 << 20, 64 << 20}},
                          .live = 64,
                          .most_log2 = 26},
                    Shape{.name = "no_stitching",
                          .fake = {.capacity_bytes = 4ull << 30},
                          .options = {.stitch = false},
                          .live = 64,
                          .most_log2 = 24},
                    Shape{.name = "segments",
                          .fake = {.capacity_bytes = 4ull << 30, .can_map = false},
                          .live = 64,
                          .most_log2 = 24},
                    Shape{.name = "faults",
                          .fake = {.capacity_bytes = 1ull << 30},
                          .options = {.limit_bytes = 128 << 20},
                          .live = 40,
                          .most_log2 = 24,
                          .faults = true}),
    [](const auto& shape) { return shape.param.name; });

}  // namespace
}  // namespace tidemark::allocator
