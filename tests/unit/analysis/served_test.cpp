// SPDX-License-Identifier: Apache-2.0
#include "analysis/served.h"

#include "tests/unit/analysis/fixture.h"

namespace tidemark::analysis {
namespace {

TEST(Served, AnObservedProgramHasNoCache) {
  TraceMaker t;
  t.alloc(1, 10, {.address = 0x1000, .size_bytes = 512});
  EXPECT_FALSE(summary_of(t).cache.has_value());
}

TEST(Served, CachesOfSeveralContextsAreAddedUp) {
  TraceMaker t;
  t.cache_use(1, 10, {.cache = 0, .live_bytes = 4096, .requested_bytes = 4000, .reserved_bytes = 8192},
              {.cache = 0, .waits_avoided = 3});
  t.cache_use(1, 20, {.cache = 1, .live_bytes = 1024, .requested_bytes = 1000, .reserved_bytes = 2048},
              {.cache = 1, .waits_avoided = 4});
  t.cache_use(1, 30, {.cache = 0, .live_bytes = 0, .requested_bytes = 0, .reserved_bytes = 8192},
              {.cache = 0, .waits_avoided = 5});
  auto const s = summary_of(t);
  ASSERT_TRUE(s.cache.has_value());
  EXPECT_EQ(s.cache->at_peak.live_bytes, 5120u);
  EXPECT_EQ(s.cache->at_peak.rounding_bytes(), 120u);
  EXPECT_EQ(s.cache->at_end.live_bytes, 1024u);
  EXPECT_EQ(s.cache->at_end.cached_bytes(), 9216u);
  EXPECT_EQ(s.cache->peak_cached_bytes, 9216u);
  EXPECT_EQ(s.cache->waits_avoided, 9u) << "the last word of each";
}

// Two looks at who is in the way; the block at the address has another owner at the second.
TraceMaker looked_twice() {
  TraceMaker t;
  std::uint32_t const first = t.path("first"), second = t.path("second");
  t.scope(1, 10, first);
  t.alloc(1, 20, {.address = 0x10000, .size_bytes = 512, .generation = 1});
  t.cache_use(1, 30, {.live_bytes = 512, .reserved_bytes = 4096, .largest_hole_bytes = 1024}, {});
  t.pin(1, 40, {.address = 0x10000, .before_bytes = 1024});
  t.free(1, 50, {.address = 0x10000, .generation = 1});
  t.scope(1, 60, second);
  t.alloc(1, 70, {.address = 0x10000, .size_bytes = 1024, .generation = 2});
  t.cache_use(1, 80, {.live_bytes = 1024, .reserved_bytes = 4096, .largest_hole_bytes = 2048}, {});
  t.pin(1, 90, {.address = 0x10000, .before_bytes = 2048, .after_bytes = 512, .given_back_bytes = 2048});
  return t;
}

TEST(Served, CulpritsAreOfTheLastLook) {
  auto const s = summary_of(looked_twice());
  ASSERT_EQ(s.cache->culprits.size(), 1u);
  EXPECT_EQ(s.cache->culprits[0].layer, "second");
  EXPECT_EQ(s.cache->culprits[0].live_bytes, 1024u);
  EXPECT_EQ(s.cache->culprits[0].after_bytes, 512u);
  EXPECT_EQ(s.cache->largest_hole_bytes, 2048u);
  EXPECT_EQ(s.cache->culprits_time_ns, 80u);
}

TEST(Served, WhereAnAllocationFailedCulpritsAreOfTheLookBeforeIt) {
  TraceMaker t = looked_twice();
  t.failure(2, 45, {.size_bytes = 4096});
  auto const s = summary_of(t);
  ASSERT_EQ(s.cache->culprits.size(), 1u);
  EXPECT_EQ(s.cache->culprits[0].layer, "first");
}

TEST(Served, APinWithoutASampleSaysNothing) {
  TraceMaker t;
  t.pin(1, 40, {.cache = 3, .address = 0x10000, .before_bytes = 1024});
  t.cache_use(1, 50, {.live_bytes = ~0ull, .requested_bytes = ~0ull, .reserved_bytes = ~0ull}, {});
  auto const s = summary_of(t);
  EXPECT_TRUE(s.cache->culprits.empty());
  EXPECT_LE(s.cache->at_end.live_bytes, s.cache->at_end.reserved_bytes) << "whatever a damaged trace says";
}

TEST(Served, AnEarlyFreeHasTwoScopes) {
  TraceMaker t;
  std::uint32_t const freed = t.path("freed"), used = t.path("used");
  t.step(1, 5, 7);
  t.scope(1, 10, freed);
  t.late_free(1, 20, {.by = trace::LateFree::Copy, .address = 0x10000, .size_bytes = 100, .used_path = used});
  auto const s = summary_of(t);
  ASSERT_EQ(s.late_frees.size(), 1u);
  EXPECT_EQ(s.late_frees[0].freed_layer, "freed");
  EXPECT_EQ(s.late_frees[0].used_layer, "used");
  EXPECT_EQ(s.late_frees[0].used_by, "copy");
  EXPECT_EQ(s.late_frees[0].step, 7u);
}

}  // namespace
}  // namespace tidemark::analysis
