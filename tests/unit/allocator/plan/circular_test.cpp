// SPDX-License-Identifier: Apache-2.0
#include "allocator/core/plan/circular.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

namespace tidemark::plan {
namespace {

// Runs many iterations and looks at every byte range that is alive: no unrolled copy, no modulo, no planner's sweep.
::testing::AssertionResult endless(const Iteration& it, const CircularPlan& plan) {
  struct Event {
    std::uint64_t time;
    bool starts;
    std::uint64_t offset, end;
    auto operator<=>(const Event&) const = default;
  };
  std::vector<Event> events;
  for (std::uint64_t t = 0; t < 12; ++t)
    for (std::size_t i = 0; i < it.blocks.size(); ++i) {
      Block const& b = it.blocks[i];
      if (plan.roles[i] == Role::Persistent || b.size_bytes == 0) continue;
      std::uint64_t const offset = plan.offsets[t % plan.periods * it.blocks.size() + i];
      events.push_back({b.begin + t * it.period, true, offset, offset + b.size_bytes});
      events.push_back({b.end + t * it.period, false, offset, offset + b.size_bytes});
    }
  std::sort(events.begin(), events.end());
  std::map<std::uint64_t, std::uint64_t> alive;
  for (Event const& e : events) {
    if (!e.starts) {
      alive.erase(e.offset);
      continue;
    }
    for (auto const& [from, to] : alive)
      if (from < e.end && e.offset < to) return ::testing::AssertionFailure() << "overlap at clock " << e.time;
    if (e.end > plan.height) return ::testing::AssertionFailure() << "above the height";
    alive[e.offset] = e.end;
  }
  return ::testing::AssertionSuccess();
}

TEST(Circular, APlanOfOnePeriodIsEnoughWhereNothingOutlivesIt) {
  Iteration const it{.blocks = {{.begin = 0, .end = 5, .size_bytes = 1024},
                                {.begin = 4, .end = 10, .size_bytes = 512},
                                {.begin = 8, .end = 14, .size_bytes = 2048}},
                     .period = 10};
  auto const plan = plan_circular(it, {.budget_seconds = 60});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->periods, 1U);
  EXPECT_TRUE(endless(it, *plan));
  // Each meets the two others, though never all three at once: a ring needs more than is alive.
  EXPECT_EQ(plan->bound, 3072U);
  EXPECT_EQ(plan->height, 3584U);
  EXPECT_TRUE(plan->least);
}

TEST(Circular, ABlockThatMeetsItsSuccessorHasTwoPlaces) {
  Iteration const it{.blocks = {{.begin = 2, .end = 13, .size_bytes = 512}}, .period = 10};
  auto const plan = plan_circular(it, {});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->periods, 2U);
  EXPECT_EQ(plan->height, 1024U);
  EXPECT_TRUE(endless(it, *plan));
}

TEST(Circular, RolesFollowTheCut) {
  Iteration const it{.blocks = {{.begin = 0, .end = 9, .size_bytes = 4096},      // ends before the cut
                                {.begin = 1, .end = kNever, .size_bytes = 100},  // stays
                                {.begin = 5, .end = 12, .size_bytes = 512},      // crosses it
                                {.begin = 6, .end = 60, .size_bytes = 100}},     // for more periods than are laid out
                     .period = 10};
  auto const plan = plan_circular(it, {});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->cut, 9U);
  EXPECT_EQ(plan->roles, (std::vector<Role>{Role::Transient, Role::Persistent, Role::CarryOver, Role::Persistent}));
  EXPECT_EQ(plan->persistent_bytes, 1024U);
  EXPECT_EQ(plan->cut_block, 0U) << "the first allocation after the cut is the first of the next iteration";
}

TEST(Circular, RandomIterationsRepeatWithoutEnd) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    std::mt19937_64 random(seed);
    Iteration it{.blocks = {}, .period = 40};
    for (std::uint64_t clock = 0; clock < it.period; clock += 1 + random() % 3)
      it.blocks.push_back({.begin = clock,
                           .end = random() % 12 == 0 ? kNever : clock + 1 + random() % (random() % 5 == 0 ? 150 : 30),
                           .size_bytes = 1 + random() % 4000});
    auto const plan = plan_circular(it, {});
    ASSERT_TRUE(plan.ok());
    EXPECT_TRUE(endless(it, *plan)) << "seed " << seed;
    EXPECT_GE(plan->height, plan->bound);
    for (std::uint64_t const offset : plan->offsets) EXPECT_EQ(offset % 512, 0U);
  }
}

TEST(Circular, RefusesBlocksOutOfOrder) {
  EXPECT_FALSE(plan_circular({.blocks = {{.begin = 5, .end = 6}, {.begin = 4, .end = 6}}, .period = 10}, {}).ok());
  EXPECT_FALSE(plan_circular({.blocks = {{.begin = 10, .end = 16}}, .period = 10}, {}).ok());
  EXPECT_FALSE(plan_circular({.blocks = {{.begin = 5, .end = 5}}, .period = 10}, {}).ok());
  EXPECT_FALSE(plan_circular({.blocks = {}, .period = 0}, {}).ok());
}

}  // namespace
}  // namespace tidemark::plan
