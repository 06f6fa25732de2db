// SPDX-License-Identifier: Apache-2.0
#include "allocator/core/plan/planner.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "allocator/core/plan/gaps.h"
#include "allocator/core/plan/orders.h"
#include "allocator/core/plan/search.h"
#include "allocator/core/plan/skyline.h"
#include "allocator/core/plan/verify.h"
#include "tests/unit/allocator/plan/instances.h"

namespace tidemark::plan {
namespace {

using testing::least_height;
using testing::random_buffers;

// The label slow has more of them.
std::uint64_t seeds(std::uint64_t usual) {
  const char* const more = std::getenv("TIDEMARK_PLAN_SEEDS_TIMES");
  return more == nullptr ? usual : usual * std::strtoull(more, nullptr, 10);
}

constexpr double kAmple = 60;  // small instances are proved long before

std::uint64_t height_of(const std::vector<Buffer>& buffers, const Options& options = {.budget_seconds = kAmple}) {
  auto const plan = plan_layout(buffers, options);
  EXPECT_TRUE(plan.ok());
  if (!plan.ok()) return 0;
  auto const seen = verify(buffers, plan->layout, plan->layout.height);
  EXPECT_TRUE(seen.ok()) << seen.error().what;
  return plan->layout.height;
}

TEST(Planner, NothingNeedsNoMemory) {
  EXPECT_EQ(height_of({}), 0U);
  EXPECT_EQ(height_of({{.lower = 0, .upper = 9, .size_bytes = 0}}), 0U);
}

TEST(Planner, BuffersThatNeverMeetShareTheirPlace) {
  EXPECT_EQ(height_of({{.lower = 0, .upper = 3, .size_bytes = 7}, {.lower = 3, .upper = 9, .size_bytes = 5}}), 7U);
}

TEST(Planner, IsAsLowAsTryingEverythingFinds) {
  for (std::uint64_t seed = 0; seed < seeds(100); ++seed) {
    auto const buffers = random_buffers(seed, {.count = 7, .times = 9, .longest = 6, .largest = 7});
    auto const plan = plan_layout(buffers, {.budget_seconds = kAmple});
    ASSERT_TRUE(plan.ok());
    EXPECT_EQ(plan->layout.height, least_height(buffers)) << "seed " << seed;
    EXPECT_TRUE(plan->least) << "seed " << seed;
  }
}

TEST(Planner, OnARingIsAsLowAsTryingEverythingFinds) {
  for (std::uint64_t seed = 0; seed < seeds(100); ++seed) {
    std::uint64_t const period = 9;
    auto const buffers = random_buffers(seed, {.count = 6, .times = 20, .longest = period, .largest = 7});
    auto const plan = plan_ring(buffers, period, {.budget_seconds = kAmple});
    ASSERT_TRUE(plan.ok());
    EXPECT_TRUE(verify_repeating(buffers, period, plan->layout).ok()) << "seed " << seed;
    EXPECT_EQ(plan->layout.height, least_height(buffers, period)) << "seed " << seed;
    EXPECT_TRUE(plan->least) << "seed " << seed;
  }
}

TEST(Planner, KeepsAlignmentsOfTheirOwn) {
  for (std::uint64_t seed = 0; seed < seeds(100); ++seed) {
    auto const buffers = random_buffers(seed, {.count = 6, .largest = 20, .alignments = 4});
    EXPECT_GE(height_of(buffers, {}), least_height(buffers)) << "seed " << seed;
  }
}

TEST(Planner, ACapacityThatIsReachableIsKept) {
  for (std::uint64_t seed = 0; seed < seeds(50); ++seed) {
    auto const buffers = random_buffers(seed, {.count = 7, .times = 9, .longest = 6, .largest = 7});
    std::uint64_t const least = least_height(buffers);
    EXPECT_LE(height_of(buffers, {.capacity = least, .budget_seconds = kAmple}), least) << "seed " << seed;
  }
}

TEST(Planner, ACapacityThatIsNotReachableIsProvedSo) {
  std::size_t beyond_the_bound = 0;
  for (std::uint64_t seed = 0; seed < seeds(100); ++seed) {
    std::uint64_t const period = 9;  // a ring often needs more than is alive at once
    auto const buffers = random_buffers(seed, {.count = 6, .times = 20, .longest = period, .largest = 7});
    std::uint64_t const least = least_height(buffers, period);
    auto const plan = plan_ring(buffers, period, {.capacity = least - 1, .budget_seconds = kAmple});
    ASSERT_FALSE(plan.ok());
    EXPECT_EQ(plan.error().code, Errc::LimitExceeded) << plan.error().what;
    beyond_the_bound += plan.error().what.find("ruled out") != std::string::npos ? 1 : 0;
  }
  EXPECT_GE(beyond_the_bound, 5U) << "the instances are too easy to test the proof";
}

TEST(Planner, RefusesBuffersThatMakeNoSense) {
  auto const refused = [](const Buffer& b) { return !plan_layout({{b}}, {}).ok(); };
  EXPECT_TRUE(refused({.lower = 3, .upper = 3, .size_bytes = 1}));
  EXPECT_TRUE(refused({.lower = 4, .upper = 3, .size_bytes = 1}));
  EXPECT_TRUE(refused({.lower = 0, .upper = 3, .size_bytes = 1, .alignment = 3}));
  EXPECT_TRUE(refused({.lower = 0, .upper = 3, .size_bytes = 1, .alignment = 0}));
  EXPECT_TRUE(refused({.lower = 0, .upper = 3, .size_bytes = UINT64_MAX}));
  EXPECT_TRUE(refused({.lower = 0, .upper = UINT64_MAX, .size_bytes = 1}));
  std::vector<Buffer> const sum(5, {.lower = 0, .upper = 1, .size_bytes = kLargest / 4});
  EXPECT_FALSE(plan_layout(sum, {}).ok());
  std::vector<Buffer> const longer{{.lower = 0, .upper = 11, .size_bytes = 1}};
  EXPECT_FALSE(plan_ring(longer, 10, {}).ok());
  EXPECT_FALSE(plan_ring(longer, 0, {}).ok());
}

TEST(Planner, ACancelledSearchReturnsTheBestSoFar) {
  auto const buffers = random_buffers(7, {.count = 400, .times = 300, .longest = 80, .largest = 1000});
  std::atomic<bool> cancel{true};
  auto const at_once = plan_layout(buffers, {.budget_seconds = 1e6, .cancel = &cancel});
  ASSERT_TRUE(at_once.ok());
  EXPECT_TRUE(verify(buffers, at_once->layout, at_once->layout.height).ok());

  cancel = false;
  std::thread other([&] { cancel = true; });
  auto const later = plan_layout(buffers, {.budget_seconds = 1e6, .cancel = &cancel});
  other.join();
  ASSERT_TRUE(later.ok());
  EXPECT_TRUE(verify(buffers, later->layout, later->layout.height).ok());
}

TEST(Planner, WhatIsFoundDependsOnTheWorkAndNotOnTheTime) {
  auto const buffers = random_buffers(5, {.count = 900, .times = 700, .longest = 120, .largest = 5000});
  std::uint64_t last = UINT64_MAX;
  for (std::uint64_t const looks : {std::uint64_t{0}, std::uint64_t{20'000'000}, std::uint64_t{60'000'000}}) {
    auto const one = plan_layout(buffers, {.budget_looks = looks});
    auto const other = plan_layout(buffers, {.budget_looks = looks});
    ASSERT_TRUE(one.ok() && other.ok());
    EXPECT_EQ(one->layout.offsets, other->layout.offsets) << looks;
    EXPECT_LE(one->layout.height, last) << looks;
    last = one->layout.height;
  }
}

TEST(Planner, AHeightWithinTheGrainOfTheBoundIsEnough) {
  auto const buffers = random_buffers(8, {.count = 300, .times = 200, .longest = 60, .largest = 5000});
  auto const least = plan_layout(buffers, {});
  ASSERT_TRUE(least.ok());
  std::uint64_t const grain = least->bound;
  auto const plan = plan_layout(buffers, {.budget_seconds = 1e6, .grain_bytes = 2 * grain});
  ASSERT_TRUE(plan.ok());
  EXPECT_LE(plan->layout.height, 2 * grain);
  auto const given = plan_layout(buffers, {.budget_seconds = 1e6, .grain_bytes = grain, .given_bytes = grain / 2});
  ASSERT_TRUE(given.ok());
  EXPECT_LE(given->layout.height, grain / 2 + grain);
}

TEST(Planner, LargerRandomInstancesStayNearTheirBound) {
  for (std::uint64_t seed = 0; seed < seeds(10); ++seed) {
    auto const buffers = random_buffers(seed, {.count = 1500, .times = 1000, .longest = 100, .largest = 5000});
    auto const plan = plan_layout(buffers, {});
    ASSERT_TRUE(plan.ok());
    EXPECT_LT(static_cast<double>(plan->layout.height), 1.15 * static_cast<double>(plan->bound)) << "seed " << seed;
  }
}

TEST(Planner, ATrainingStepIsPackedWithoutLoss) {
  auto const plan = plan_layout(testing::training(200, 3), {.budget_seconds = kAmple});
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->layout.height, plan->bound);
}

// Each way to place, on line and ring, against the verifier: the planner keeps only the best of them.
TEST(Placement, EveryOrderOfEveryWayIsSound) {
  for (std::uint64_t seed = 0; seed < seeds(60); ++seed) {
    std::uint64_t const period = seed % 2 == 0 ? 0 : 50;
    auto const buffers = random_buffers(seed, {.count = 80, .times = 90, .longest = 50, .largest = 40});
    Problem const problem = make_problem(buffers, {.period = period});
    Effort effort;
    Skyline skyline(problem, effort);
    Gaps gaps(problem, effort);
    std::vector<std::int64_t> offsets;
    auto const sound = [&](std::int64_t height) {
      Layout const layout = layout_of(problem, buffers, offsets);
      EXPECT_EQ(layout.height, static_cast<std::uint64_t>(height) * problem.unit_bytes);
      return (period == 0 ? verify(buffers, layout, layout.height) : verify_repeating(buffers, period, layout)).ok();
    };
    for (Order const& order : orders()) {
      auto const rank = ranks(weights(problem, order));
      EXPECT_TRUE(sound(skyline.place(rank, INT64_MAX, offsets))) << "seed " << seed;
      for (Fit const fit : {Fit::Lowest, Fit::Tightest})
        EXPECT_TRUE(sound(gaps.place(rank, {.fit = fit}, offsets))) << "seed " << seed;
    }
  }
}

TEST(Search, GoesOnWhereItWasStopped) {
  auto const buffers = random_buffers(11, {.count = 60, .times = 40, .longest = 20, .largest = 50});
  Problem const problem = make_problem(buffers, {});
  Effort effort;
  Search whole(problem, 1, effort), parts(problem, 1, effort);
  std::vector<std::int64_t> one, other;
  std::int64_t const capacity = problem.bound + problem.bound / 100;
  Outcome const outcome = whole.fit({.capacity = capacity, .states = 400'000}, one);
  Outcome again = Outcome::Stopped;
  while (again == Outcome::Stopped && parts.states() < 400'000)
    again = parts.fit({.capacity = capacity, .states = 1000}, other);
  EXPECT_EQ(outcome, again);
  EXPECT_EQ(whole.states(), parts.states());
  EXPECT_EQ(one, other);
}

}  // namespace
}  // namespace tidemark::plan
