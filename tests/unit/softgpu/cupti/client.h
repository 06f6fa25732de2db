// SPDX-License-Identifier: Apache-2.0
// A CUPTI client as a profiler is one: it gives buffers, takes them back, and keeps copies of the records by kind.
#pragma once
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cupti.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace tidemark::softgpu::cupti_test {

#define OK(call) ASSERT_EQ(call, CUPTI_SUCCESS)
#define CU(call) ASSERT_EQ(call, CUDA_SUCCESS)
#define RT(call) ASSERT_EQ(call, cudaSuccess)

struct Records {
  std::vector<CUpti_ActivityMemory4> memory;
  std::vector<CUpti_ActivityMemoryPool3> pools;
  std::vector<CUpti_ActivityKernel10> kernels;
  std::vector<CUpti_ActivityMemcpy6> copies;
  std::vector<CUpti_ActivityMemcpyPtoP4> peer_copies;
  std::vector<CUpti_ActivityMemset4> sets;
  std::vector<CUpti_ActivityAPI> driver, runtime;
  std::vector<CUpti_ActivityExternalCorrelation> external;
  std::vector<CUpti_ActivitySynchronization2> synchronizations;
  std::vector<CUpti_ActivityCudaEvent2> events;
  std::vector<CUpti_ActivityDevice5> devices;
  std::vector<CUpti_ActivityContext3> contexts;
  std::vector<CUpti_ActivityStream> streams;
  std::vector<CUpti_ActivityKind> order;  // of all
};

// How the client behaves as a giver of buffers.
struct Buffers {
  std::size_t bytes = 64 << 10;
  std::size_t most_records = 0;
  bool refuses = false;
  std::function<void()> on_request, on_complete;
  std::atomic<int> requested{0}, completed{0};
};

class CuptiTest : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  void enable(std::initializer_list<CUpti_ActivityKind> kinds);
  // Everything so far; forced, as at the end of a session.
  Records flush();
  static std::string name(CUpti_CallbackDomain domain, std::uint32_t id);
  // The API record of that correlation id and function; null: there is none, or more than one.
  static const CUpti_ActivityAPI* find_call(const std::vector<CUpti_ActivityAPI>& calls, std::uint32_t correlation,
                                            const std::string& function);
  CUfunction function(const char* name);

  static Buffers buffers;
  CUcontext context = nullptr;  // device 0's primary, current
  CUmodule module = nullptr;
};

}  // namespace tidemark::softgpu::cupti_test
