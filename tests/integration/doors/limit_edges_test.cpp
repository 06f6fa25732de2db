// SPDX-License-Identifier: Apache-2.0
// Limits that are larger than the card, or smaller than a context; and NVML before any CUDA call. The card has 4 GiB.
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <nvml.h>
#include <tidemark/tidemark.h>

#include <algorithm>

#include "base/env.h"

namespace tidemark::doors {
namespace {

constexpr std::uint64_t kMiB = 1 << 20, kCard = 4096 * kMiB, kContext = 300 * kMiB;

std::uint64_t limit() {
  return env_bytes("TIDEMARK_LIMIT", {})->n;
}
std::uint64_t visible() {
  return std::min(limit(), kCard);
}

// The first test: nothing of CUDA has been called yet.
TEST(LimitEdges, NvmlTellsTheLimitBeforeCudaIsUsed) {
  ASSERT_EQ(nvmlInit_v2(), NVML_SUCCESS);
  nvmlDevice_t card{};
  ASSERT_EQ(nvmlDeviceGetHandleByIndex_v2(0, &card), NVML_SUCCESS);
  nvmlMemory_t memory{};
  ASSERT_EQ(nvmlDeviceGetMemoryInfo(card, &memory), NVML_SUCCESS);
  EXPECT_EQ(memory.total, visible());
  EXPECT_EQ(memory.free, visible());
  EXPECT_EQ(memory.used, 0u);
}

TEST(LimitEdges, WhatThereIsBesideTheContextCanBeHadAndNoMore) {
  std::size_t free = 0, total = 0;
  ASSERT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  EXPECT_EQ(total, visible());
  EXPECT_EQ(free, visible() > kContext ? visible() - kContext : 0);
  cudaDeviceProp properties{};
  ASSERT_EQ(cudaGetDeviceProperties(&properties, 0), cudaSuccess);
  EXPECT_EQ(properties.totalGlobalMem, visible());
  void* block = nullptr;
  if (free != 0) {
    EXPECT_EQ(cudaMalloc(&block, free), cudaSuccess);
  }
  for (std::size_t const bytes : {std::size_t{1}, std::size_t{1} << 20}) {
    void* more = nullptr;
    EXPECT_EQ(cudaMalloc(&more, bytes), cudaErrorMemoryAllocation);
    EXPECT_EQ(cudaMallocAsync(&more, bytes, nullptr), cudaErrorMemoryAllocation);
  }
  EXPECT_EQ(cudaFree(block), cudaSuccess);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
}

// But for what is cached, which is free for the one and given for the other.
TEST(LimitEdges, NvmlAgreesWithCuda) {
  tidemark_empty_cache();
  nvmlDevice_t card{};
  ASSERT_EQ(nvmlDeviceGetHandleByIndex_v2(0, &card), NVML_SUCCESS);
  nvmlMemory_t memory{};
  ASSERT_EQ(nvmlDeviceGetMemoryInfo(card, &memory), NVML_SUCCESS);
  std::size_t free = 0, total = 0;
  ASSERT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  EXPECT_EQ(memory.total, total);
  EXPECT_EQ(memory.free, free);
  EXPECT_EQ(memory.used, total - free);
}

}  // namespace
}  // namespace tidemark::doors
