// SPDX-License-Identifier: Apache-2.0
// Memory in places where a program has threads of an unusual kind: callbacks, threads without a context, threads at
// their end, and devices that come later.
#include <atomic>
#include <thread>

#include "tests/conformance/support/device.h"
#include "tests/conformance/support/gate.h"
#include "tests/conformance/support/kernels.h"

namespace conformance {
namespace {

class Threads : public Conformance {};

TEST_F(Threads, ACallbackMayNotFree) {
  NEEDS_SOFTGPU();
  struct Seen {
    void* block = nullptr;
    cudaError_t error = cudaSuccess, ordered = cudaSuccess;
  } seen;
  ASSERT_OK(cudaMalloc(&seen.block, 4096));
  Stream const stream(cudaStreamNonBlocking);
  ASSERT_OK(cudaStreamAddCallback(
      stream,
      [](cudaStream_t s, cudaError_t, void* data) {
        auto* const out = static_cast<Seen*>(data);
        out->error = cudaFree(out->block);
        out->ordered = cudaFreeAsync(out->block, s);
      },
      &seen, 0));
  ASSERT_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(cudaErrorNotPermitted, seen.error);
  EXPECT_EQ(cudaErrorNotPermitted, seen.ordered);
  EXPECT_OK(cudaMemset(seen.block, 0, 4096));
  EXPECT_OK(cudaFree(seen.block));
}

TEST_F(Threads, WithoutAContextTheDriverFreesNothing) {
  CUdeviceptr block = 0;
  ASSERT_OK(cuMemAlloc(&block, 4096));
  std::thread([&] {
    EXPECT_CUDA(CUDA_ERROR_INVALID_CONTEXT, cuMemFree(block));
    CUcontext context = nullptr;
    EXPECT_OK(cuDevicePrimaryCtxRetain(&context, 0));
    EXPECT_OK(cuCtxSetCurrent(context));
    EXPECT_OK(cuMemsetD8(block, 0, 4096));
    EXPECT_OK(cuMemFree(block));
    EXPECT_OK(cuDevicePrimaryCtxRelease(0));
  }).join();
}

TEST_F(Threads, AnyThreadFreesAnyBlockWithAnotherDeviceCurrent) {
  NEEDS_DEVICES(2);
  std::vector<void*> blocks(64);
  for (void*& block : blocks) ASSERT_OK(cudaMalloc(&block, 10'000));
  std::thread([&] {
    EXPECT_OK(cudaSetDevice(1));
    for (void* const block : blocks) EXPECT_OK(cudaFree(block));
  }).join();
}

// What a thread_local object frees when its thread ends.
TEST_F(Threads, AThreadFreesOnItsWayOut) {
  struct Holder {
    void* block = nullptr;
    ~Holder() {
      if (block != nullptr) {
        EXPECT_OK(cudaFree(block));
      }
    }
  };
  for (int i = 0; i < 20; ++i)
    std::thread([] {
      static thread_local Holder first, second;
      EXPECT_OK(cudaMalloc(&first.block, 5000));
      EXPECT_OK(launch_fill(static_cast<std::uint32_t*>(first.block), 1000, 1, cudaStreamPerThread));
      EXPECT_OK(cudaMalloc(&second.block, 5000));
    }).join();
}

// A device that is used for the first time between the two halves of other threads' submissions.
TEST_F(Threads, ADeviceComesWhileOthersSubmit) {
  NEEDS_DEVICES(2);
  in_child([] {
    void* block = nullptr;
    ASSERT_OK(cudaMalloc(&block, 4096));
    std::atomic<int> turn{0};
    auto const wait_for = [&](int t) {
      while (turn.load() != t) std::this_thread::yield();
    };
    std::thread early([&] {
      EXPECT_OK(cudaMemsetAsync(block, 1, 4096, nullptr));  // told to the first device's memory alone
      turn = 1;
      wait_for(3);
      EXPECT_OK(cudaMemsetAsync(block, 2, 4096, nullptr));
      turn = 4;
    });
    std::thread later([&] {
      wait_for(2);
      EXPECT_OK(cudaMemsetAsync(block, 3, 4096, nullptr));
      EXPECT_OK(cudaDeviceSynchronize());
      turn = 3;
    });
    wait_for(1);
    void* other = nullptr;
    ASSERT_OK(cudaSetDevice(1));
    ASSERT_OK(cudaMalloc(&other, 4096));
    turn = 2;
    wait_for(4);
    early.join();
    later.join();
    ASSERT_OK(cudaFree(other));
    ASSERT_OK(cudaSetDevice(0));
    ASSERT_OK(cudaFree(block));
  });
}

}  // namespace
}  // namespace conformance
