// SPDX-License-Identifier: Apache-2.0
// Contexts that come and go on the software device: what is live and what is reserved stay as the device's books have
// them. A context takes 300 MiB, which is not the program's blocks'.
#include <cuda.h>
#include <cuda_runtime_api.h>

#include "softgpu/interface/softgpu.h"
#include "tests/integration/doors/own_trace.h"
#include "tests/integration/doors/process.h"

namespace tidemark::doors {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

class ContextAccount : public testing::Test {
 protected:
  SoftgpuDeviceInfo books() const {
    auto const ask =
        reinterpret_cast<decltype(&softgpu_device_info)>(dlsym(open_library("libcuda.so.1"), "softgpu_device_info"));
    SoftgpuDeviceInfo info{};
    EXPECT_EQ(ask(0, &info), 0);
    return info;
  }
  CUdeviceptr take(std::size_t bytes) const {
    CUdeviceptr block = 0;
    EXPECT_EQ(cuMemAlloc(&block, bytes), CUDA_SUCCESS);
    return block;
  }
  void expect_books(std::uint64_t live_bytes) const {
    OwnTrace const own = read_own_trace();
    EXPECT_EQ(own.trouble, "");
    EXPECT_EQ(own.totals.live_bytes, live_bytes);
    EXPECT_EQ(own.totals.reserved_bytes, books().process_bytes - books().context_bytes);
  }
};

TEST_F(ContextAccount, AResetEndsEverythingAndTheNextBlockBeginsAnew) {
  for (int round = 0; round < 3; ++round) {
    void* block = nullptr;
    ASSERT_EQ(cudaMalloc(&block, 10 * kMiB), cudaSuccess);
    ASSERT_EQ(cudaMallocManaged(&block, kMiB), cudaSuccess);
    EXPECT_EQ(read_own_trace().live.size(), 2u);
    expect_books(10 * kMiB);
    ASSERT_EQ(cudaDeviceReset(), cudaSuccess);
    EXPECT_TRUE(read_own_trace().live.empty());
    expect_books(0);
  }
}

// "cudaDeviceReset() will not destroy memory allocations by cudaMallocAsync()"
TEST_F(ContextAccount, APoolsBlocksOutliveTheirContext) {
  void* block = nullptr;
  ASSERT_EQ(cudaMallocAsync(&block, 3 * kMiB, nullptr), cudaSuccess);
  expect_books(3 * kMiB);
  ASSERT_EQ(cudaDeviceReset(), cudaSuccess);
  EXPECT_EQ(read_own_trace().live.size(), 1u);
  ASSERT_EQ(cudaFree(nullptr), cudaSuccess);
  CUdeviceptr const other = take(2 * kMiB);
  expect_books(5 * kMiB);
  EXPECT_EQ(cudaFree(block), cudaSuccess);
  EXPECT_EQ(cuMemFree(other), CUDA_SUCCESS);
  cudaMemPool_t pool = nullptr;
  EXPECT_EQ(cudaDeviceGetDefaultMemPool(&pool, 0), cudaSuccess);
  EXPECT_EQ(cudaMemPoolTrimTo(pool, 0), cudaSuccess);
  expect_books(0);
}

TEST_F(ContextAccount, AContextsOwnMemoryIsNotTheBlocks) {
  ASSERT_EQ(cudaFree(nullptr), cudaSuccess);
  CUdeviceptr const in_primary = take(4 * kMiB);
  expect_books(4 * kMiB);
  CUcontext made = nullptr;
  ASSERT_EQ(cuCtxCreate(&made, nullptr, 0, 0), CUDA_SUCCESS);
  take(6 * kMiB);
  EXPECT_EQ(books().context_bytes, 600 * kMiB);
  expect_books(10 * kMiB);
  // Its end ends its block, not the other's.
  ASSERT_EQ(cuCtxDestroy(made), CUDA_SUCCESS);
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
  EXPECT_EQ(read_own_trace().live.size(), 1u);
  expect_books(4 * kMiB);
  EXPECT_EQ(cuMemFree(in_primary), CUDA_SUCCESS);
  expect_books(0);
  ASSERT_EQ(cudaDeviceReset(), cudaSuccess);
}

TEST_F(ContextAccount, APrimaryContextThatBeginsAfterAMadeOne) {
  CUcontext made = nullptr, primary = nullptr, popped = nullptr;
  ASSERT_EQ(cuInit(0), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxCreate(&made, nullptr, 0, 0), CUDA_SUCCESS);
  CUdeviceptr const block = take(2 * kMiB);
  expect_books(2 * kMiB);
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&primary, 0), CUDA_SUCCESS);
  ASSERT_EQ(cuCtxPushCurrent(primary), CUDA_SUCCESS);
  take(8 * kMiB);
  expect_books(10 * kMiB);
  ASSERT_EQ(cuCtxPopCurrent(&popped), CUDA_SUCCESS);
  ASSERT_EQ(cuDevicePrimaryCtxReset(0), CUDA_SUCCESS);
  expect_books(2 * kMiB);
  ASSERT_EQ(cuDevicePrimaryCtxRelease(0), CUDA_SUCCESS);
  EXPECT_EQ(cuMemFree(block), CUDA_SUCCESS);
  expect_books(0);
  ASSERT_EQ(cuCtxDestroy(made), CUDA_SUCCESS);
}

TEST_F(ContextAccount, PhysicalBlocksOutliveTheirContexts) {
  ASSERT_EQ(cudaFree(nullptr), cudaSuccess);
  CUmemAllocationProp properties{};
  properties.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
  CUmemGenericAllocationHandle physical = 0;
  ASSERT_EQ(cuMemCreate(&physical, 32 * kMiB, &properties, 0), CUDA_SUCCESS);
  take(2 * kMiB);
  expect_books(34 * kMiB);
  ASSERT_EQ(cudaDeviceReset(), cudaSuccess);
  ASSERT_EQ(cudaFree(nullptr), cudaSuccess);
  CUdeviceptr const block = take(2 * kMiB);
  expect_books(34 * kMiB);
  EXPECT_EQ(cuMemRelease(physical), CUDA_SUCCESS);
  expect_books(2 * kMiB);
  EXPECT_EQ(cuMemFree(block), CUDA_SUCCESS);
  expect_books(0);
}

TEST_F(ContextAccount, GraphMemoryAndAReset) {
  cudaStream_t stream = nullptr;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  void* block = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  ASSERT_EQ(cudaMallocAsync(&block, 8 * kMiB, stream), cudaSuccess);
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  ASSERT_EQ(cudaGraphInstantiate(&executable, graph, 0), cudaSuccess);
  ASSERT_EQ(cudaGraphLaunch(executable, stream), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  expect_books(8 * kMiB);
  EXPECT_EQ(read_own_trace().live_bytes(trace::Class::Graph), 8 * kMiB);
  ASSERT_EQ(cudaDeviceReset(), cudaSuccess);
  ASSERT_EQ(cudaFree(nullptr), cudaSuccess);
  CUdeviceptr const other = take(2 * kMiB);
  ASSERT_EQ(cudaDeviceGraphMemTrim(0), cudaSuccess);
  cuuint64_t left = 0;
  ASSERT_EQ(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrReservedMemCurrent, &left), cudaSuccess);
  expect_books(2 * kMiB + left);
  EXPECT_EQ(cuMemFree(other), CUDA_SUCCESS);
}

TEST_F(ContextAccount, ABlockThatAThreadWithoutAContextFrees) {
  ASSERT_EQ(cudaFree(nullptr), cudaSuccess);
  CUdeviceptr const block = take(2 * kMiB);
  CUcontext popped = nullptr;
  ASSERT_EQ(cuCtxPopCurrent(&popped), CUDA_SUCCESS);
  CUresult const freed = cuMemFree(block);
  ASSERT_EQ(cuCtxPushCurrent(popped), CUDA_SUCCESS);
  expect_books(freed == CUDA_SUCCESS ? 0 : 2 * kMiB);
  if (freed != CUDA_SUCCESS) {
    EXPECT_EQ(cuMemFree(block), CUDA_SUCCESS);
  }
}

}  // namespace
}  // namespace tidemark::doors
