// SPDX-License-Identifier: Apache-2.0
// What a program is told about memory, and what it may touch: of its own block, neither less nor more.
#include <algorithm>

#include "tests/conformance/support/device.h"
#include "tests/conformance/support/gate.h"
#include "tests/conformance/support/kernels.h"

namespace conformance {
namespace {

class Query : public Conformance {};

// Two blocks of which one begins where the other ends, wherever that is.
struct Neighbours {
  std::vector<std::byte*> blocks;
  std::byte *first = nullptr, *second = nullptr;
  static constexpr std::size_t kBytes = 4096;

  Neighbours() {
    for (int i = 0; i < 64; ++i) {
      void* block = nullptr;
      EXPECT_OK(cudaMalloc(&block, kBytes));
      blocks.push_back(static_cast<std::byte*>(block));
    }
    for (std::byte* const block : blocks)
      if (std::find(blocks.begin(), blocks.end(), block + kBytes) != blocks.end()) first = block;
    second = first == nullptr ? nullptr : first + kBytes;
  }
  ~Neighbours() {
    for (std::byte* const block : blocks) EXPECT_OK(cudaFree(block));
  }
};

TEST_F(Query, CopiesAndFillsDoNotGoOnIntoTheNextBlock) {
  Neighbours const n;
  if (n.first == nullptr) GTEST_SKIP() << "no two blocks lie side by side";
  constexpr std::size_t kMore = Neighbours::kBytes + 512;
  DeviceBytes const other(2 * kMore);
  std::vector<std::byte> host(kMore);
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemset(n.first, 0, kMore));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemset2D(n.first, 512, 0, 512, 9));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemcpy(n.first, host.data(), kMore, cudaMemcpyHostToDevice));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemcpy(host.data(), n.first, kMore, cudaMemcpyDeviceToHost));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemcpy(other.get(), n.first, kMore, cudaMemcpyDeviceToDevice));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemcpy(n.first + 1, other.get(), Neighbours::kBytes, cudaMemcpyDefault));
  Stream const stream;
  void* to[] = {other.get()};
  const void* from[] = {n.first};
  std::size_t sizes[] = {kMore}, at[] = {0};
  cudaMemcpyAttributes in_order{};
  in_order.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemcpyBatchAsync(to, from, sizes, 1, &in_order, at, 1, stream));
  EXPECT_OK(cudaMemset(n.first, 0, Neighbours::kBytes));
  EXPECT_OK(cudaMemset(n.second, 0, Neighbours::kBytes));
}

TEST_F(Query, AnAttributeOfABlockIsNotItsNeighbours) {
  Neighbours const n;
  if (n.first == nullptr) GTEST_SKIP() << "no two blocks lie side by side";
  auto const is_synchronous = [](const std::byte* block) {
    unsigned value = 7;
    EXPECT_OK(cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, reinterpret_cast<CUdeviceptr>(block)));
    return value;
  };
  unsigned on = 1, off = 0;
  auto const first = reinterpret_cast<CUdeviceptr>(n.first);
  ASSERT_OK(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, first));
  EXPECT_EQ(1u, is_synchronous(n.first));
  EXPECT_EQ(1u, is_synchronous(n.first + 5));
  EXPECT_EQ(0u, is_synchronous(n.second));
  ASSERT_OK(cuPointerSetAttribute(&off, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, first));
  EXPECT_EQ(0u, is_synchronous(n.first));
}

TEST_F(Query, AnAttributeEndsWithItsBlock) {
  unsigned on = 1;
  for (int i = 0; i < 4; ++i) {
    CUdeviceptr block = 0;
    unsigned value = 7;
    ASSERT_OK(cuMemAlloc(&block, 100'000));
    EXPECT_OK(cuPointerGetAttribute(&value, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, block));
    EXPECT_EQ(0u, value);
    ASSERT_OK(cuPointerSetAttribute(&on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, block));
    ASSERT_OK(cuMemFree(block));
  }
}

TEST_F(Query, ThePitchOfAWidthIsAlwaysTheSame) {
  for (std::size_t const width : {1u, 100u, 512u, 513u, 5000u}) {
    std::vector<std::size_t> pitches;
    for (int i = 0; i < 3; ++i) {
      void* block = nullptr;
      std::size_t pitch = 0;
      ASSERT_OK(cudaMallocPitch(&block, &pitch, width, 7));
      pitches.push_back(pitch);
      CUdeviceptr base = 0;
      std::size_t bytes = 0;
      EXPECT_OK(cuMemGetAddressRange(&base, &bytes, reinterpret_cast<CUdeviceptr>(block)));
      EXPECT_EQ(7 * pitch, bytes);
      ASSERT_OK(cudaFree(block));
    }
    EXPECT_EQ(pitches[0], pitches[1]);
    EXPECT_EQ(pitches[0], pitches[2]);
  }
}

// What is told to be free can be had, by whatever call: what was freed before counts.
TEST_F(Query, FreeMemoryCanBeHad) {
  NEEDS_SOFTGPU();
  std::vector<void*> blocks;
  for (int i = 0; i < 40; ++i) {
    void* block = nullptr;
    ASSERT_OK(cudaMalloc(&block, (1 + i % 7) * kMiB + 512));
    blocks.push_back(block);
  }
  for (std::size_t i = 0; i < blocks.size(); i += 2) ASSERT_OK(cudaFree(blocks[i]));
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
  CUmemGenericAllocationHandle handle = 0;
  std::size_t const free_bytes = memory_info().free_bytes / (2 * kMiB) * (2 * kMiB);
  ASSERT_OK(cuMemCreate(&handle, free_bytes, &properties, 0));
  EXPECT_LT(memory_info().free_bytes, 2 * kMiB);
  ASSERT_OK(cuMemRelease(handle));
  void* block = nullptr;
  ASSERT_OK(cudaMalloc(&block, 8 * kMiB));
  ASSERT_OK(cudaFree(block));
  for (std::size_t i = 1; i < blocks.size(); i += 2) ASSERT_OK(cudaFree(blocks[i]));
}

// What is cached is nobody's: contexts, modules and graphs get it.
TEST_F(Query, AContextFindsRoomInWhatWasFreed) {
  NEEDS_SOFTGPU();
  std::vector<void*> blocks;
  for (std::size_t bytes = kGiB; bytes >= 2 * kMiB;) {
    void* block = nullptr;
    if (cudaMalloc(&block, bytes) == cudaSuccess)
      blocks.push_back(block);
    else
      bytes /= 2;
  }
  (void)cudaGetLastError();
  for (void* const block : blocks) ASSERT_OK(cudaFree(block));
  CUcontext context = nullptr;
  ASSERT_OK(cuCtxCreate(&context, nullptr, 0, 0));
  CUdeviceptr block = 0;
  EXPECT_OK(cuMemAlloc(&block, 10 * kMiB));
  ASSERT_OK(cuCtxDestroy(context));
}

// Whatever an allocation had to try before it went well, it is not the program's to know.
TEST_F(Query, AnAllocationThatGoesWellLeavesTheLastErrorAlone) {
  NEEDS_SOFTGPU();
  // Everything is cached as small pieces of one size, then another size is asked for.
  std::vector<void*> blocks;
  for (void* block = nullptr; cudaMalloc(&block, 64 * kMiB) == cudaSuccess;) blocks.push_back(block);
  (void)cudaGetLastError();
  for (void* const block : blocks) ASSERT_OK(cudaFree(block));
  EXPECT_EQ(cudaErrorInvalidValue, cudaMemset(nullptr, 0, 1));
  void* large = nullptr;
  EXPECT_EQ(cudaSuccess, cudaMalloc(&large, memory_info().free_bytes / 2));
  EXPECT_EQ(cudaErrorInvalidValue, cudaPeekAtLastError());
  EXPECT_EQ(cudaSuccess, cudaFree(large));
  EXPECT_EQ(cudaErrorInvalidValue, cudaGetLastError());
  EXPECT_EQ(cudaSuccess, cudaGetLastError());
}

// A device reaches its peer's blocks, those that were there before and those that came after.
TEST_F(Query, PeersReachOldAndNewBlocks) {
  NEEDS_DEVICES(2);
  NEEDS_VALUES();
  constexpr std::size_t kWords = 1 << 14;
  DeviceBytes const before(kWords * 4);
  ASSERT_OK(cudaSetDevice(1));
  ASSERT_OK(cudaFree(nullptr));
  ASSERT_OK(cudaDeviceEnablePeerAccess(0, 0));
  ASSERT_OK(cudaSetDevice(0));
  DeviceBytes const after(kWords * 4);
  DeviceBytes const large(40 * kMiB);
  ASSERT_OK(cudaSetDevice(1));
  for (const DeviceBytes* const block : {&before, &after, &large}) {
    ASSERT_OK(launch_fill(block->words(), kWords, 6, nullptr));
    ASSERT_OK(cudaDeviceSynchronize());
    EXPECT_EQ(0u, wrong_on_device(block->words(), kWords, 6));
  }
  ASSERT_OK(cudaDeviceDisablePeerAccess(0));
}

// A pool that may not make streams wait does not do it.
TEST_F(Query, APoolKeepsToWhatItIsForbidden) {
  in_child([] {
    cudaMemPool_t pool = nullptr;
    int no = 0;
    ASSERT_OK(cudaDeviceGetDefaultMemPool(&pool, 0));
    for (cudaMemPoolAttr const way : {cudaMemPoolReuseAllowInternalDependencies, cudaMemPoolReuseAllowOpportunistic})
      ASSERT_OK(cudaMemPoolSetAttribute(pool, way, &no));
    Stream const held(cudaStreamNonBlocking), other(cudaStreamNonBlocking);
    void *first = nullptr, *second = nullptr;
    ASSERT_OK(cudaMallocAsync(&first, 8 * kMiB, held));
    {
      Gate const gate(held);
      ASSERT_OK(cudaFreeAsync(first, held));
      ASSERT_OK(cudaMallocAsync(&second, 8 * kMiB, other));
      EXPECT_NE(first, second);
      ASSERT_OK(cudaStreamSynchronize(other));
    }
    ASSERT_OK(cudaFreeAsync(second, other));
    ASSERT_OK(cudaDeviceSynchronize());
  });
}

}  // namespace
}  // namespace conformance
