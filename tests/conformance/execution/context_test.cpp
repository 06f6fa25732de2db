// SPDX-License-Identifier: Apache-2.0
// Contexts of the driver API: created, pushed, popped, destroyed; primary ones retained, released, reset.
#include <thread>

#include "tests/conformance/support/device.h"
#include "tests/conformance/support/kernels.h"

namespace conformance {
namespace {

class Context : public Conformance {
 protected:
  void SetUp() override {
    Conformance::SetUp();
    ASSERT_OK(cuDeviceGet(&device_, 0));
    ASSERT_OK(cuCtxGetCurrent(&primary_));
  }
  static CUcontext current() {
    CUcontext context = nullptr;
    EXPECT_OK(cuCtxGetCurrent(&context));
    return context;
  }
  CUdevice device_ = 0;
  CUcontext primary_ = nullptr;
};

TEST_F(Context, CreatedOnesAreCurrentAndStacked) {
  CUcontext first = nullptr, second = nullptr, popped = nullptr;
  ASSERT_OK(cuCtxCreate(&first, nullptr, 0, device_));
  EXPECT_EQ(first, current());
  ASSERT_OK(cuCtxCreate(&second, nullptr, 0, device_));
  EXPECT_EQ(second, current());
  ASSERT_OK(cuCtxPopCurrent(&popped));
  EXPECT_EQ(second, popped);
  EXPECT_EQ(first, current());
  ASSERT_OK(cuCtxPushCurrent(second));
  EXPECT_EQ(second, current());
  // "If ctx is current to the calling thread then ctx will also be popped from the current thread's context stack"
  ASSERT_OK(cuCtxDestroy(second));
  EXPECT_EQ(first, current());
  ASSERT_OK(cuCtxDestroy(first));
  EXPECT_EQ(primary_, current());
}

TEST_F(Context, SetCurrentReplacesTheTop) {
  CUcontext context = nullptr;
  ASSERT_OK(cuCtxCreate(&context, nullptr, 0, device_));
  ASSERT_OK(cuCtxSetCurrent(primary_));
  EXPECT_EQ(primary_, current());
  ASSERT_OK(cuCtxSetCurrent(nullptr));  // "equivalent to popping the top"
  EXPECT_EQ(primary_, current());
  ASSERT_OK(cuCtxDestroy(context));
  EXPECT_EQ(primary_, current());
}

TEST_F(Context, WithoutOneThereIsNothing) {
  std::thread([] {
    CUdeviceptr p = 0;
    CUcontext context = nullptr;
    CUdevice device = 0;
    EXPECT_EQ(nullptr, current());
    EXPECT_CUDA(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc(&p, 16));
    EXPECT_CUDA(CUDA_ERROR_INVALID_CONTEXT, cuCtxSynchronize());
    EXPECT_CUDA(CUDA_ERROR_INVALID_CONTEXT, cuCtxGetDevice(&device));
    EXPECT_CUDA(CUDA_ERROR_INVALID_CONTEXT, cuCtxPopCurrent(&context));
  }).join();
}

TEST_F(Context, EachThreadHasItsOwnStack) {
  CUcontext context = nullptr;
  ASSERT_OK(cuCtxCreate(&context, nullptr, 0, device_));
  std::thread([&] {
    EXPECT_EQ(nullptr, current());
    EXPECT_OK(cuCtxSetCurrent(context));
    CUdeviceptr p = 0;
    EXPECT_OK(cuMemAlloc(&p, 100));
    EXPECT_OK(cuMemFree(p));
  }).join();
  EXPECT_EQ(context, current());
  ASSERT_OK(cuCtxDestroy(context));
}

TEST_F(Context, ItsEndFreesWhatItAllocated) {
  std::size_t const before = memory_info().free_bytes;
  CUcontext context = nullptr;
  ASSERT_OK(cuCtxCreate(&context, nullptr, 0, device_));
  CUdeviceptr p = 0;
  CUstream stream = nullptr;
  CUevent event = nullptr;
  void* host = nullptr;
  EXPECT_OK(cuMemAlloc(&p, 20 * kMiB));
  EXPECT_OK(cuMemAllocHost(&host, 4096));
  EXPECT_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  EXPECT_OK(cuEventCreate(&event, CU_EVENT_DEFAULT));
  EXPECT_OK(cuMemsetD8Async(p, 1, 20 * kMiB, stream));
  EXPECT_OK(cuEventRecord(event, stream));
  EXPECT_LT(memory_info().free_bytes, before - 20 * kMiB + 1);
  ASSERT_OK(cuCtxDestroy(context));
  if (is_softgpu()) {
    EXPECT_EQ(before, memory_info().free_bytes);
    EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemFree(p));
    EXPECT_CUDA(CUDA_ERROR_INVALID_HANDLE, cuEventQuery(event));
    EXPECT_CUDA(CUDA_ERROR_INVALID_HANDLE, cuStreamQuery(stream));
    EXPECT_CUDA(CUDA_ERROR_INVALID_CONTEXT, cuCtxPushCurrent(context));
    EXPECT_CUDA(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy(context));
  }
}

TEST_F(Context, ItsEndLeavesPoolMemory) {
  // "cuCtxDestroy() will not destroy memory allocations by cuMemCreate(), cuMemAllocAsync() and
  // cuMemAllocFromPoolAsync(). These memory allocations ... need to be destroyed explicitly."
  CUcontext context = nullptr;
  CUdeviceptr p = 0;
  ASSERT_OK(cuCtxCreate(&context, nullptr, 0, device_));
  ASSERT_OK(cuMemAllocAsync(&p, kMiB, nullptr));
  ASSERT_OK(cuCtxSynchronize());
  ASSERT_OK(cuCtxDestroy(context));
  EXPECT_OK(cuMemsetD8(p, 7, kMiB));
  std::uint8_t last = 0;
  EXPECT_OK(cuMemcpyDtoH(&last, p + kMiB - 1, 1));
  EXPECT_EQ(7, last);
  EXPECT_OK(cuMemFreeAsync(p, nullptr));
  EXPECT_OK(cuCtxSynchronize());
}

TEST_F(Context, ItsEndOvertakesAFreeInAnotherContext) {
  NEEDS_SOFTGPU();  // a card may refuse such a free
  CUcontext context = nullptr, popped = nullptr;
  CUdeviceptr p = 0, q = 0;
  ASSERT_OK(cuCtxCreate(&context, nullptr, 0, device_));
  ASSERT_OK(cuMemAlloc(&p, 4 * kMiB));
  ASSERT_OK(cuCtxPopCurrent(&popped));
  Stream const stream(cudaStreamNonBlocking);
  ASSERT_OK(cuMemFreeAsync(p, stream));
  ASSERT_OK(cuCtxDestroy(context));
  ASSERT_OK(cuMemAlloc(&q, 4 * kMiB));  // perhaps the same place
  ASSERT_OK(cudaStreamSynchronize(stream));
  EXPECT_OK(cuMemsetD8(q, 1, 4 * kMiB));
  EXPECT_OK(cuMemFree(q));
}

TEST_F(Context, DestroyedElsewhereIsReported) {
  CUcontext context = nullptr, popped = nullptr;
  ASSERT_OK(cuCtxCreate(&context, nullptr, 0, device_));
  ASSERT_OK(cuCtxPopCurrent(&popped));
  std::thread other([&] {
    EXPECT_OK(cuCtxSetCurrent(context));
    std::thread([&] { EXPECT_OK(cuCtxDestroy(context)); }).join();
    CUdeviceptr p = 0;
    // "If ctx is current to other threads ... attempting to access ctx from those threads will result in the error
    // CUDA_ERROR_CONTEXT_IS_DESTROYED."
    EXPECT_CUDA(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuMemAlloc(&p, 16));
  });
  other.join();
}

TEST_F(Context, StreamsOfTwoContextsAreIndependent) {
  NEEDS_VALUES();
  CUcontext context = nullptr;
  ASSERT_OK(cuCtxCreate(&context, nullptr, 0, device_));
  CUdeviceptr p = 0;
  ASSERT_OK(cuMemAlloc(&p, 4000));
  ASSERT_OK(launch_fill(reinterpret_cast<std::uint32_t*>(p), 1000, 3, nullptr));
  ASSERT_OK(cuCtxSynchronize());
  EXPECT_EQ(0u, wrong_on_device(reinterpret_cast<std::uint32_t*>(p), 1000, 3));
  ASSERT_OK(cuCtxDestroy(context));
}

TEST_F(Context, RefusesBadArguments) {
  CUcontext context = nullptr;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuCtxCreate(nullptr, nullptr, 0, device_));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuCtxCreate(&context, nullptr, 0x80000000u, device_));
  EXPECT_CUDA(CUDA_ERROR_INVALID_DEVICE, cuCtxCreate(&context, nullptr, 0, 999));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuCtxGetCurrent(nullptr));
  EXPECT_NE(CUDA_SUCCESS, cuCtxDestroy(nullptr));
}

TEST_F(Context, KnowsDeviceAndFlags) {
  CUcontext context = nullptr;
  CUdevice device = -1;
  unsigned flags = 0;
  ASSERT_OK(cuCtxCreate(&context, nullptr, CU_CTX_SCHED_BLOCKING_SYNC, device_));
  EXPECT_OK(cuCtxGetDevice(&device));
  EXPECT_OK(cuCtxGetFlags(&flags));
  EXPECT_EQ(device_, device);
  EXPECT_EQ(unsigned{CU_CTX_SCHED_BLOCKING_SYNC}, flags & CU_CTX_SCHED_MASK);
  ASSERT_OK(cuCtxDestroy(context));
}

TEST_F(Context, LimitsAreAskedAndSet) {
  std::size_t before = 0, after = 0;
  ASSERT_OK(cudaDeviceGetLimit(&before, cudaLimitStackSize));
  EXPECT_GT(before, 0u);
  EXPECT_OK(cudaDeviceSetLimit(cudaLimitStackSize, before * 4));
  EXPECT_OK(cudaDeviceGetLimit(&after, cudaLimitStackSize));
  EXPECT_GE(after, before * 4);  // "The driver is free to modify the requested value"
  EXPECT_OK(cudaDeviceSetLimit(cudaLimitStackSize, before));
  for (cudaLimit const limit : {cudaLimitPrintfFifoSize, cudaLimitMallocHeapSize}) {
    EXPECT_OK(cudaDeviceGetLimit(&before, limit));
    EXPECT_GT(before, 0u);
  }
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuCtxGetLimit(&before, static_cast<CUlimit>(15)));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaDeviceGetLimit(nullptr, cudaLimitStackSize));
}

// The second device's primary context, so that the first one's stays with the runtime.
class PrimaryContext : public testing::Test {
 protected:
  static bool is_active() {
    unsigned flags = 0;
    int active = -1;
    EXPECT_OK(cuDevicePrimaryCtxGetState(1, &flags, &active));
    return active == 1;
  }
};

TEST_F(PrimaryContext, IsActiveWhileItIsRetained) {
  NEEDS_DEVICES(2);
  in_child([&] {
    EXPECT_FALSE(is_active());
    CUcontext first = nullptr, second = nullptr;
    EXPECT_OK(cuDevicePrimaryCtxRetain(&first, 1));
    EXPECT_TRUE(is_active());
    EXPECT_OK(cuDevicePrimaryCtxRetain(&second, 1));
    EXPECT_EQ(first, second);
    EXPECT_OK(cuDevicePrimaryCtxRelease(1));
    EXPECT_TRUE(is_active());
    EXPECT_OK(cuDevicePrimaryCtxRelease(1));
    EXPECT_FALSE(is_active());
    // "Releasing a primary context that has not been previously retained will fail with CUDA_ERROR_INVALID_CONTEXT."
    EXPECT_CUDA(CUDA_ERROR_INVALID_CONTEXT, cuDevicePrimaryCtxRelease(1));
    EXPECT_CUDA(CUDA_ERROR_INVALID_DEVICE, cuDevicePrimaryCtxRetain(&first, 999));
  });
}

TEST_F(PrimaryContext, ResettingItDoesNotReleaseIt) {
  // "Resetting the primary context does not release it, an application that has retained the primary context should
  // explicitly release its usage."
  NEEDS_DEVICES(2);
  in_child([&] {
    CUcontext context = nullptr;
    EXPECT_OK(cuDevicePrimaryCtxRetain(&context, 1));
    EXPECT_OK(cuCtxPushCurrent(context));
    CUdeviceptr p = 0;
    EXPECT_OK(cuMemAlloc(&p, 4 * kMiB));
    EXPECT_OK(cuDevicePrimaryCtxReset(1));
    EXPECT_FALSE(is_active());
    EXPECT_OK(cuDevicePrimaryCtxRelease(1));
    EXPECT_CUDA(CUDA_ERROR_INVALID_CONTEXT, cuDevicePrimaryCtxRelease(1));
    EXPECT_OK(cuDevicePrimaryCtxRetain(&context, 1));
    EXPECT_TRUE(is_active());
    EXPECT_OK(cuCtxSetCurrent(context));
    EXPECT_OK(cuMemAlloc(&p, 4 * kMiB));
    EXPECT_OK(cuMemFree(p));
    EXPECT_OK(cuDevicePrimaryCtxRelease(1));
  });
}

}  // namespace
}  // namespace conformance
