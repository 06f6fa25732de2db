// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/conformance/softgpu/scenario.h"

namespace conformance {
namespace {

TEST(StaticRuntime, FailsCleanlyAndIsToldWhy) {
  Program program = scenario("");
  program.path = CONFORMANCE_STATIC_RUNTIME;
  program.arguments.clear();
  Outcome const outcome = run(program);
  EXPECT_EQ(1, outcome.exit_code) << outcome.err;
  EXPECT_NE(std::string::npos, outcome.out.find("cudaError")) << outcome.out;
  EXPECT_EQ(1, std::count(outcome.err.begin(), outcome.err.end(), '\n')) << outcome.err;
  EXPECT_NE(std::string::npos, outcome.err.find("static CUDA runtime")) << outcome.err;
  EXPECT_NE(std::string::npos, outcome.err.find("-cudart shared")) << outcome.err;
}

}  // namespace
}  // namespace conformance
