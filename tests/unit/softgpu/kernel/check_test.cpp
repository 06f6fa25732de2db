// SPDX-License-Identifier: Apache-2.0
// Runs with SOFTGPU_CHECK=1.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/unit/softgpu/kernel/support.h"

namespace tidemark::softgpu::testing {
namespace {

TEST(CheckMode, SharedMemoryReadBeforeWrittenIsNaNInEveryBlock) {
  for (int repeat = 0; repeat < 3; ++repeat) {
    float out[2] = {};
    Shape const shape{.grid = {3, 1, 1}, .block = {4, 1, 1}, .dynamic_shared_bytes = 16};
    ASSERT_EQ(launch("read_unwritten_shared", shape, &out[0]), SOFTGPU_KERNEL_OK);
    EXPECT_TRUE(std::isnan(out[0])) << out[0];
    EXPECT_TRUE(std::isnan(out[1])) << out[1];
  }
}

TEST(CheckMode, KernelsThatWriteFirstAreUndisturbed) {
  std::vector<float> in(500, 1.0f), out(5);
  const float* pin = in.data();
  Shape const shape{.grid = {5, 1, 1}, .block = {100, 1, 1}, .os_threads = 2};
  ASSERT_EQ(launch("block_sum<float>", shape, pin, out.data(), 500), SOFTGPU_KERNEL_OK);
  EXPECT_EQ(out, std::vector<float>(5, 100.0f));
}

}  // namespace
}  // namespace tidemark::softgpu::testing
