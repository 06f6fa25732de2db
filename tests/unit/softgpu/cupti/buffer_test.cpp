// SPDX-License-Identifier: Apache-2.0
// Buffers: whose they are, what happens when there are none, many threads, no lock held.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <map>
#include <set>
#include <thread>

#include "softgpu/interface/observe.h"
#include "tests/unit/softgpu/cupti/client.h"

namespace tidemark::softgpu::cupti_test {
namespace {

using Buffer = CuptiTest;

const SoftgpuObserver* observer_of(const char* library) {
  void* const handle = dlopen(library, RTLD_NOW | RTLD_NOLOAD);
  auto const get = reinterpret_cast<decltype(&softgpu_observer)>(dlsym(handle, "softgpu_observer"));
  return get();
}

void allocate_and_free(int times) {
  for (int i = 0; i < times; ++i) {
    CUdeviceptr block = 0;
    CU(cuMemAlloc(&block, 256));
    CU(cuMemFree(block));
  }
}

std::size_t dropped() {
  std::size_t count = 0;
  EXPECT_EQ(cuptiActivityGetNumDroppedRecords(nullptr, 0, &count), CUPTI_SUCCESS);
  return count;
}

TEST_F(Buffer, NothingIsRecordedUnlessEnabled) {
  EXPECT_EQ(observer_of("libcuda.so.1"), nullptr);
  allocate_and_free(10);
  EXPECT_TRUE(flush().order.empty());
  EXPECT_EQ(buffers.requested, 0);
  enable({CUPTI_ACTIVITY_KIND_MEMORY2});
  EXPECT_NE(observer_of("libcuda.so.1"), nullptr);
  allocate_and_free(1);
  OK(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MEMORY2));
  EXPECT_EQ(observer_of("libcuda.so.1"), nullptr);
  allocate_and_free(10);
  EXPECT_EQ(flush().order.size(), 2u);
}

TEST_F(Buffer, AClientWithoutBuffersLosesRecordsAndIsToldHowMany) {
  buffers.refuses = true;
  enable({CUPTI_ACTIVITY_KIND_MEMORY2});
  allocate_and_free(50);
  EXPECT_TRUE(flush().order.empty());
  EXPECT_EQ(dropped(), 100u);
  EXPECT_EQ(dropped(), 0u);  // the count starts anew
  buffers.refuses = false;
  allocate_and_free(1);
  EXPECT_EQ(flush().order.size(), 2u);
  EXPECT_EQ(dropped(), 0u);
}

TEST_F(Buffer, TooSmallBuffersComeBackEmpty) {
  buffers.bytes = sizeof(CUpti_ActivityMemory4) - 8;
  enable({CUPTI_ACTIVITY_KIND_MEMORY2});
  allocate_and_free(5);
  EXPECT_TRUE(flush().order.empty());
  EXPECT_EQ(dropped(), 10u);
  EXPECT_EQ(buffers.requested.load(), buffers.completed.load());
}

TEST_F(Buffer, SmallBuffersAreManyAndLoseNothing) {
  buffers.bytes = 3 * sizeof(CUpti_ActivityMemory4) + 8;
  enable({CUPTI_ACTIVITY_KIND_MEMORY2});
  allocate_and_free(500);
  EXPECT_EQ(flush().memory.size(), 1000u);
  EXPECT_EQ(dropped(), 0u);
  EXPECT_EQ(buffers.completed, 334);
}

TEST_F(Buffer, TheClientMayLimitTheRecordsInOne) {
  buffers.most_records = 10;
  enable({CUPTI_ACTIVITY_KIND_MEMORY2});
  allocate_and_free(50);
  EXPECT_EQ(flush().memory.size(), 100u);
  EXPECT_EQ(buffers.completed, 10);
}

TEST_F(Buffer, FullBuffersComeWithoutAFlush) {
  buffers.bytes = 4096;
  enable({CUPTI_ACTIVITY_KIND_MEMORY2});
  allocate_and_free(500);
  EXPECT_GT(buffers.completed.load(), 10);
}

TEST_F(Buffer, APeriodicFlushMovesWhatIsStaged) {
  buffers.bytes = 2 * sizeof(CUpti_ActivityMemory4);
  enable({CUPTI_ACTIVITY_KIND_MEMORY2});
  OK(cuptiActivityFlushPeriod(1));
  allocate_and_free(4);
  auto const patience = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (buffers.completed < 3 && std::chrono::steady_clock::now() < patience)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_GE(buffers.completed.load(), 3);
  OK(cuptiActivityFlushPeriod(0));
}

// No lock is held in the client's functions: they may use the device, and ask for another flush.
TEST_F(Buffer, BufferFunctionsMayCallCudaAndCupti) {
  buffers.bytes = 4 * sizeof(CUpti_ActivityMemory4);
  // They may come from CUPTI's own thread, which has no current context.
  auto const use = [this] {
    CUdeviceptr block = 0;
    EXPECT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
    EXPECT_EQ(cuMemAlloc(&block, 128), CUDA_SUCCESS);
    EXPECT_EQ(cuMemFree(block), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    EXPECT_EQ(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
  };
  enable({CUPTI_ACTIVITY_KIND_DRIVER});
  buffers.on_request = use;
  buffers.on_complete = use;
  for (int i = 0; i < 200; ++i) CU(cuCtxSynchronize());
  Records const records = flush();
  buffers.on_request = buffers.on_complete = nullptr;
  EXPECT_EQ(records.driver.size(), 200u);  // not the client's own
}

TEST_F(Buffer, ManyThreadsLoseNothing) {
  constexpr int kThreads = 8, kTimes = 500;
  buffers.bytes = 8 << 10;
  enable({CUPTI_ACTIVITY_KIND_MEMORY2, CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_MEMSET,
          CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION});
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      CU(cuCtxSetCurrent(context));
      CUstream stream = nullptr;
      CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
      OK(cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0,
                                                static_cast<std::uint64_t>(t) + 1));
      for (int i = 0; i < kTimes; ++i) {
        CUdeviceptr block = 0;
        CU(cuMemAllocAsync(&block, 256, stream));
        CU(cuMemsetD8Async(block, 1, 256, stream));
        CU(cuMemFreeAsync(block, stream));
        if (i % 100 == 0) {
          OK(cuptiActivityFlushAll(0));
        }
      }
      CU(cuStreamSynchronize(stream));
      CU(cuStreamDestroy(stream));
    });
  }
  for (std::thread& thread : threads) thread.join();
  Records const records = flush();
  EXPECT_EQ(dropped(), 0u);
  EXPECT_EQ(records.memory.size(), std::size_t{kThreads} * kTimes * 2);
  EXPECT_EQ(records.sets.size(), std::size_t{kThreads} * kTimes);
  std::set<std::uint32_t> ids;
  std::map<std::uint32_t, std::uint32_t> thread_of;
  for (auto const& call : records.driver) {
    EXPECT_TRUE(ids.insert(call.correlationId).second);
    thread_of[call.correlationId] = call.threadId;
  }
  std::map<std::uint64_t, std::set<std::uint32_t>> threads_of;
  for (auto const& e : records.external) threads_of[e.externalId].insert(thread_of[e.correlationId]);
  EXPECT_EQ(threads_of.size(), std::size_t{kThreads});
  for (auto const& [external, one] : threads_of) EXPECT_EQ(one.size(), 1u);
}

TEST_F(Buffer, EnablingAndDisablingUnderLoadIsSafe) {
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      CU(cuCtxSetCurrent(context));
      while (!stop) allocate_and_free(1);
    });
  for (int i = 0; i < 300; ++i) {
    enable({CUPTI_ACTIVITY_KIND_MEMORY2, CUPTI_ACTIVITY_KIND_DRIVER});
    OK(cuptiActivityFlushAll(0));
    OK(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_DRIVER));
    OK(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MEMORY2));
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(observer_of("libcuda.so.1"), nullptr);
  EXPECT_EQ(dropped(), 0u);
}

TEST_F(Buffer, WhatIsNotARecordIsNotRead) {
  alignas(8) std::uint8_t bytes[64] = {};
  CUpti_Activity* record = nullptr;
  EXPECT_EQ(cuptiActivityGetNextRecord(nullptr, 64, &record), CUPTI_ERROR_INVALID_PARAMETER);
  EXPECT_EQ(cuptiActivityGetNextRecord(bytes, 64, nullptr), CUPTI_ERROR_INVALID_PARAMETER);
  EXPECT_EQ(cuptiActivityGetNextRecord(bytes, 0, &record), CUPTI_ERROR_MAX_LIMIT_REACHED);
  EXPECT_EQ(cuptiActivityGetNextRecord(bytes, 64, &record), CUPTI_ERROR_INVALID_KIND);
  reinterpret_cast<CUpti_Activity*>(bytes)->kind = CUPTI_ACTIVITY_KIND_MEMORY2;
  EXPECT_EQ(cuptiActivityGetNextRecord(bytes, 64, &record), CUPTI_ERROR_INVALID_KIND);  // cut off
  record = reinterpret_cast<CUpti_Activity*>(bytes + 64);
  EXPECT_EQ(cuptiActivityGetNextRecord(bytes, 64, &record), CUPTI_ERROR_INVALID_PARAMETER);
  EXPECT_EQ(cuptiActivityRegisterCallbacks(nullptr, nullptr), CUPTI_ERROR_INVALID_PARAMETER);
}

TEST_F(Buffer, AForkedChildIsToldAndDoesNotHang) {
  enable({CUPTI_ACTIVITY_KIND_MEMORY2, CUPTI_ACTIVITY_KIND_DRIVER});
  allocate_and_free(1);
  pid_t const child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    CUdeviceptr block = 0;
    bool const right = cuMemAlloc(&block, 1) == CUDA_ERROR_NOT_INITIALIZED &&
                       cuptiActivityFlushAll(0) == CUPTI_ERROR_NOT_INITIALIZED &&
                       cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY) == CUPTI_ERROR_NOT_INITIALIZED;
    _exit(right ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(flush().memory.size(), 2u);
}

TEST_F(Buffer, AttributesAreKept) {
  std::size_t value = 0, size = sizeof value;
  OK(cuptiActivityGetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &size, &value));
  EXPECT_EQ(value, 3200000u);
  value = 1 << 20;
  OK(cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &size, &value));
  value = 0;
  OK(cuptiActivityGetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &size, &value));
  EXPECT_EQ(value, std::size_t{1} << 20);
  size = 1;
  EXPECT_EQ(cuptiActivityGetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &size, &value),
            CUPTI_ERROR_PARAMETER_SIZE_NOT_SUFFICIENT);
  EXPECT_EQ(cuptiActivityGetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_FORCE_INT, &size, &value),
            CUPTI_ERROR_INVALID_PARAMETER);
}

}  // namespace
}  // namespace tidemark::softgpu::cupti_test
