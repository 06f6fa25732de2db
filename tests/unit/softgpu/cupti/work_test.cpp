// SPDX-License-Identifier: Apache-2.0
// Kernels, copies and sets; the calls that queued them; what waits.
#include <dlfcn.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "softgpu/interface/softgpu.h"
#include "tests/unit/softgpu/cupti/client.h"

namespace tidemark::softgpu::cupti_test {
namespace {

using Work = CuptiTest;

TEST_F(Work, KernelsCarryNameShapeAndTime) {
  CUfunction const fill = function("_ZN4test4fillEPjjm");
  CUstream stream = nullptr;
  CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CUdeviceptr block = 0;
  CU(cuMemAlloc(&block, 4096 * 4));
  std::uint64_t before = 0, after = 0;
  OK(cuptiGetTimestamp(&before));
  enable({CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_DRIVER});
  std::size_t n = 4096;
  for (unsigned value = 0; value < 3; ++value) {
    void* arguments[] = {&block, &value, &n};
    CU(cuLaunchKernel(fill, 16 + value, 1, 1, 256, 1, 1, 128, stream, arguments, nullptr));
  }
  CU(cuStreamSynchronize(stream));
  OK(cuptiGetTimestamp(&after));
  std::uint32_t stream_id = 0, context_id = 0;
  OK(cuptiGetStreamIdEx(context, stream, 0, &stream_id));
  OK(cuptiGetContextId(context, &context_id));
  Records const records = flush();

  ASSERT_EQ(records.kernels.size(), 3u);
  std::set<std::uint32_t> correlations;
  for (std::size_t i = 0; i < 3; ++i) {
    auto const& k = records.kernels[i];
    EXPECT_EQ(k.kind, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
    EXPECT_STREQ(k.name, "_ZN4test4fillEPjjm");
    EXPECT_EQ(k.gridX, static_cast<int>(16 + i));
    EXPECT_EQ(k.gridY * k.gridZ, 1);
    EXPECT_EQ(k.blockX, 256);
    EXPECT_EQ(k.dynamicSharedMemory, 128);
    EXPECT_EQ(k.deviceId, 0u);
    EXPECT_EQ(k.contextId, context_id);
    EXPECT_EQ(k.streamId, stream_id);
    EXPECT_EQ(std::uint64_t{k.queued}, 0u);
    EXPECT_GE(std::uint64_t{k.start}, before);
    EXPECT_GE(std::uint64_t{k.end}, std::uint64_t{k.start});
    EXPECT_LE(std::uint64_t{k.end}, after);
    if (i > 0) {
      EXPECT_GE(std::uint64_t{k.start}, std::uint64_t{records.kernels[i - 1].end});
    }
    auto const* const call = find_call(records.driver, k.correlationId, "cuLaunchKernel");
    ASSERT_NE(call, nullptr);
    EXPECT_LE(std::uint64_t{call->start}, std::uint64_t{call->end});
    EXPECT_EQ(call->returnValue, 0u);
    correlations.insert(k.correlationId);
  }
  EXPECT_EQ(correlations.size(), 3u);
  CU(cuMemFree(block));
  CU(cuStreamDestroy(stream));
}

TEST_F(Work, TheOtherKindOfKernelRecordAndLatencyTimestamps) {
  OK(cuptiActivityEnableLatencyTimestamps(1));
  enable({CUPTI_ACTIVITY_KIND_KERNEL});
  CU(cuLaunchKernel(function("_ZN4test7nothingEv"), 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
  CU(cuCtxSynchronize());
  Records const records = flush();
  ASSERT_EQ(records.kernels.size(), 1u);
  EXPECT_EQ(records.kernels[0].kind, CUPTI_ACTIVITY_KIND_KERNEL);
  EXPECT_NE(std::uint64_t{records.kernels[0].queued}, 0u);
  EXPECT_LE(std::uint64_t{records.kernels[0].queued}, std::uint64_t{records.kernels[0].start});
}

TEST_F(Work, CopiesAndSetsSayBetweenWhat) {
  std::vector<char> pageable(1000);
  void* pinned = nullptr;
  CUdeviceptr a = 0, b = 0;
  CU(cuMemHostAlloc(&pinned, 1000, 0));
  CU(cuMemAlloc(&a, 1000));
  CU(cuMemAlloc(&b, 1000));
  enable({CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET});
  CU(cuMemcpyHtoD(a, pageable.data(), 1000));
  CU(cuMemcpyHtoDAsync(a, pinned, 900, nullptr));
  CU(cuMemcpyDtoDAsync(b, a, 800, nullptr));
  CU(cuMemcpyDtoH(pageable.data(), b, 700));
  CU(cuMemcpyDtoHAsync(pinned, b, 600, nullptr));
  CU(cuMemsetD32Async(a, 0x01020304, 100, nullptr));
  CU(cuMemsetD8(a, 7, 33));
  CU(cuCtxSynchronize());
  Records const records = flush();
  struct Expected {
    int copy, source, destination;
    std::uint64_t bytes;
    bool async;
  };
  Expected const expected[] = {
      {CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, 1000,
       false},
      {CUPTI_ACTIVITY_MEMCPY_KIND_HTOD, CUPTI_ACTIVITY_MEMORY_KIND_PINNED, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, 900,
       true},
      {CUPTI_ACTIVITY_MEMCPY_KIND_DTOD, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, 800,
       true},
      {CUPTI_ACTIVITY_MEMCPY_KIND_DTOH, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE, 700,
       false},
      {CUPTI_ACTIVITY_MEMCPY_KIND_DTOH, CUPTI_ACTIVITY_MEMORY_KIND_DEVICE, CUPTI_ACTIVITY_MEMORY_KIND_PINNED, 600,
       true},
  };
  ASSERT_EQ(records.copies.size(), std::size(expected));
  for (std::size_t i = 0; i < std::size(expected); ++i) {
    SCOPED_TRACE(i);
    auto const& r = records.copies[i];
    EXPECT_EQ(r.copyKind, expected[i].copy);
    EXPECT_EQ(r.srcKind, expected[i].source);
    EXPECT_EQ(r.dstKind, expected[i].destination);
    EXPECT_EQ(std::uint64_t{r.bytes}, expected[i].bytes);
    EXPECT_EQ((r.flags & CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC) != 0, expected[i].async);
    EXPECT_EQ(r.runtimeCorrelationId, 0u);
    EXPECT_LE(std::uint64_t{r.start}, std::uint64_t{r.end});
  }
  ASSERT_EQ(records.sets.size(), 2u);
  EXPECT_EQ(records.sets[0].value, 0x01020304u);
  EXPECT_EQ(std::uint64_t{records.sets[0].bytes}, 400u);
  EXPECT_EQ(records.sets[0].flags, CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC);
  EXPECT_EQ(std::uint64_t{records.sets[1].bytes}, 33u);
  EXPECT_EQ(records.sets[1].flags, CUPTI_ACTIVITY_FLAG_NONE);
  CU(cuMemFreeHost(pinned));
  CU(cuMemFree(a));
  CU(cuMemFree(b));
}

TEST_F(Work, CopiesBetweenDevicesAreAKindOfTheirOwn) {
  CUcontext second = nullptr;
  CU(cuDevicePrimaryCtxRetain(&second, 1));
  CUdeviceptr here = 0, there = 0;
  CU(cuMemAlloc(&here, 512));
  CU(cuCtxSetCurrent(second));
  CU(cuMemAlloc(&there, 512));
  CU(cuCtxSetCurrent(context));
  enable({CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMCPY2});
  CU(cuMemcpyPeer(there, second, here, context, 512));
  CU(cuCtxSynchronize());
  Records const records = flush();
  EXPECT_TRUE(records.copies.empty());
  ASSERT_EQ(records.peer_copies.size(), 1u);
  EXPECT_EQ(records.peer_copies[0].srcDeviceId, 0u);
  EXPECT_EQ(records.peer_copies[0].dstDeviceId, 1u);
  EXPECT_EQ(records.peer_copies[0].copyKind, CUPTI_ACTIVITY_MEMCPY_KIND_PTOP);
  CU(cuMemFree(here));
  CU(cuDevicePrimaryCtxRelease(1));
}

TEST_F(Work, ARuntimeCallAndTheDriverCallsInItShareAnId) {
  enable({CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_MEMORY2,
          CUPTI_ACTIVITY_KIND_MEMCPY});
  void* block = nullptr;
  char host[64] = "";
  RT(cudaMalloc(&block, 64));
  RT(cudaMemcpy(block, host, 64, cudaMemcpyHostToDevice));
  RT(cudaMemcpyAsync(host, block, 64, cudaMemcpyDeviceToHost, nullptr));
  RT(cudaFree(block));
  EXPECT_EQ(cudaFree(reinterpret_cast<void*>(123)), cudaErrorInvalidValue);
  Records const records = flush();
  EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidValue);
  ASSERT_EQ(records.runtime.size(), 5u);
  std::set<std::uint32_t> ids;
  for (auto const& call : records.runtime) ids.insert(call.correlationId);
  EXPECT_EQ(ids.size(), 5u);
  for (auto const& call : records.driver) EXPECT_TRUE(ids.contains(call.correlationId));
  ASSERT_EQ(records.memory.size(), 2u);
  auto const allocated = records.memory[0].correlationId;
  auto const* const outer = find_call(records.runtime, allocated, "cudaMalloc_v3020");
  auto const* const inner = find_call(records.driver, allocated, "cuMemAlloc_v2");
  ASSERT_TRUE(outer != nullptr && inner != nullptr);
  EXPECT_LE(std::uint64_t{outer->start}, std::uint64_t{inner->start});
  EXPECT_LE(std::uint64_t{inner->end}, std::uint64_t{outer->end});
  EXPECT_EQ(outer->threadId, inner->threadId);
  ASSERT_EQ(records.copies.size(), 2u);
  EXPECT_NE(find_call(records.runtime, records.copies[0].correlationId, "cudaMemcpy_v3020"), nullptr);
  EXPECT_EQ(records.copies[0].runtimeCorrelationId, records.copies[0].correlationId);
  EXPECT_EQ(records.copies[0].flags, CUPTI_ACTIVITY_FLAG_NONE);
  EXPECT_EQ(records.copies[1].flags, CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC);
  auto const failed =
      std::count_if(records.runtime.begin(), records.runtime.end(), [](auto const& c) { return c.returnValue != 0; });
  EXPECT_EQ(failed, 1);
}

TEST_F(Work, ExternalIdsComeOncePerCallAndKind) {
  enable({CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
          CUPTI_ACTIVITY_KIND_MEMSET});
  CUdeviceptr block = 0;
  CU(cuMemAlloc(&block, 256));
  OK(cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 7));
  OK(cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM1, 70));
  OK(cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 8));
  RT(cudaMemset(reinterpret_cast<void*>(block), 0, 256));
  std::uint64_t last = 0;
  OK(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &last));
  EXPECT_EQ(last, 8u);
  OK(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM1, nullptr));
  CU(cuMemsetD8(block, 1, 256));
  OK(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &last));
  EXPECT_EQ(last, 7u);
  EXPECT_EQ(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &last),
            CUPTI_ERROR_QUEUE_EMPTY);
  EXPECT_EQ(cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_INVALID, 1),
            CUPTI_ERROR_INVALID_PARAMETER);
  CU(cuMemFree(block));
  Records const records = flush();
  ASSERT_EQ(records.sets.size(), 2u);
  ASSERT_EQ(records.external.size(), 3u);
  EXPECT_EQ(std::uint64_t{records.external[0].externalId}, 8u);
  EXPECT_EQ(std::uint64_t{records.external[1].externalId}, 70u);
  EXPECT_EQ(records.external[0].correlationId, records.sets[0].correlationId);
  EXPECT_EQ(records.external[1].correlationId, records.sets[0].correlationId);
  EXPECT_EQ(std::uint64_t{records.external[2].externalId}, 7u);
  EXPECT_EQ(records.external[2].correlationId, records.sets[1].correlationId);
  // Documented: they precede the API record.
  auto const first_external =
      std::find(records.order.begin(), records.order.end(), CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
  ASSERT_NE(first_external, records.order.end());
  EXPECT_EQ(*(first_external + 2), CUPTI_ACTIVITY_KIND_DRIVER);
}

// As cuBLAS does: work that no call of the driver or the runtime has queued.
TEST_F(Work, ASisterLibrarysKernelCarriesTheThreadsExternalId) {
  enable(
      {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION});
  auto const submit = reinterpret_cast<decltype(&softgpu_submit)>(dlsym(RTLD_DEFAULT, "softgpu_submit"));
  SoftgpuWork const work{.name = "sgemm", .run = [](void*) {}};
  OK(cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 5));
  EXPECT_EQ(submit(nullptr, &work), 0);
  OK(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, nullptr));
  CU(cuCtxSynchronize());
  Records const records = flush();
  ASSERT_EQ(records.kernels.size(), 1u);
  EXPECT_STREQ(records.kernels[0].name, "sgemm");
  ASSERT_EQ(records.external.size(), 1u);
  EXPECT_EQ(records.external[0].correlationId, records.kernels[0].correlationId);
  EXPECT_EQ(std::uint64_t{records.external[0].externalId}, 5u);
}

TEST_F(Work, SynchronizationsAndEvents) {
  CUstream stream = nullptr;
  CUevent event = nullptr;
  CU(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  CU(cuEventCreate(&event, 0));
  enable({CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, CUPTI_ACTIVITY_KIND_CUDA_EVENT});
  CU(cuEventRecord(event, stream));
  CU(cuStreamWaitEvent(nullptr, event, 0));
  CU(cuEventSynchronize(event));
  CU(cuStreamSynchronize(stream));
  RT(cudaDeviceSynchronize());
  std::uint32_t stream_id = 0;
  OK(cuptiGetStreamIdEx(nullptr, stream, 0, &stream_id));
  Records const records = flush();
  ASSERT_EQ(records.events.size(), 1u);
  EXPECT_EQ(records.events[0].streamId, stream_id);
  CUpti_ActivitySynchronizationType const types[] = {
      CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE,
      CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE, CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE};
  ASSERT_EQ(records.synchronizations.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    auto const& r = records.synchronizations[i];
    EXPECT_EQ(r.type, types[i]);
    EXPECT_LE(std::uint64_t{r.start}, std::uint64_t{r.end});
    bool const has_event = i < 2;
    EXPECT_EQ(r.cudaEventId, has_event ? records.events[0].eventId : CUPTI_SYNCHRONIZATION_INVALID_VALUE);
    if (has_event) {
      EXPECT_EQ(std::uint64_t{r.cudaEventSyncId}, std::uint64_t{records.events[0].cudaEventSyncId});
    }
  }
  EXPECT_EQ(records.synchronizations[2].streamId, stream_id);
  EXPECT_EQ(records.synchronizations[3].streamId, CUPTI_SYNCHRONIZATION_INVALID_VALUE);
  CU(cuEventDestroy(event));
  CU(cuStreamDestroy(stream));
}

TEST_F(Work, DevicesContextsAndStreams) {
  CUstream early = nullptr;
  CU(cuStreamCreateWithPriority(&early, CU_STREAM_NON_BLOCKING, -2));
  for (CUpti_ActivityKind const kind :
       {CUPTI_ACTIVITY_KIND_DEVICE, CUPTI_ACTIVITY_KIND_CONTEXT, CUPTI_ACTIVITY_KIND_STREAM})
    OK(cuptiActivityEnableAndDump(kind));
  CUstream late = nullptr;
  CU(cuStreamCreate(&late, CU_STREAM_DEFAULT));
  Records const records = flush();
  ASSERT_EQ(records.devices.size(), 2u);
  EXPECT_NE(std::string(records.devices[0].name).find("SoftGPU"), std::string::npos) << records.devices[0].name;
  std::size_t total = 0;
  CU(cuDeviceTotalMem(&total, 0));
  EXPECT_EQ(std::uint64_t{records.devices[0].globalMemorySize}, total);
  std::uint32_t context_id = 0, early_id = 0, late_id = 0;
  OK(cuptiGetContextId(context, &context_id));
  OK(cuptiGetStreamId(context, early, &early_id));
  OK(cuptiGetStreamId(context, late, &late_id));
  ASSERT_EQ(records.contexts.size(), 1u);
  EXPECT_EQ(records.contexts[0].contextId, context_id);
  auto const find = [&](std::uint32_t id) {
    return std::find_if(records.streams.begin(), records.streams.end(),
                        [&](auto const& s) { return s.streamId == id; });
  };
  ASSERT_NE(find(early_id), records.streams.end());
  EXPECT_EQ(find(early_id)->flag, CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NON_BLOCKING);
  EXPECT_EQ(static_cast<int>(find(early_id)->priority), -2);
  ASSERT_NE(find(late_id), records.streams.end());
  EXPECT_EQ(find(late_id)->flag, CUPTI_ACTIVITY_STREAM_CREATE_FLAG_DEFAULT);
  ASSERT_NE(find(records.contexts[0].nullStreamId), records.streams.end());
  EXPECT_EQ(find(records.contexts[0].nullStreamId)->flag, CUPTI_ACTIVITY_STREAM_CREATE_FLAG_NULL);
  CU(cuStreamDestroy(early));
  CU(cuStreamDestroy(late));
}

TEST_F(Work, AContextsSettingsWinOverTheGlobalOnes) {
  CUcontext other = nullptr;
  CU(cuCtxCreate(&other, nullptr, 0, 0));
  enable({CUPTI_ACTIVITY_KIND_MEMORY2});
  OK(cuptiActivityDisableContext(other, CUPTI_ACTIVITY_KIND_MEMORY2));
  CUdeviceptr a = 0, b = 0;
  CU(cuMemAlloc(&a, 100));
  CU(cuCtxSetCurrent(context));
  CU(cuMemAlloc(&b, 100));
  Records records = flush();
  ASSERT_EQ(records.memory.size(), 1u);
  EXPECT_EQ(std::uint64_t{records.memory[0].address}, b);
  OK(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_MEMORY2));
  OK(cuptiActivityEnableContext(other, CUPTI_ACTIVITY_KIND_MEMORY2));
  CU(cuMemFree(b));
  CU(cuCtxDestroy(other));
  records = flush();
  ASSERT_EQ(records.memory.size(), 1u);
  EXPECT_EQ(std::uint64_t{records.memory[0].address}, a);
}

TEST_F(Work, SingleFunctionsCanBeSelected) {
  OK(cuptiActivityEnableDriverApi(CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2, 1));
  enable({CUPTI_ACTIVITY_KIND_RUNTIME});
  OK(cuptiActivityEnableRuntimeApi(CUPTI_RUNTIME_TRACE_CBID_cudaGetDevice_v3020, 0));
  void* block = nullptr;
  int device = 0;
  RT(cudaMalloc(&block, 10));
  RT(cudaGetDevice(&device));
  RT(cudaFree(block));
  Records const records = flush();
  ASSERT_EQ(records.driver.size(), 1u);
  EXPECT_EQ(records.driver[0].cbid, CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2);
  EXPECT_EQ(records.runtime.size(), 2u);
  EXPECT_EQ(cuptiActivityEnableDriverApi(CUPTI_DRIVER_TRACE_CBID_SIZE, 1), CUPTI_ERROR_INVALID_PARAMETER);
}

TEST_F(Work, AClientsClockStampsEverything) {
  static std::atomic<std::uint64_t> calls{0};
  // Far from any real time, and running.
  auto const clock = []() -> std::uint64_t {
    ++calls;
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 5'000'000'000'000'000'000 + static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(t.tv_nsec);
  };
  OK(cuptiActivityRegisterTimestampCallback(clock));
  enable({CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_MEMORY2});
  CUdeviceptr block = 0;
  CU(cuMemAlloc(&block, 256));
  CU(cuMemsetD8(block, 1, 256));
  CU(cuMemFree(block));
  Records const records = flush();
  EXPECT_GT(calls.load(), 0u);
  ASSERT_EQ(records.sets.size(), 1u);
  auto const* const call = find_call(records.driver, records.sets[0].correlationId, "cuMemsetD8_v2");
  ASSERT_NE(call, nullptr);
  EXPECT_GT(std::uint64_t{call->start}, 5'000'000'000'000'000'000u);
  // The device's time is moved by a difference seen at another moment: microseconds, not more.
  EXPECT_GE(std::uint64_t{records.sets[0].start} + 1'000'000, std::uint64_t{call->start});
  EXPECT_LE(std::uint64_t{records.sets[0].end}, std::uint64_t{call->end} + 1'000'000);
  EXPECT_EQ(cuptiActivityRegisterTimestampCallback(nullptr), CUPTI_ERROR_INVALID_PARAMETER);
}

}  // namespace
}  // namespace tidemark::softgpu::cupti_test
