// SPDX-License-Identifier: Apache-2.0
// The beginning and the end of a process: fork, exit handlers, threads that are still at work.
#include <gtest/gtest.h>

#include "tests/conformance/softgpu/scenario.h"

namespace conformance {
namespace {

constexpr const char* kSchedules[] = {"eager", "late", "random:1"};

void expect_lines(const std::string& name, const std::string& lines) {
  for (std::string const schedule : kSchedules) {
    Outcome const outcome = run(scenario(name, {"SOFTGPU_CHECK=1", "SOFTGPU_SCHEDULE=" + schedule}));
    EXPECT_EQ(0, outcome.exit_code) << schedule << ": " << outcome.err;
    EXPECT_EQ(lines, outcome.out) << schedule;
  }
}

TEST(ProcessLife, StaticObjectsFreeTheirMemory) {
  expect_lines("free_in_a_static_destructor", "cudaSuccess\n");
}

TEST(ProcessLife, AChildForkedBeforeTheFirstUseHasADevice) {
  expect_lines("fork_before_the_first_use", "cudaSuccess\ncudaSuccess\n");
}

TEST(ProcessLife, AChildForkedLaterIsToldAndTheParentGoesOn) {
  expect_lines("fork_after_the_first_use", "cudaErrorInitializationError\ncudaSuccess\n");
}

TEST(ProcessLife, EndsWithWorkQueued) {
  expect_lines("exit_with_work_queued", "");
}

}  // namespace
}  // namespace conformance
