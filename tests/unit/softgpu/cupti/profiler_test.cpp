// SPDX-License-Identifier: Apache-2.0
// What PyTorch's profiler (Kineto) calls, in its order; and that what is not there says so.
#include <cupti_pcsampling.h>
#include <cupti_profiler_target.h>

#include <set>

#include "tests/unit/softgpu/cupti/client.h"

namespace tidemark::softgpu::cupti_test {
namespace {

using Profiler = CuptiTest;

TEST_F(Profiler, ASessionAsKinetoRunsIt) {
  for (int session = 0; session < 2; ++session) {
    SCOPED_TRACE(session);
    std::uint32_t version = 0;
    OK(cuptiGetVersion(&version));
    EXPECT_EQ(version, static_cast<std::uint32_t>(CUPTI_API_VERSION));
    CUpti_SubscriberHandle subscriber = nullptr;
    static int callbacks = 0;
    callbacks = 0;
    OK(cuptiSubscribe(
        &subscriber, [](void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) { ++callbacks; }, nullptr));
    OK(cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API));
    OK(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CONTEXT_CREATED));
    std::size_t size = sizeof(std::size_t), value = 0;
    OK(cuptiActivityGetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &size, &value));
    OK(cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, &size, &value));
    OK(cuptiActivitySetAttribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_POOL_LIMIT, &size, &value));
    enable({CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
            CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER,
            CUPTI_ACTIVITY_KIND_OVERHEAD, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, CUPTI_ACTIVITY_KIND_CUDA_EVENT});
    OK(cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 11));
    OK(cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM1, 22));
    void* block = nullptr;
    RT(cudaMalloc(&block, 1024));
    RT(cudaMemsetAsync(block, 0, 1024, nullptr));
    CU(cuLaunchKernel(function("_ZN4test7nothingEv"), 2, 1, 1, 32, 1, 1, 0, nullptr, nullptr, nullptr));
    std::uint64_t last = 0;
    OK(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM1, &last));
    OK(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &last));
    RT(cudaDeviceSynchronize());
    std::uint32_t device = 9;
    OK(cuptiGetDeviceId(context, &device));
    EXPECT_EQ(device, 0u);
    OK(cuptiActivityFlushAll(0));
    Records const records = flush();
    std::size_t dropped = 1;
    OK(cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped));
    EXPECT_EQ(dropped, 0u);
    ASSERT_EQ(records.kernels.size(), 1u);
    ASSERT_EQ(records.sets.size(), 1u);
    EXPECT_GT(callbacks, 0);
    std::set<std::uint64_t> external;
    for (auto const& e : records.external)
      if (e.correlationId == records.kernels[0].correlationId) external.insert(e.externalId);
    EXPECT_EQ(external, (std::set<std::uint64_t>{11, 22}));
    RT(cudaFree(block));
    OK(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
    OK(cuptiUnsubscribe(subscriber));
    OK(cuptiFinalize());
    // A new session registers its functions anew, as the fixture did for the first.
    if (session == 0) {
      TearDown();
      module = nullptr;
      SetUp();
    }
  }
}

TEST_F(Profiler, KindsThatAreNotThereAreRefusedAsDocumented) {
  for (CUpti_ActivityKind const kind :
       {CUPTI_ACTIVITY_KIND_NAME, CUPTI_ACTIVITY_KIND_MARKER, CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER,
        CUPTI_ACTIVITY_KIND_NVLINK, CUPTI_ACTIVITY_KIND_GRAPH_TRACE, CUPTI_ACTIVITY_KIND_ENVIRONMENT,
        CUPTI_ACTIVITY_KIND_MEMORY, CUPTI_ACTIVITY_KIND_INVALID, CUPTI_ACTIVITY_KIND_COUNT})
    EXPECT_EQ(cuptiActivityEnable(kind), CUPTI_ERROR_INVALID_KIND) << kind;
  EXPECT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MODULE), CUPTI_ERROR_NOT_COMPATIBLE);
  EXPECT_EQ(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_PC_SAMPLING), CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED);
  EXPECT_EQ(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_NVLINK), CUPTI_ERROR_INVALID_KIND);
  EXPECT_EQ(cuptiActivityEnableContext(context, CUPTI_ACTIVITY_KIND_RUNTIME), CUPTI_ERROR_NOT_COMPATIBLE);
  EXPECT_EQ(cuptiActivityEnableContext(nullptr, CUPTI_ACTIVITY_KIND_MEMCPY), CUPTI_ERROR_INVALID_CONTEXT);
}

TEST_F(Profiler, WhatIsNotSupportedSaysSo) {
  CUpti_Profiler_Initialize_Params initialize{CUpti_Profiler_Initialize_Params_STRUCT_SIZE};
  EXPECT_EQ(cuptiProfilerInitialize(&initialize), CUPTI_ERROR_NOT_SUPPORTED);
  CUpti_EventGroup group = nullptr;
  EXPECT_EQ(cuptiEventGroupCreate(context, &group, 0), CUPTI_ERROR_NOT_SUPPORTED);
  CUpti_MetricID metric = 0;
  EXPECT_EQ(cuptiMetricGetIdFromName(0, "ipc", &metric), CUPTI_ERROR_NOT_SUPPORTED);
  CUpti_PCSamplingEnableParams sampling{};
  EXPECT_EQ(cuptiPCSamplingEnable(&sampling), CUPTI_ERROR_NOT_SUPPORTED);
  CUpti_ActivityAutoBoostState boost{};
  EXPECT_EQ(cuptiGetAutoBoostState(context, &boost), CUPTI_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuptiActivityEnableHWTrace(1), CUPTI_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(cuptiActivityConfigurePCSampling(context, nullptr), CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED);
  EXPECT_EQ(cuptiActivityConfigureUnifiedMemoryCounter(nullptr, 0), CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_ON_DEVICE);
  EXPECT_EQ(cuptiGetLastError(), CUPTI_ERROR_UM_PROFILING_NOT_SUPPORTED_ON_DEVICE);
}

TEST_F(Profiler, QuestionsAreAnswered) {
  const char* text = nullptr;
  OK(cuptiGetResultString(CUPTI_ERROR_INVALID_KIND, &text));
  EXPECT_STREQ(text, "CUPTI_ERROR_INVALID_KIND");
  EXPECT_EQ(cuptiGetResultString(static_cast<CUptiResult>(998), &text), CUPTI_ERROR_INVALID_PARAMETER);
  int supported = 0;
  OK(cuptiDeviceSupported(0, &supported));
  EXPECT_EQ(supported, 1);
  EXPECT_EQ(cuptiDeviceSupported(99, &supported), CUPTI_ERROR_INVALID_DEVICE);
  OK(cuptiComputeCapabilitySupported(7, 0, &supported));
  EXPECT_EQ(supported, 0);
  CUpti_DeviceVirtualizationMode mode{};
  OK(cuptiDeviceVirtualizationMode(0, &mode));
  EXPECT_EQ(mode, CUPTI_DEVICE_VIRTUALIZATION_MODE_NONE);
  std::uint32_t id = 0;
  EXPECT_EQ(cuptiGetContextId(nullptr, &id), CUPTI_ERROR_INVALID_CONTEXT);
  EXPECT_EQ(cuptiGetStreamId(nullptr, reinterpret_cast<CUstream>(0x1234567), &id), CUPTI_ERROR_INVALID_STREAM);
  std::uint32_t legacy = 0, own = 0;
  OK(cuptiGetStreamIdEx(nullptr, nullptr, 0, &legacy));
  OK(cuptiGetStreamIdEx(nullptr, nullptr, 1, &own));
  EXPECT_NE(legacy, own);
  CUpti_ActivityThreadIdType type{};
  OK(cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM));
  OK(cuptiGetThreadIdType(&type));
  EXPECT_EQ(type, CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
  OK(cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT));
  std::uint64_t first = 0, second = 0;
  OK(cuptiGetTimestamp(&first));
  OK(cuptiGetTimestamp(&second));
  EXPECT_LE(first, second);
}

}  // namespace
}  // namespace tidemark::softgpu::cupti_test
