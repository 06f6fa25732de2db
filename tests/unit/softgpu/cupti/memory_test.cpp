// SPDX-License-Identifier: Apache-2.0
// Memory activity: every allocation and release, once, with what it was.
#include <dlfcn.h>
#include <unistd.h>

#include <map>

#include "softgpu/interface/softgpu.h"
#include "tests/unit/softgpu/cupti/client.h"

namespace tidemark::softgpu::cupti_test {
namespace {

using Memory = CuptiTest;

constexpr std::size_t kMiB = 1 << 20;

std::uint64_t device_bytes() {
  auto const info = reinterpret_cast<decltype(&softgpu_device_info)>(dlsym(RTLD_DEFAULT, "softgpu_device_info"));
  SoftgpuDeviceInfo out{};
  EXPECT_EQ(info(0, &out), 0);
  return out.process_bytes - out.context_bytes;
}

// Bytes that live on the device by the records alone.
std::uint64_t live_bytes(const Records& records) {
  std::map<std::uint64_t, std::uint64_t> live;
  for (auto const& r : records.memory) {
    if (r.memoryKind == CUPTI_ACTIVITY_MEMORY_KIND_PINNED || r.memoryKind == CUPTI_ACTIVITY_MEMORY_KIND_MANAGED)
      continue;
    if (r.memoryOperationType == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION) {
      EXPECT_TRUE(live.emplace(r.address, r.bytes).second) << "allocated twice";
    } else {
      EXPECT_EQ(live[r.address], std::uint64_t{r.bytes});
      live.erase(r.address);
    }
  }
  std::uint64_t sum = 0;
  for (auto const& [address, bytes] : live) sum += bytes;
  return sum;
}

TEST_F(Memory, EachClassAppearsOnceWithAddressAndBytes) {
  enable({CUPTI_ACTIVITY_KIND_MEMORY2, CUPTI_ACTIVITY_KIND_DRIVER});
  CUdeviceptr plain = 0, pitched = 0, managed = 0;
  std::size_t pitch = 0;
  void* pinned = nullptr;
  CUarray array = nullptr;
  CU(cuMemAlloc(&plain, 1000));
  CU(cuMemAllocPitch(&pitched, &pitch, 100, 7, 4));
  CU(cuMemAllocManaged(&managed, 3000, CU_MEM_ATTACH_GLOBAL));
  CU(cuMemHostAlloc(&pinned, 5000, 0));
  CUDA_ARRAY_DESCRIPTOR const shape{.Width = 64, .Height = 4, .Format = CU_AD_FORMAT_FLOAT, .NumChannels = 1};
  CU(cuArrayCreate(&array, &shape));
  CU(cuMemFree(plain));
  CU(cuMemFree(pitched));
  CU(cuMemFree(managed));
  CU(cuMemFreeHost(pinned));
  CU(cuArrayDestroy(array));
  Records const records = flush();

  struct Expected {
    std::uint64_t address, bytes;
    CUpti_ActivityMemoryKind kind;
    const char *allocated_by, *released_by;
  };
  Expected const expected[] = {
      {plain, 1000, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, "cuMemAlloc_v2", "cuMemFree_v2"},
      {pitched, pitch * 7, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, "cuMemAllocPitch_v2", "cuMemFree_v2"},
      {managed, 3000, CUPTI_ACTIVITY_MEMORY_KIND_MANAGED, "cuMemAllocManaged", "cuMemFree_v2"},
      {reinterpret_cast<std::uint64_t>(pinned), 5000, CUPTI_ACTIVITY_MEMORY_KIND_PINNED, "cuMemHostAlloc",
       "cuMemFreeHost"},
      {0, 64 * 4 * 4, CUPTI_ACTIVITY_MEMORY_KIND_ARRAY, "cuArrayCreate_v2", "cuArrayDestroy"},
  };
  ASSERT_EQ(records.memory.size(), 10u);
  std::uint32_t context_id = 0;
  OK(cuptiGetContextId(context, &context_id));
  for (std::size_t i = 0; i < 10; ++i) {
    auto const& r = records.memory[i];
    Expected const& e = expected[i % 5];
    SCOPED_TRACE(e.allocated_by);
    EXPECT_EQ(r.memoryOperationType,
              i < 5 ? CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION : CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE);
    EXPECT_EQ(r.memoryKind, e.kind);
    if (e.address != 0) {
      EXPECT_EQ(std::uint64_t{r.address}, e.address);
    }
    EXPECT_EQ(std::uint64_t{r.bytes}, e.bytes);
    EXPECT_EQ(r.processId, static_cast<std::uint32_t>(getpid()));
    EXPECT_EQ(r.deviceId, 0u);
    EXPECT_EQ(r.contextId, context_id);
    EXPECT_EQ(r.streamId, CUPTI_INVALID_STREAM_ID);
    EXPECT_EQ(r.isAsync, 0u);
    EXPECT_NE(std::uint64_t{r.PC}, 0u);
    EXPECT_NE(find_call(records.driver, r.correlationId, i < 5 ? e.allocated_by : e.released_by), nullptr);
    if (i > 0) {
      EXPECT_GE(std::uint64_t{r.timestamp}, std::uint64_t{records.memory[i - 1].timestamp});
    }
  }
}

TEST_F(Memory, SumsEqualTheDevicesOwnAccount) {
  std::uint64_t const before = device_bytes();
  enable({CUPTI_ACTIVITY_KIND_MEMORY2});
  std::vector<CUdeviceptr> blocks(20);
  for (std::size_t i = 0; i < blocks.size(); ++i) CU(cuMemAlloc(&blocks[i], 2 * kMiB * (1 + i % 3)));
  for (std::size_t i = 0; i < blocks.size(); i += 2) CU(cuMemFree(blocks[i]));
  Records const records = flush();
  EXPECT_EQ(records.memory.size(), 30u);
  EXPECT_EQ(live_bytes(records), device_bytes() - before);
  for (std::size_t i = 1; i < blocks.size(); i += 2) CU(cuMemFree(blocks[i]));
}

TEST_F(Memory, StreamOrderedMemoryNamesStreamAndPool) {
  enable({CUPTI_ACTIVITY_KIND_MEMORY2, CUPTI_ACTIVITY_KIND_MEMORY_POOL});
  CUstream stream = nullptr;
  CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CUmemPoolProps props{};
  props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  props.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
  CUmemoryPool pool = nullptr;
  CU(cuMemPoolCreate(&pool, &props));
  cuuint64_t threshold = 64 * kMiB;
  CU(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold));
  CUdeviceptr block = 0;
  CU(cuMemAllocFromPoolAsync(&block, 3 * kMiB, pool, stream));
  CU(cuMemFreeAsync(block, stream));
  CU(cuStreamSynchronize(stream));
  CU(cuMemPoolTrimTo(pool, kMiB));
  CU(cuMemPoolDestroy(pool));
  std::uint32_t stream_id = 0;
  OK(cuptiGetStreamIdEx(nullptr, stream, 0, &stream_id));
  CU(cuStreamDestroy(stream));
  Records const records = flush();

  ASSERT_EQ(records.memory.size(), 2u);
  for (auto const& r : records.memory) {
    EXPECT_EQ(std::uint64_t{r.address}, block);
    EXPECT_EQ(std::uint64_t{r.bytes}, 3 * kMiB);
    EXPECT_EQ(r.isAsync, 1u);
    EXPECT_EQ(r.streamId, stream_id);
    EXPECT_EQ(r.memoryPoolConfig.memoryPoolType, CUPTI_ACTIVITY_MEMORY_POOL_TYPE_LOCAL);
    EXPECT_EQ(std::uint64_t{r.memoryPoolConfig.releaseThreshold}, threshold);
  }
  EXPECT_EQ(std::uint64_t{records.memory[0].memoryPoolConfig.utilizedSize}, 3 * kMiB);
  EXPECT_EQ(std::uint64_t{records.memory[1].memoryPoolConfig.utilizedSize}, 0u);

  ASSERT_EQ(records.pools.size(), 3u);
  EXPECT_EQ(records.pools[0].memoryPoolOperationType, CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_CREATED);
  EXPECT_EQ(records.pools[1].memoryPoolOperationType, CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_TRIMMED);
  EXPECT_EQ(records.pools[1].minBytesToKeep, kMiB);
  EXPECT_EQ(std::uint64_t{records.pools[1].releaseThreshold}, threshold);
  EXPECT_EQ(std::uint64_t{records.pools[1].size}, 2 * kMiB);  // a granule
  EXPECT_EQ(records.pools[2].memoryPoolOperationType, CUPTI_ACTIVITY_MEMORY_POOL_OPERATION_TYPE_DESTROYED);
  EXPECT_EQ(std::uint64_t{records.pools[0].address}, std::uint64_t{records.memory[0].memoryPoolConfig.address});
}

TEST_F(Memory, PlainMemoryFreedInStreamOrderIsReportedAtTheCall) {
  CUdeviceptr block = 0;
  CU(cuMemAlloc(&block, 4096));
  enable({CUPTI_ACTIVITY_KIND_MEMORY2, CUPTI_ACTIVITY_KIND_DRIVER});
  CU(cuMemFreeAsync(block, nullptr));
  CU(cuCtxSynchronize());
  Records const records = flush();
  ASSERT_EQ(records.memory.size(), 1u);
  EXPECT_EQ(records.memory[0].isAsync, 1u);
  EXPECT_NE(find_call(records.driver, records.memory[0].correlationId, "cuMemFreeAsync"), nullptr);
}

TEST_F(Memory, MappingsAppearAndGo) {
  enable({CUPTI_ACTIVITY_KIND_MEMORY2});
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = 0};
  CUmemGenericAllocationHandle handle = 0;
  CUdeviceptr range = 0;
  CU(cuMemCreate(&handle, 4 * kMiB, &prop, 0));
  CU(cuMemAddressReserve(&range, 4 * kMiB, 0, 0, 0));
  CU(cuMemMap(range, 4 * kMiB, 0, handle, 0));
  CU(cuMemUnmap(range, 4 * kMiB));
  CU(cuMemRelease(handle));
  CU(cuMemAddressFree(range, 4 * kMiB));
  Records const records = flush();
  ASSERT_EQ(records.memory.size(), 2u);
  EXPECT_EQ(std::uint64_t{records.memory[0].address}, range);
  EXPECT_EQ(std::uint64_t{records.memory[0].bytes}, 4 * kMiB);
  EXPECT_EQ(records.memory[1].memoryOperationType, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE);
  EXPECT_EQ(live_bytes(records), 0u);
}

TEST_F(Memory, AVariableIsStaticAndHasAName) {
  (void)function("_ZN4test7nothingEv");
  enable({CUPTI_ACTIVITY_KIND_MEMORY2});
  CUdeviceptr address = 0;
  std::size_t bytes = 0;
  CU(cuModuleGetGlobal(&address, &bytes, module, "table"));
  CU(cuModuleUnload(module));
  module = nullptr;
  Records const records = flush();
  ASSERT_EQ(records.memory.size(), 2u);
  EXPECT_STREQ(records.memory[0].name, "table");
  for (auto const& r : records.memory) {
    EXPECT_EQ(r.memoryKind, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE_STATIC);
    EXPECT_EQ(std::uint64_t{r.bytes}, 4096u);
  }
}

TEST_F(Memory, WhatAContextLeavesBehindIsReleasedWithIt) {
  enable({CUPTI_ACTIVITY_KIND_MEMORY2, CUPTI_ACTIVITY_KIND_DRIVER});
  CUcontext other = nullptr;
  CU(cuCtxCreate(&other, nullptr, 0, 0));
  CUdeviceptr plain = 0, pooled = 0;
  CU(cuMemAlloc(&plain, 100));
  CU(cuMemAllocAsync(&pooled, 200, nullptr));
  CU(cuCtxDestroy(other));
  CU(cuCtxSetCurrent(context));
  CU(cuMemFree(pooled));  // a pool's memory outlives the context
  Records const records = flush();
  ASSERT_EQ(records.memory.size(), 4u);
  struct Expected {
    CUdeviceptr address;
    const char* by;
  };
  Expected const expected[] = {{plain, "cuCtxDestroy_v2"}, {pooled, "cuMemFree_v2"}};
  for (std::size_t i = 0; i < 2; ++i) {
    auto const& r = records.memory[2 + i];
    EXPECT_EQ(r.memoryOperationType, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE);
    EXPECT_EQ(std::uint64_t{r.address}, expected[i].address);
    EXPECT_NE(find_call(records.driver, r.correlationId, expected[i].by), nullptr);
  }
}

TEST_F(Memory, FailedAllocationsLeaveNoRecord) {
  enable({CUPTI_ACTIVITY_KIND_MEMORY2});
  CUdeviceptr block = 0;
  EXPECT_EQ(cuMemAlloc(&block, std::size_t{1} << 50), CUDA_ERROR_OUT_OF_MEMORY);
  EXPECT_EQ(cuMemFree(12345), CUDA_ERROR_INVALID_VALUE);
  EXPECT_TRUE(flush().memory.empty());
}

TEST_F(Memory, TheSourceIsTheFileThatCalled) {
  OK(cuptiActivityEnableAllocationSource(1));
  enable({CUPTI_ACTIVITY_KIND_MEMORY2});
  void* block = nullptr;
  RT(cudaMalloc(&block, 100));
  RT(cudaFree(block));
  Records const records = flush();
  ASSERT_EQ(records.memory.size(), 2u);
  for (auto const& r : records.memory) {
    ASSERT_NE(r.source, nullptr);
    EXPECT_NE(std::string(r.source).find("cupti_tests"), std::string::npos) << r.source;
  }
}

TEST_F(Memory, GraphMemoryLivesFromLaunchToFree) {
  CUstream stream = nullptr;
  CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  CUdeviceptr block = 0;
  CU(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  CU(cuMemAllocAsync(&block, kMiB, stream));
  CU(cuMemsetD8Async(block, 1, kMiB, stream));
  CU(cuMemFreeAsync(block, stream));
  CU(cuStreamEndCapture(stream, &graph));
  CU(cuGraphInstantiate(&exec, graph, 0));
  enable({CUPTI_ACTIVITY_KIND_MEMORY2, CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_DRIVER});
  for (int i = 0; i < 3; ++i) CU(cuGraphLaunch(exec, stream));
  CU(cuStreamSynchronize(stream));
  Records const records = flush();
  std::uint32_t id = 0;
  OK(cuptiGetStreamIdEx(nullptr, stream, 0, &id));
  ASSERT_EQ(records.memory.size(), 6u);
  ASSERT_EQ(records.sets.size(), 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(std::uint64_t{records.memory[2 * i].address}, block);
    EXPECT_EQ(records.sets[i].streamId, id);
    EXPECT_NE(find_call(records.driver, records.sets[i].correlationId, "cuGraphLaunch"), nullptr);
  }
  CU(cuGraphExecDestroy(exec));
  CU(cuGraphDestroy(graph));
  CU(cuStreamDestroy(stream));
}

}  // namespace
}  // namespace tidemark::softgpu::cupti_test
