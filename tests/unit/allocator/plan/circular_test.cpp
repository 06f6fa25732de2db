// SPDX-License-Identifier: Apache-2.0
#include "allocator/core/plan/circular.h"

#include <gtest/gtest.h>

#include <algorithm>
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
    bool const beside = std::any_of(plan.strips.begin(), plan.strips.end(), [&](const Strip& s) {
      return s.offset <= e.offset && e.end <= s.offset + s.size_bytes && e.end - e.offset >= s.least_bytes;
    });
    if (e.end > plan.height && !beside) return ::testing::AssertionFailure() << "above the height";
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

// --- strips: memory beside the arena ---

Iteration random_iteration(std::uint64_t seed, std::size_t blocks) {
  std::mt19937_64 random(seed);
  Iteration it{.period = 4 * blocks};
  for (std::size_t i = 0; i < blocks; ++i)
    it.blocks.push_back({.begin = 4 * i,
                         .end = 4 * i + 1 + random() % (random() % 4 == 0 ? 5 * blocks : 20),
                         .size_bytes = 512 * (1 + random() % 100)});
  return it;
}

TEST(Strips, ABlockThatIsAliveAtThePeakLiesBesideAndLowersIt) {
  Iteration const it{.blocks = {{.begin = 0, .end = 9, .size_bytes = 1024},
                                {.begin = 1, .end = 8, .size_bytes = 2048},
                                {.begin = 2, .end = 3, .size_bytes = 4096}},
                     .period = 10};
  std::vector<Strip> const strips{{.offset = kBeside + 512, .size_bytes = 2560}};
  auto const plan = plan_circular(it, {}, strips);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->bound, 5120U);
  EXPECT_EQ(plan->height, 5120U);
  EXPECT_EQ(plan->offsets[1], kBeside + 512);
  EXPECT_EQ(plan->strips, strips);
  EXPECT_TRUE(endless(it, *plan));
}

TEST(Strips, BlocksThatAreTooSmallForOneStayInTheArena) {
  Iteration const it{.blocks = {{.begin = 0, .end = 9, .size_bytes = 1024}}, .period = 10};
  auto const plan = plan_circular(it, {}, std::vector<Strip>{{kBeside, 4096, 1536}});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->height, 1024U);
  EXPECT_TRUE(plan->strips.empty());
}

TEST(Strips, NoByteIsSharedWhateverThereIs) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    std::mt19937_64 random(seed);
    Iteration const it = random_iteration(seed, 40 + random() % 60);
    std::vector<Strip> strips;
    std::uint64_t at = kBeside, all = 0;
    for (std::uint64_t i = random() % 12; i > 0; --i) {
      at += 512 * (random() % 10);
      strips.push_back({at, 512 * (1 + random() % 150), random() % 4 == 0 ? 512 * (random() % 40) : 0});
      at += strips.back().size_bytes;
      all += strips.back().size_bytes;
    }
    auto const without = plan_circular(it, {});
    auto const with = plan_circular(it, {}, strips);
    ASSERT_TRUE(without.ok() && with.ok()) << "seed " << seed;
    EXPECT_TRUE(endless(it, *with)) << "seed " << seed;
    EXPECT_LE(with->bound, without->bound) << "seed " << seed;
    EXPECT_GE(with->bound + all, without->bound) << "seed " << seed;
  }
}

TEST(Strips, MostOfTheirBytesCountWhereBlocksAreMany) {
  Iteration const it = random_iteration(3, 400);
  auto const without = plan_circular(it, {});
  std::vector<Strip> const strips{
      {kBeside, 300 * 512}, {kBeside + (1 << 20), 200 * 512}, {kBeside + (2 << 20), 90 * 512}};
  auto const with = plan_circular(it, {}, strips);
  ASSERT_TRUE(without.ok() && with.ok());
  EXPECT_LE(with->bound + 590 * 512 * 9 / 10, without->bound);
}

}  // namespace
}  // namespace tidemark::plan
