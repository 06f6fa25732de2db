// SPDX-License-Identifier: Apache-2.0
// Errors: their names, the last one, the ones that stay.
#include <atomic>
#include <cstring>
#include <thread>

#include "tests/conformance/support/device.h"
#include "tests/conformance/support/kernels.h"

namespace conformance {
namespace {

class LastError : public Conformance {};

TEST_F(LastError, IsKeptUntilAskedFor) {
  void* p = nullptr;
  EXPECT_EQ(cudaErrorInvalidValue, cudaMalloc(static_cast<void**>(nullptr), 1));
  EXPECT_EQ(cudaSuccess, cudaMalloc(&p, 100));  // a success does not clear it
  EXPECT_EQ(cudaErrorInvalidValue, cudaPeekAtLastError());
  EXPECT_EQ(cudaErrorInvalidValue, cudaPeekAtLastError());
  EXPECT_EQ(cudaErrorInvalidValue, cudaGetLastError());
  EXPECT_EQ(cudaSuccess, cudaGetLastError());
  EXPECT_OK(cudaFree(p));
}

TEST_F(LastError, IsTheNewestOne) {
  EXPECT_EQ(cudaErrorInvalidValue, cudaMalloc(static_cast<void**>(nullptr), 1));
  EXPECT_EQ(cudaErrorInvalidDevice, cudaSetDevice(-5));
  EXPECT_EQ(cudaErrorInvalidDevice, cudaGetLastError());
  EXPECT_EQ(cudaSuccess, cudaGetLastError());
}

TEST_F(LastError, BelongsToItsThread) {
  EXPECT_EQ(cudaErrorInvalidDevice, cudaSetDevice(-5));
  std::thread([] { EXPECT_EQ(cudaSuccess, cudaGetLastError()); }).join();
  EXPECT_EQ(cudaErrorInvalidDevice, cudaGetLastError());
}

TEST_F(LastError, OfABadLaunchIsFoundAfterIt) {
  DeviceBytes const device(64);
  void* p = device.get();
  std::uint64_t n = 16;
  std::uint32_t seed = 1;
  void* arguments[] = {&p, &n, &seed};
  (void)cudaLaunchKernel(fill_kernel(), dim3(1), dim3(4096), arguments, 0, nullptr);
  EXPECT_EQ(cudaErrorInvalidConfiguration, cudaPeekAtLastError());
  EXPECT_EQ(cudaErrorInvalidConfiguration, cudaGetLastError());
  EXPECT_OK(cudaDeviceSynchronize());
}

TEST_F(LastError, ErrorsHaveNames) {
  EXPECT_STREQ("cudaSuccess", cudaGetErrorName(cudaSuccess));
  EXPECT_STREQ("cudaErrorMemoryAllocation", cudaGetErrorName(cudaErrorMemoryAllocation));
  EXPECT_STREQ("cudaErrorNotReady", cudaGetErrorName(cudaErrorNotReady));
  EXPECT_STREQ("cudaErrorIllegalAddress", cudaGetErrorName(cudaErrorIllegalAddress));
  EXPECT_STREQ("unrecognized error code", cudaGetErrorName(static_cast<cudaError_t>(12345)));
  EXPECT_STREQ("unrecognized error code", cudaGetErrorString(static_cast<cudaError_t>(12345)));
  for (int code : {0, 1, 2, 3, 100, 101, 200, 201, 400, 600, 700, 709, 710, 719, 800, 801, 900, 999}) {
    EXPECT_GT(std::strlen(cudaGetErrorString(static_cast<cudaError_t>(code))), 0u);
    EXPECT_STRNE("unrecognized error code", cudaGetErrorString(static_cast<cudaError_t>(code))) << code;
    const char *name = nullptr, *text = nullptr;
    EXPECT_OK(cuGetErrorName(static_cast<CUresult>(code), &name));
    EXPECT_OK(cuGetErrorString(static_cast<CUresult>(code), &text));
    EXPECT_EQ(0, std::strncmp("CUDA_", name, 5));
    EXPECT_GT(std::strlen(text), 0u);
  }
  const char* name = "x";
  // "If the error code is not recognized, CUDA_ERROR_INVALID_VALUE will be returned and *pStr will be set to NULL"
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuGetErrorName(static_cast<CUresult>(12345), &name));
  EXPECT_EQ(nullptr, name);
}

// A kernel that faults takes its context with it: each of these happens in a process of its own.
class StickyError : public testing::Test {
 protected:
  // After the fault nothing works any more, and every call says why.
  static void expect_dead(cudaError_t expected) {
    void* p = nullptr;
    EXPECT_EQ(expected, cudaDeviceSynchronize());
    EXPECT_EQ(expected, cudaMalloc(&p, 16));
    EXPECT_EQ(expected, launch_trap(false));
    EXPECT_EQ(expected, cudaMemset(p, 0, 16));
    EXPECT_EQ(expected, cudaStreamSynchronize(nullptr));
    EXPECT_EQ(expected, cudaPeekAtLastError());
  }
};

TEST_F(StickyError, AfterATrap) {
  NEEDS_VALUES();
  in_child([&] {
    EXPECT_OK(launch_trap(false));
    EXPECT_OK(cudaDeviceSynchronize());
    (void)launch_trap(true);
    cudaError_t const error = cudaDeviceSynchronize();
    EXPECT_NE(cudaSuccess, error);
    if (is_softgpu()) {
      EXPECT_EQ(cudaErrorLaunchFailure, error);
    }
    expect_dead(error);
  });
}

TEST_F(StickyError, AfterAFailedAssertion) {
  NEEDS_VALUES();
  in_child([&] {
    EXPECT_OK(launch_assert(false));
    EXPECT_OK(cudaDeviceSynchronize());
    (void)launch_assert(true);
    expect_dead(cudaErrorAssert);
  });
}

TEST_F(StickyError, AfterAnIllegalAddress) {
  NEEDS_VALUES();
  in_child([&] {
    (void)launch_store(reinterpret_cast<std::uint32_t*>(0x10));
    expect_dead(cudaErrorIllegalAddress);
  });
}

TEST_F(StickyError, ReachesEventsStreamsAndOtherThreads) {
  NEEDS_VALUES();
  in_child([&] {
    cudaEvent_t event = nullptr;
    cudaStream_t other = nullptr;
    EXPECT_OK(cudaEventCreate(&event));
    EXPECT_OK(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
    (void)launch_assert(true);
    (void)cudaEventRecord(event, nullptr);
    EXPECT_EQ(cudaErrorAssert, cudaEventSynchronize(event));
    EXPECT_EQ(cudaErrorAssert, cudaEventQuery(event));
    EXPECT_EQ(cudaErrorAssert, cudaStreamSynchronize(other));
    std::thread([] { EXPECT_EQ(cudaErrorAssert, cudaDeviceSynchronize()); }).join();
  });
}

TEST_F(StickyError, StopsTheWorkBehindIt) {
  NEEDS_VALUES();
  in_child([&] {
    std::uint32_t* host = nullptr;
    EXPECT_OK(cudaMallocHost(&host, 4));
    *host = 5;
    (void)launch_trap(true);
    (void)cudaMemsetAsync(host, 0, 4, nullptr);
    EXPECT_NE(cudaSuccess, cudaDeviceSynchronize());
    EXPECT_EQ(5u, *host);
  });
}

TEST_F(StickyError, IsGivenToCallbacksButNotToHostFunctions) {
  // "In the event of a device error, all subsequently executed callbacks will receive an appropriate cudaError_t"; "in
  // contrast to cuStreamAddCallback, the function will not be called in the event of an error in the CUDA context".
  NEEDS_VALUES();
  in_child([&] {
    struct Seen {
      std::atomic<int> callbacks{0}, functions{0};
      std::atomic<cudaError_t> status{cudaSuccess};
    };
    Seen seen;
    cudaStream_t stream = nullptr;
    EXPECT_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    std::atomic<bool> open = false;
    // Held back, so that everything is queued before the fault happens.
    EXPECT_OK(cudaLaunchHostFunc(
        nullptr,
        [](void* flag) {
          while (!*static_cast<std::atomic<bool>*>(flag)) std::this_thread::yield();
        },
        &open));
    (void)launch_trap(true);
    EXPECT_OK(cudaStreamAddCallback(
        nullptr,
        [](cudaStream_t, cudaError_t status, void* data) {
          auto* const s = static_cast<Seen*>(data);
          ++s->callbacks;
          s->status = status;
        },
        &seen, 0));
    EXPECT_OK(cudaLaunchHostFunc(
        nullptr, [](void* data) { ++static_cast<Seen*>(data)->functions; }, &seen));
    open = true;
    cudaError_t const error = cudaDeviceSynchronize();
    EXPECT_NE(cudaSuccess, error);
    EXPECT_EQ(1, seen.callbacks);
    EXPECT_EQ(error, seen.status);
    EXPECT_EQ(0, seen.functions);
  });
}

TEST_F(StickyError, EndsWithADeviceReset) {
  NEEDS_VALUES();
  in_child([&] {
    (void)launch_assert(true);
    EXPECT_EQ(cudaErrorAssert, cudaDeviceSynchronize());
    EXPECT_OK(cudaDeviceReset());
    (void)cudaGetLastError();
    DeviceBytes const device(400);
    EXPECT_OK(launch_fill(device.words(), 100, 2, nullptr));
    EXPECT_EQ(0u, wrong_on_device(device.words(), 100, 2));
  });
}

TEST_F(StickyError, LeavesTheOtherDeviceAlone) {
  NEEDS_DEVICES(2);
  NEEDS_VALUES();
  in_child([&] {
    (void)launch_assert(true);
    EXPECT_EQ(cudaErrorAssert, cudaDeviceSynchronize());
    EXPECT_OK(cudaSetDevice(1));
    DeviceBytes const device(400);
    std::uint32_t* p = device.words();
    std::uint64_t n = 100;
    std::uint32_t seed = 2;
    void* arguments[] = {&p, &n, &seed};
    EXPECT_OK(cudaLaunchKernel(fill_kernel(), dim3(1), dim3(128), arguments, 0, nullptr));
    EXPECT_EQ(0u, wrong_on_device(device.words(), 100, 2));
  });
}

}  // namespace
}  // namespace conformance
