// SPDX-License-Identifier: Apache-2.0
// Device time: exact under the simulated clock, at least what was asked for under the real one.
#include <gtest/gtest.h>

#include "tests/conformance/softgpu/scenario.h"

namespace conformance {
namespace {

TEST(SimulatedClock, GivesEveryItemItsTime) {
  // 1 us each by default: 5 kernels; 3 and 4 side by side; one kernel and, behind it, a set.
  for (std::string const schedule : {"eager", "late", "random:1", "random:2"}) {
    Outcome const outcome = run(scenario("times", {"SOFTGPU_CLOCK=sim", "SOFTGPU_SCHEDULE=" + schedule}));
    EXPECT_EQ("0.005000 0.003000 0.004000 0.002000\n", outcome.out) << schedule << outcome.err;
  }
}

TEST(SimulatedClock, GivesKernelsTheirOwnTime) {
  for (std::string const schedule : {"eager", "late", "random:1", "random:2"}) {
    Outcome const outcome =
        run(scenario("times", {"SOFTGPU_CLOCK=sim", "SOFTGPU_KERNEL_TIME=100us", "SOFTGPU_SCHEDULE=" + schedule}));
    EXPECT_EQ("0.500000 0.300000 0.400000 0.101000\n", outcome.out) << schedule << outcome.err;
  }
}

TEST(SimulatedClock, NeedsNoTime) {
  Outcome const outcome = run(scenario("wall_time", {"SOFTGPU_CLOCK=sim", "SOFTGPU_KERNEL_TIME=10s"}));
  EXPECT_LT(std::stol(outcome.out), 10000) << outcome.err;
}

TEST(SimulatedClock, IsTheSameInADryRun) {
  Outcome const outcome =
      run(scenario("times", {"SOFTGPU_CLOCK=sim", "SOFTGPU_KERNEL_TIME=100us", "SOFTGPU_DRY_RUN=1"}));
  EXPECT_EQ("0.500000 0.300000 0.400000 0.101000\n", outcome.out) << outcome.err;
}

TEST(RealClock, KernelsTakeWhatTheyAreGiven) {
  Outcome const outcome = run(scenario("wall_time", {"SOFTGPU_KERNEL_TIME=5ms"}));
  EXPECT_GE(std::stol(outcome.out), 20) << outcome.err;
}

}  // namespace
}  // namespace conformance
