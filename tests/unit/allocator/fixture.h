// SPDX-License-Identifier: Apache-2.0
// An arena over a fake driver. At the end of each test the arena's invariants hold and no rule of the driver was
// broken.
#pragma once
#include <gtest/gtest.h>

#include "allocator/core/arena.h"
#include "tests/support/fake_upstream.h"

namespace tidemark::allocator {

using namespace literals;

struct ArenaTest : testing::Test {
  explicit ArenaTest(const tests::FakeOptions& fake = {.capacity_bytes = 1ull << 30},
                     const ArenaOptions& options = {.capacity_bytes = 1ull << 30})
      : driver(fake), arena(driver, options) {
    EXPECT_EQ(arena.start(), Status::Ok);
  }
  ~ArenaTest() override {
    EXPECT_EQ(arena.check(), "");
    EXPECT_TRUE(driver.violations().empty()) << driver.violations().front();
  }
  Record* grow(Bytes size, GrowthLimit limit = {}, Lifetime lifetime = Lifetime::Unknown) {
    Record* block = nullptr;
    EXPECT_EQ(arena.grow({.granules = to_granules(size.n), .lifetime = lifetime}, limit, &block), Status::Ok);
    return block;
  }
  Record* take(Bytes size) { return arena.take({.granules = to_granules(size.n)}); }
  Record* get(Bytes size) {
    Record* const block = take(size);
    return block != nullptr ? block : grow(size);
  }
  void free(Record* block, std::uint64_t stamp = 0) { arena.release(*block, DomainId::Shared, stamp); }
  std::uint64_t reserved() const { return arena.use().reserved_bytes; }
  static std::uint64_t address(const Record* block) { return block->address.load(); }

  tests::FakeUpstream driver;
  Arena arena;
};

}  // namespace tidemark::allocator
