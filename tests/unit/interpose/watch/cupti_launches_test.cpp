// SPDX-License-Identifier: Apache-2.0
#include "interpose/watch/cupti_launches.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace tidemark::interpose {
namespace {

using trace::Phase;

struct Seen {
  std::uint32_t correlation;
  bool known;
  LaunchScope scope;
};

class LaunchesTest : public testing::Test {
 protected:
  LaunchesTest() { EXPECT_TRUE(launches.start()); }
  auto out() {
    return [this](const KernelRun& run, const LaunchScope* scope) {
      seen.push_back({run.correlation, scope != nullptr, scope != nullptr ? *scope : LaunchScope{}});
    };
  }
  void ran(std::uint32_t correlation) { launches.ran({.correlation = correlation}, out()); }

  // Large; and what it maps is the process's.
  std::unique_ptr<Launches> const owned_ = std::make_unique<Launches>();
  Launches& launches = *owned_;
  std::vector<Seen> seen;
};

TEST(LaunchScopes, FitIntoSixtyFourBits) {
  LaunchScope const scopes[] = {{},
                                {.path = 1},
                                {.phase = Phase::Eval},
                                {.step = 1},
                                {.path = ~0u, .phase = static_cast<Phase>(15), .step = LaunchScope::kStepMask}};
  for (LaunchScope const& s : scopes) EXPECT_EQ(LaunchScope::unpacked(s.packed()), s);
  EXPECT_EQ(LaunchScope{}.packed(), 0u) << "nothing is open: nothing need be said";
  EXPECT_EQ(LaunchScope::unpacked(LaunchScope{.path = 3, .step = ~0u}.packed()).path, 3u)
      << "large steps stay in place";
}

TEST_F(LaunchesTest, AKernelGetsTheScopeOfItsLaunch) {
  launches.scoped(7, {.path = 5, .phase = Phase::Forward, .step = 9});
  launches.called(7, false);
  ran(7);
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_TRUE(seen[0].known);
  EXPECT_EQ(seen[0].scope, (LaunchScope{.path = 5, .phase = Phase::Forward, .step = 9}));
}

TEST_F(LaunchesTest, ALaunchOutsideOfEveryScopeIsKnown) {
  launches.called(7, false);
  ran(7);
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_TRUE(seen[0].known);
  EXPECT_EQ(seen[0].scope, LaunchScope{});
}

TEST_F(LaunchesTest, OneLaunchMayBringManyKernels) {
  launches.scoped(7, {.path = 5});
  launches.called(7, true);
  for (int i = 0; i < 3; ++i) ran(7);
  ASSERT_EQ(seen.size(), 3u);
  EXPECT_EQ(seen[2].scope.path, 5u);
}

TEST_F(LaunchesTest, AKernelWaitsForItsLaunch) {
  ran(7);
  launches.end_round(false, out());
  EXPECT_TRUE(seen.empty());
  launches.scoped(7, {.path = 5});
  launches.end_round(false, out());
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].scope.path, 5u);
}

TEST_F(LaunchesTest, WaitingEndsAfterSomeRoundsAndAtTheEnd) {
  ran(7);
  for (std::uint32_t i = 0; i < Launches::kRounds; ++i) launches.end_round(false, out());
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_FALSE(seen[0].known);
  ran(8);
  launches.end_round(true, out());
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[1].correlation, 8u);
  EXPECT_FALSE(seen[1].known);
}

TEST_F(LaunchesTest, TooManyThatWaitAreWrittenAsTheyAre) {
  for (std::uint32_t i = 0; i < Launches::kWaiting + 3; ++i) ran(i + 1);
  ASSERT_EQ(seen.size(), 3u);
  launches.end_round(true, out());
  EXPECT_EQ(seen.size(), Launches::kWaiting + 3);
}

TEST_F(LaunchesTest, AnOldLaunchIsForgottenNotMistaken) {
  launches.scoped(7, {.path = 5});
  launches.called(7 + Launches::kRemembered, false);
  ran(7);
  launches.end_round(true, out());
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_FALSE(seen[0].known);
}

TEST_F(LaunchesTest, WithoutACorrelationNothingIsKnown) {
  launches.called(0, true);
  EXPECT_FALSE(launches.is_graph(0));
  ran(0);
  launches.end_round(true, out());
  EXPECT_FALSE(seen.at(0).known);
}

TEST_F(LaunchesTest, GraphsAreRemembered) {
  EXPECT_FALSE(launches.saw_graph());
  launches.called(3, false);
  launches.called(4, true);
  launches.called(4, false);  // the driver's call beneath the runtime's
  EXPECT_TRUE(launches.saw_graph());
  EXPECT_TRUE(launches.is_graph(4));
  EXPECT_FALSE(launches.is_graph(3));
  EXPECT_FALSE(launches.is_graph(5));
}

TEST(CuptiClock, BetweenTwoPairsTimesLieOnTheirLine) {
  CuptiClock clock;
  clock.start(3);
  clock.add(1000, 10'000);
  EXPECT_EQ(clock.ticks(1100), 10'300u) << "one pair, and the rate it was given";
  EXPECT_EQ(clock.ticks(900), 9'700u);
  clock.add(2000, 12'000);
  EXPECT_EQ(clock.ticks(1500), 11'000u);
  clock.add(3000, 15'000);
  EXPECT_EQ(clock.ticks(1500), 11'000u) << "what was between earlier ones stays there";
  EXPECT_EQ(clock.ticks(2500), 13'500u);
  EXPECT_EQ(clock.ticks(3100), 15'300u) << "beyond the newest";
  EXPECT_EQ(clock.ticks(500), 9'000u) << "before the oldest";
}

TEST(CuptiClock, SurvivesTimeThatStandsStillOrGoesBack) {
  CuptiClock clock;
  EXPECT_EQ(clock.ticks(5), 0u);
  clock.start(1);
  clock.add(1000, 10'000);
  clock.add(1000, 20'000);
  EXPECT_EQ(clock.ticks(1000), 10'000u);
  clock.add(2000, 30'000);
  clock.add(500, 31'000);  // somebody has set the clock
  EXPECT_EQ(clock.ticks(600), 31'100u);
  EXPECT_EQ(clock.ticks(0), 30'500u);
  EXPECT_GE(clock.ticks(~std::uint64_t{0}), 9'000'000'000'000'000'000u) << "the end of time is no overflow";
  clock.start(1e9);
  EXPECT_EQ(clock.ticks(0), 0u) << "nothing was before the beginning";
}

TEST(CuptiClock, KeepsTheLatestPairs) {
  CuptiClock clock;
  for (std::uint64_t i = 1; i <= 1000; ++i) clock.add(i * 100, i * 100 * (i < 500 ? 1 : 2) + (i < 500 ? 0 : 7));
  EXPECT_EQ(clock.ticks(99'950), 199'907u);
}

}  // namespace
}  // namespace tidemark::interpose
