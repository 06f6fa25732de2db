// SPDX-License-Identifier: Apache-2.0
// Kernels launched through the runtime by nvcc's host code, on CPU bodies.
#include "tests/unit/softgpu/cupti/client.h"

cudaError_t launch_fill(unsigned* x, unsigned value, std::size_t n, cudaStream_t stream);
const void* fill_stub();

namespace tidemark::softgpu::cupti_test {
namespace {

using Launch = CuptiTest;
constexpr const char* kFill = "_ZN4test4fillEPjjm";

TEST_F(Launch, TheRecordMatchesTheCallAndTheExternalId) {
  enable(
      {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION});
  unsigned* x = nullptr;
  RT(cudaMalloc(reinterpret_cast<void**>(&x), 1000 * sizeof *x));
  OK(cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 42));
  RT(launch_fill(x, 9, 1000, nullptr));
  OK(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, nullptr));
  unsigned value = 5;
  std::size_t n = 1000;
  void* arguments[] = {&x, &value, &n};
  RT(cudaLaunchKernel(fill_stub(), dim3(8), dim3(128), arguments, 0, nullptr));
  unsigned first = 0;
  RT(cudaMemcpy(&first, x, sizeof first, cudaMemcpyDeviceToHost));
  EXPECT_EQ(first, 5u);
  RT(cudaFree(x));
  Records const records = flush();
  ASSERT_EQ(records.kernels.size(), 2u);
  for (auto const& k : records.kernels) {
    EXPECT_STREQ(k.name, kFill);
    EXPECT_EQ(k.gridX, 8);
    EXPECT_EQ(k.blockX, 128);
  }
  EXPECT_NE(find_call(records.runtime, records.kernels[0].correlationId, "__cudaLaunchKernel_v13000"), nullptr);
  EXPECT_NE(find_call(records.runtime, records.kernels[1].correlationId, "cudaLaunchKernel_v7000"), nullptr);
  std::size_t matching = 0;
  for (auto const& e : records.external) {
    if (e.correlationId != records.kernels[0].correlationId) continue;
    ++matching;
    EXPECT_EQ(std::uint64_t{e.externalId}, 42u);
  }
  EXPECT_EQ(matching, 1u);
  // The glue of a launch is no call of the program's.
  for (auto const& call : records.runtime)
    EXPECT_EQ(name(CUPTI_CB_DOMAIN_RUNTIME_API, call.cbid).find("CallConfiguration"), std::string::npos);
}

TEST_F(Launch, TheCallbackNamesTheKernel) {
  static std::vector<std::string> symbols;
  symbols.clear();
  CUpti_SubscriberHandle subscriber = nullptr;
  OK(cuptiSubscribe(
      &subscriber,
      [](void*, CUpti_CallbackDomain, CUpti_CallbackId, const void* data) {
        const char* const symbol = static_cast<const CUpti_CallbackData*>(data)->symbolName;
        if (symbol != nullptr) symbols.emplace_back(symbol);
      },
      nullptr));
  OK(cuptiEnableDomain(1, subscriber, CUPTI_CB_DOMAIN_RUNTIME_API));
  unsigned* x = nullptr;
  RT(cudaMalloc(reinterpret_cast<void**>(&x), 128));
  RT(launch_fill(x, 1, 32, nullptr));
  unsigned value = 5;
  std::size_t n = 32;
  void* arguments[] = {&x, &value, &n};
  RT(cudaLaunchKernel(fill_stub(), dim3(1), dim3(32), arguments, 0, nullptr));
  RT(cudaFree(x));
  OK(cuptiUnsubscribe(subscriber));
  EXPECT_EQ(symbols, (std::vector<std::string>{kFill, kFill, kFill, kFill}));
}

}  // namespace
}  // namespace tidemark::softgpu::cupti_test
