// SPDX-License-Identifier: Apache-2.0
// Kernels as objects: attributes, parameters, occupancy.
#include "tests/conformance/support/device.h"
#include "tests/conformance/support/kernels.h"

namespace conformance {
namespace {

class Function : public Conformance {};

int attribute(cudaDeviceAttr which) {
  int value = 0;
  EXPECT_OK(cudaDeviceGetAttribute(&value, which, 0));
  return value;
}

TEST_F(Function, HasAttributes) {
  cudaFuncAttributes attributes{};
  ASSERT_OK(cudaFuncGetAttributes(&attributes, fill_kernel()));
  EXPECT_GE(attributes.maxThreadsPerBlock, 128);
  EXPECT_LE(attributes.maxThreadsPerBlock, 1024);
  EXPECT_GT(attributes.numRegs, 0);
  EXPECT_EQ(0u, attributes.sharedSizeBytes);
  EXPECT_GE(attributes.maxDynamicSharedSizeBytes, 16 * 1024);
  EXPECT_GE(attributes.binaryVersion, 75);
  int on_stack = 0;
  EXPECT_CUDA(cudaErrorInvalidDeviceFunction, cudaFuncGetAttributes(&attributes, &on_stack));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaFuncGetAttributes(nullptr, fill_kernel()));
}

TEST_F(Function, LaunchBoundsAreAskedForAndKept) {
  // The guide: a launch with more threads per block than the bounds say fails.
  NEEDS_VALUES();  // they come from a GPU's image, or from the CPU body
  cudaFuncAttributes attributes{};
  ASSERT_OK(cudaFuncGetAttributes(&attributes, fill_bounded_kernel()));
  EXPECT_EQ(64, attributes.maxThreadsPerBlock);
  constexpr std::size_t kWords = 128;
  DeviceBytes const device(kWords * 4);
  std::uint32_t* p = device.words();
  std::uint32_t seed = 5;
  void* arguments[] = {&p, &seed};
  auto const attempt = [&](dim3 threads) {
    cudaError_t const error = cudaLaunchKernel(fill_bounded_kernel(), dim3(2), threads, arguments, 0, nullptr);
    static_cast<void>(cudaGetLastError());
    return error;
  };
  EXPECT_NE(cudaSuccess, attempt(dim3(65)));
  EXPECT_NE(cudaSuccess, attempt(dim3(8, 8, 2)));
  EXPECT_OK(attempt(dim3(64)));
  EXPECT_EQ(0u, wrong_on_device(p, kWords, seed));
  int blocks = 0;
  EXPECT_OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, fill_bounded_kernel(), 64, 0));
  EXPECT_GE(blocks, 1);
}

TEST_F(Function, MoreSharedMemoryAfterAskingForIt) {
  // "The sum of this value and the function attribute sharedSizeBytes cannot exceed the device attribute
  // cudaDevAttrMaxSharedMemoryPerBlockOptin."
  NEEDS_VALUES();
  int const most = attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin);
  ASSERT_GT(most, 48 * 1024);
  constexpr std::uint32_t kThreads = 64;
  DeviceBytes const device(kThreads * 4);
  ASSERT_OK(launch_fill(device.words(), kThreads, 3, nullptr));
  std::uint32_t* p = device.words();
  void* arguments[] = {&p};
  auto const attempt = [&](int bytes) {
    return cudaLaunchKernel(reverse_kernel(), dim3(1), dim3(kThreads), arguments, static_cast<std::size_t>(bytes),
                            nullptr);
  };
  EXPECT_CUDA(cudaErrorInvalidValue, attempt(most));
  EXPECT_OK(cudaFuncSetAttribute(reverse_kernel(), cudaFuncAttributeMaxDynamicSharedMemorySize, most));
  EXPECT_OK(attempt(most));
  EXPECT_OK(cudaDeviceSynchronize());
  EXPECT_CUDA(cudaErrorInvalidValue,
              cudaFuncSetAttribute(reverse_kernel(), cudaFuncAttributeMaxDynamicSharedMemorySize, most + 1));
  cudaFuncAttributes attributes{};
  EXPECT_OK(cudaFuncGetAttributes(&attributes, reverse_kernel()));
  EXPECT_EQ(most, attributes.maxDynamicSharedSizeBytes);
}

TEST_F(Function, TellsItsParameters) {
  NEEDS_VALUES();  // they come from the image, or from the CPU body
  struct Expected {
    std::size_t offset, bytes;
  };
  constexpr Expected kExpected[] = {{0, 8}, {8, 8}, {16, 4}};
  for (std::size_t i = 0; i < 3; ++i) {
    std::size_t offset = 99, bytes = 99;
    EXPECT_OK(cudaFuncGetParamInfo(fill_kernel(), i, &offset, &bytes));
    EXPECT_EQ(kExpected[i].offset, offset);
    EXPECT_EQ(kExpected[i].bytes, bytes);
  }
  std::size_t offset = 0, bytes = 0;
  EXPECT_CUDA(cudaErrorInvalidValue, cudaFuncGetParamInfo(fill_kernel(), 3, &offset, &bytes));
  EXPECT_OK(cudaFuncGetParamInfo(use_record_kernel(), 1, &offset, &bytes));
  EXPECT_EQ(32u, offset);
  EXPECT_EQ(1u, bytes);
}

TEST_F(Function, HasAName) {
  const char* name = nullptr;
  ASSERT_OK(cudaFuncGetName(&name, fill_kernel()));
  EXPECT_STREQ("_ZN11conformance4fillEPjmj", name);
}

TEST_F(Function, OccupancyStaysWithinTheDevice) {
  int const threads_per_sm = attribute(cudaDevAttrMaxThreadsPerMultiProcessor);
  int const blocks_per_sm = attribute(cudaDevAttrMaxBlocksPerMultiprocessor);
  int previous = 1 << 20;
  for (int const threads : {32, 64, 128, 256, 512, 1024}) {
    int blocks = 0;
    ASSERT_OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, fill_kernel(), threads, 0));
    EXPECT_GE(blocks, 1);
    EXPECT_LE(blocks, blocks_per_sm);
    EXPECT_LE(blocks * threads, threads_per_sm);
    EXPECT_LE(blocks, previous);
    previous = blocks;
  }
  int without = 0, with = 0;
  EXPECT_OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&without, fill_kernel(), 64, 0));
  EXPECT_OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&with, fill_kernel(), 64, 40 * kKiB));
  EXPECT_LT(with, without);
  EXPECT_CUDA(cudaErrorInvalidValue, cudaOccupancyMaxActiveBlocksPerMultiprocessor(nullptr, fill_kernel(), 64, 0));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaOccupancyMaxActiveBlocksPerMultiprocessor(&with, fill_kernel(), 0, 0));
}

TEST_F(Function, SuggestsABlockSize) {
  cudaFunction_t function = nullptr;
  ASSERT_OK(cudaGetFuncBySymbol(&function, fill_kernel()));
  int grid = 0, block = 0;
  ASSERT_OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, function, nullptr, 0, 0));
  EXPECT_GT(block, 0);
  EXPECT_LE(block, 1024);
  EXPECT_GE(grid, attribute(cudaDevAttrMultiProcessorCount));
  ASSERT_OK(cuOccupancyMaxPotentialBlockSize(&grid, &block, function, nullptr, 0, 96));
  EXPECT_LE(block, 96);
}

TEST_F(Function, LeavesSharedMemoryForSoManyBlocks) {
  std::size_t one = 0, many = 0;
  ASSERT_OK(cudaOccupancyAvailableDynamicSMemPerBlock(&one, fill_kernel(), 1, 128));
  ASSERT_OK(cudaOccupancyAvailableDynamicSMemPerBlock(&many, fill_kernel(), 8, 128));
  EXPECT_GT(one, 0u);
  EXPECT_LE(many, one);
}

}  // namespace
}  // namespace conformance
