// SPDX-License-Identifier: Apache-2.0
// Callbacks: who may subscribe, what each holds, and that CUDA and CUPTI can be called from inside.
#include <cstring>
#include <thread>

#include "tests/unit/softgpu/cupti/client.h"

namespace tidemark::softgpu::cupti_test {
namespace {

struct Seen {
  CUpti_CallbackDomain domain;
  CUpti_CallbackId id;
  CUpti_CallbackData data;  // API domains
  CUpti_ResourceData resource;
  CUpti_SynchronizeData synchronized;
  std::string symbol;
  CUdeviceptr address = 0;  // cuMemAlloc, at exit
  std::size_t bytes = 0;    // cuMemAlloc
  int result = -1;
  std::uint64_t client_data = 0;
};

class Callback : public CuptiTest {
 protected:
  void subscribe() { OK(cuptiSubscribe(&subscriber, &Callback::call, this)); }

  static void CUPTIAPI call(void* self, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
    static_cast<Callback*>(self)->on_callback(domain, id, data);
  }

  void on_callback(CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
    Seen one{};
    one.domain = domain;
    one.id = id;
    if (domain == CUPTI_CB_DOMAIN_RESOURCE) one.resource = *static_cast<const CUpti_ResourceData*>(data);
    if (domain == CUPTI_CB_DOMAIN_SYNCHRONIZE) one.synchronized = *static_cast<const CUpti_SynchronizeData*>(data);
    if (domain == CUPTI_CB_DOMAIN_DRIVER_API || domain == CUPTI_CB_DOMAIN_RUNTIME_API) {
      one.data = *static_cast<const CUpti_CallbackData*>(data);
      if (one.data.symbolName != nullptr) one.symbol = one.data.symbolName;
      bool const is_exit = one.data.callbackSite == CUPTI_API_EXIT;
      if (!is_exit) *one.data.correlationData = 1000 + one.data.correlationId;
      one.client_data = *one.data.correlationData;
      if (is_exit) one.result = *static_cast<const int*>(one.data.functionReturnValue);
      if (domain == CUPTI_CB_DOMAIN_DRIVER_API && id == CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2) {
        auto const& params = *static_cast<const cuMemAlloc_v2_params*>(one.data.functionParams);
        one.bytes = params.bytesize;
        if (is_exit && params.dptr != nullptr) one.address = *params.dptr;
      }
    }
    if (inside) inside(domain, id, data);
    std::lock_guard const lock(mutex);
    seen.push_back(one);
  }

  CUpti_SubscriberHandle subscriber = nullptr;
  std::mutex mutex;
  std::vector<Seen> seen;
  std::function<void(CUpti_CallbackDomain, CUpti_CallbackId, const void*)> inside;
};

TEST_F(Callback, OneSubscriberAtATimeAndItsName) {
  CUpti_SubscriberParams first{.structSize = CUpti_SubscriberParams_STRUCT_SIZE, .subscriberName = "the first"};
  OK(cuptiSubscribe_v2(&subscriber, &Callback::call, this, &first));
  CUpti_SubscriberHandle other = nullptr;
  EXPECT_EQ(cuptiSubscribe(&other, &Callback::call, this), CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  char holder[CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN] = "";
  CUpti_SubscriberParams second{.structSize = CUpti_SubscriberParams_STRUCT_SIZE,
                                .subscriberName = nullptr,
                                .oldSubscriberName = holder,
                                .oldSubscriberSize = sizeof holder};
  EXPECT_EQ(cuptiSubscribe_v2(&other, &Callback::call, this, &second), CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  EXPECT_STREQ(holder, "CUPTI for the first");
  EXPECT_EQ(cuptiGetLastError(), CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
  EXPECT_EQ(cuptiGetLastError(), CUPTI_SUCCESS);
  OK(cuptiUnsubscribe(subscriber));
  EXPECT_EQ(cuptiUnsubscribe(subscriber), CUPTI_ERROR_INVALID_PARAMETER);
  CUpti_SubscriberParams empty{};
  EXPECT_EQ(cuptiSubscribe_v2(&other, &Callback::call, this, &empty), CUPTI_ERROR_INVALID_PARAMETER);
  EXPECT_EQ(cuptiSubscribe(nullptr, &Callback::call, this), CUPTI_ERROR_INVALID_PARAMETER);
  OK(cuptiSubscribe(&other, &Callback::call, this));
  OK(cuptiUnsubscribe(other));
}

TEST_F(Callback, ACallIsSeenWithItsArgumentsAndResult) {
  subscribe();
  OK(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2));
  std::uint32_t on = 0;
  OK(cuptiGetCallbackState(&on, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2));
  EXPECT_EQ(on, 1u);
  OK(cuptiGetCallbackState(&on, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemFree_v2));
  EXPECT_EQ(on, 0u);
  CUdeviceptr block = 0;
  CU(cuMemAlloc(&block, 12345));
  CU(cuMemFree(block));
  EXPECT_EQ(cuMemAlloc(nullptr, 1), CUDA_ERROR_INVALID_VALUE);
  ASSERT_EQ(seen.size(), 4u);
  std::uint32_t context_id = 0;
  OK(cuptiGetContextId(context, &context_id));
  for (Seen const& s : seen) {
    EXPECT_STREQ(s.data.functionName, "cuMemAlloc_v2");
    EXPECT_EQ(s.data.context, context);
    EXPECT_EQ(s.data.contextUid, context_id);
    EXPECT_EQ(s.client_data, 1000u + s.data.correlationId);
    EXPECT_EQ(s.data.symbolName, nullptr);
  }
  EXPECT_EQ(seen[0].data.callbackSite, CUPTI_API_ENTER);
  EXPECT_EQ(seen[0].bytes, 12345u);
  EXPECT_EQ(seen[1].data.callbackSite, CUPTI_API_EXIT);
  EXPECT_EQ(seen[1].address, block);
  EXPECT_EQ(seen[1].result, CUDA_SUCCESS);
  EXPECT_EQ(seen[1].data.correlationId, seen[0].data.correlationId);
  EXPECT_EQ(seen[3].result, CUDA_ERROR_INVALID_VALUE);
}

TEST_F(Callback, TheRuntimesCallsNestTheDrivers) {
  subscribe();
  OK(cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API));
  OK(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuMemAlloc_v2));
  void* block = nullptr;
  RT(cudaMalloc(&block, 77));
  OK(cuptiEnableDomain(0, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API));
  RT(cudaFree(block));
  ASSERT_EQ(seen.size(), 4u);
  EXPECT_STREQ(seen[0].data.functionName, "cudaMalloc");
  EXPECT_EQ(seen[0].id, CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020);
  EXPECT_STREQ(seen[1].data.functionName, "cuMemAlloc_v2");
  EXPECT_EQ(seen[2].data.callbackSite, CUPTI_API_EXIT);
  EXPECT_STREQ(seen[3].data.functionName, "cudaMalloc");
  EXPECT_EQ(seen[3].result, cudaSuccess);
  for (Seen const& s : seen) EXPECT_EQ(s.data.correlationId, seen[0].data.correlationId);
}

TEST_F(Callback, ALaunchNamesItsKernel) {
  CUfunction const nothing = function("_ZN4test7nothingEv");
  subscribe();
  OK(cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API));
  CU(cuLaunchKernel(nothing, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].symbol, "_ZN4test7nothingEv");
  EXPECT_EQ(seen[1].symbol, "_ZN4test7nothingEv");
}

TEST_F(Callback, ResourcesAreTold) {
  subscribe();
  OK(cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE));
  std::vector<CUptiResult> alive;
  inside = [&](CUpti_CallbackDomain, CUpti_CallbackId id, const void* data) {
    if (id != CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING) return;
    std::uint32_t context_id = 0;
    alive.push_back(cuptiGetContextId(static_cast<const CUpti_ResourceData*>(data)->context, &context_id));
  };
  CUcontext other = nullptr;
  CU(cuCtxCreate(&other, nullptr, 0, 0));
  CUstream stream = nullptr;
  CU(cuStreamCreate(&stream, 0));
  (void)function("_ZN4test7nothingEv");
  CU(cuModuleUnload(module));
  module = nullptr;
  CU(cuStreamDestroy(stream));
  CU(cuCtxDestroy(other));
  CU(cuCtxSetCurrent(context));
  CUpti_CallbackIdResource const expected[] = {
      CUPTI_CBID_RESOURCE_CONTEXT_CREATED,         CUPTI_CBID_RESOURCE_STREAM_CREATED,
      CUPTI_CBID_RESOURCE_MODULE_LOADED,           CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING,
      CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING};
  ASSERT_EQ(seen.size(), std::size(expected));
  for (std::size_t i = 0; i < seen.size(); ++i) {
    EXPECT_EQ(seen[i].id, static_cast<CUpti_CallbackId>(expected[i])) << i;
    EXPECT_EQ(seen[i].resource.context, other);
  }
  EXPECT_EQ(seen[1].resource.resourceHandle.stream, stream);
  EXPECT_EQ(seen[4].resource.resourceHandle.stream, stream);
  EXPECT_EQ(alive, std::vector<CUptiResult>{CUPTI_SUCCESS});
}

TEST_F(Callback, SynchronizationsAreTold) {
  CUstream stream = nullptr;
  CU(cuStreamCreate(&stream, 0));
  subscribe();
  OK(cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_SYNCHRONIZE));
  CU(cuStreamSynchronize(stream));
  RT(cudaDeviceSynchronize());
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].id, CUPTI_CBID_SYNCHRONIZE_STREAM_SYNCHRONIZED);
  EXPECT_EQ(seen[0].synchronized.stream, stream);
  EXPECT_EQ(seen[1].id, CUPTI_CBID_SYNCHRONIZE_CONTEXT_SYNCHRONIZED);
  EXPECT_EQ(seen[1].synchronized.context, context);
  CU(cuStreamDestroy(stream));
}

TEST_F(Callback, CudaAndCuptiMayBeCalledFromInside) {
  subscribe();
  OK(cuptiEnableAllDomains(1, subscriber));
  enable({CUPTI_ACTIVITY_KIND_MEMORY2});
  int calls = 0;
  inside = [&](CUpti_CallbackDomain, CUpti_CallbackId, const void*) {
    ++calls;
    CUdeviceptr extra = 0;
    EXPECT_EQ(cuMemAlloc(&extra, 64), CUDA_SUCCESS);
    EXPECT_EQ(cuMemFree(extra), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSynchronize(), CUDA_SUCCESS);
    std::uint32_t device = 9;
    EXPECT_EQ(cuptiGetDeviceId(nullptr, &device), CUPTI_SUCCESS);
    EXPECT_EQ(device, 0u);
    EXPECT_EQ(cuptiActivityFlushAll(0), CUPTI_SUCCESS);
  };
  CUstream stream = nullptr;
  CU(cuStreamCreate(&stream, 0));  // enter, created, exit
  CU(cuStreamDestroy(stream));     // enter, destroying, exit
  inside = nullptr;
  EXPECT_EQ(calls, 6);
  EXPECT_EQ(seen.size(), 6u);
  EXPECT_EQ(flush().memory.size(), 12u);
}

TEST_F(Callback, FinalizeFromAnExitCallbackDetaches) {
  subscribe();
  OK(cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_DRIVER_API));
  enable({CUPTI_ACTIVITY_KIND_DRIVER});
  inside = [&](CUpti_CallbackDomain, CUpti_CallbackId, const void* data) {
    if (static_cast<const CUpti_CallbackData*>(data)->callbackSite == CUPTI_API_EXIT) {
      EXPECT_EQ(cuptiFinalize(), CUPTI_SUCCESS);
    }
  };
  CU(cuCtxSynchronize());
  CU(cuCtxSynchronize());
  EXPECT_EQ(seen.size(), 2u);
  EXPECT_EQ(cuptiUnsubscribe(subscriber), CUPTI_ERROR_INVALID_PARAMETER);
  EXPECT_EQ(cuptiActivityFlushAll(0), CUPTI_ERROR_INVALID_OPERATION);
}

TEST_F(Callback, WrongArgumentsAreRefused) {
  EXPECT_EQ(cuptiEnableDomain(1, nullptr, CUPTI_CB_DOMAIN_DRIVER_API), CUPTI_ERROR_INVALID_PARAMETER);
  subscribe();
  EXPECT_EQ(cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_INVALID), CUPTI_ERROR_INVALID_PARAMETER);
  EXPECT_EQ(cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_NVTX), CUPTI_ERROR_INVALID_PARAMETER);
  EXPECT_EQ(cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_SIZE),
            CUPTI_ERROR_INVALID_PARAMETER);
  EXPECT_EQ(cuptiGetCallbackState(nullptr, subscriber, CUPTI_CB_DOMAIN_DRIVER_API, 1), CUPTI_ERROR_INVALID_PARAMETER);
  const char* text = nullptr;
  EXPECT_EQ(cuptiGetCallbackName(CUPTI_CB_DOMAIN_RESOURCE, 1, &text), CUPTI_ERROR_INVALID_PARAMETER);
  EXPECT_EQ(name(CUPTI_CB_DOMAIN_DRIVER_API, CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx), "cuLaunchKernelEx");
  EXPECT_EQ(name(CUPTI_CB_DOMAIN_RUNTIME_API, CUPTI_RUNTIME_TRACE_CBID_cudaMalloc_v3020), "cudaMalloc_v3020");
  std::size_t count = 0;
  CUpti_DomainTable domains = nullptr;
  OK(cuptiSupportedDomains(&count, &domains));
  EXPECT_GE(count, 4u);
  EXPECT_EQ(domains[0], CUPTI_CB_DOMAIN_DRIVER_API);
}

}  // namespace
}  // namespace tidemark::softgpu::cupti_test
