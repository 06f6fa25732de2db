// SPDX-License-Identifier: Apache-2.0
// The upstream on the software driver: a device of 1 GiB and a second one, work as late as it may be.
#include "allocator/cuda/cuda_upstream.h"

#include <gtest/gtest.h>

#include <vector>

#include "allocator/core/allocator.h"

namespace tidemark::allocator {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;

DriverFunctions functions() {
  return {.get_current = cuCtxGetCurrent,
          .push_current = cuCtxPushCurrent,
          .pop_current = cuCtxPopCurrent,
          .synchronize = [] { return cuCtxSynchronize(); },
          .get_attribute = cuDeviceGetAttribute,
          .memory_info = cuMemGetInfo,
          .allocate = cuMemAlloc,
          .free = cuMemFree,
          .reserve = cuMemAddressReserve,
          .release = cuMemAddressFree,
          .create = cuMemCreate,
          .destroy = cuMemRelease,
          .map = cuMemMap,
          .unmap = cuMemUnmap,
          .set_access = cuMemSetAccess,
          .granularity = cuMemGetAllocationGranularity,
          .create_event = cuEventCreate,
          .destroy_event = cuEventDestroy,
          .record = cuEventRecord,
          .query = cuEventQuery,
          .wait = cuEventSynchronize,
          .wait_in_stream = cuStreamWaitEvent,
          .exchange_capture_mode = cuThreadExchangeStreamCaptureMode};
}

class CudaUpstreamTest : public testing::Test {
 protected:
  CudaUpstreamTest() {
    EXPECT_EQ(cuInit(0), CUDA_SUCCESS);
    EXPECT_EQ(cuDevicePrimaryCtxRetain(&context, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuCtxSetCurrent(context), CUDA_SUCCESS);
  }
  ~CudaUpstreamTest() override { cuDevicePrimaryCtxReset(0); }

  std::uint64_t free_bytes() {
    std::size_t free = 0, total = 0;
    EXPECT_EQ(cuMemGetInfo(&free, &total), CUDA_SUCCESS);
    return free;
  }
  CUcontext context = nullptr;
};

TEST_F(CudaUpstreamTest, AllocatorTakesFramesAndGivesThemBack) {
  CudaUpstream upstream(functions(), context, 0);
  ASSERT_TRUE(upstream.can_map());
  std::uint64_t const before = free_bytes();
  auto const allocator = Allocator::make(upstream, {.capacity_bytes = 1024 * kMiB});
  ASSERT_NE(allocator, nullptr);
  std::vector<std::uint64_t> blocks(100);
  for (std::uint64_t& block : blocks) ASSERT_EQ(allocator->allocate({.bytes = 3 * kMiB}, &block), Status::Ok);
  EXPECT_LE(before - free_bytes(), 302 * kMiB);
  for (std::uint64_t const block : blocks) EXPECT_EQ(allocator->free(block), Freed::Yes);
  EXPECT_GE(allocator->give_back(1024 * kMiB), 300 * kMiB);
  EXPECT_EQ(free_bytes(), before);
}

TEST_F(CudaUpstreamTest, WithoutMappedMemoryBlocksComeFromSegments) {
  DriverFunctions some = functions();
  some.map = nullptr;
  CudaUpstream upstream(some, context, 0);
  ASSERT_FALSE(upstream.can_map());
  auto const allocator = Allocator::make(upstream, {.capacity_bytes = 1024 * kMiB});
  ASSERT_NE(allocator, nullptr);
  std::uint64_t block = 0;
  ASSERT_EQ(allocator->allocate({.bytes = 5000}, &block), Status::Ok);
  EXPECT_EQ(cuMemsetD8(block, 1, 5000), CUDA_SUCCESS);
  EXPECT_EQ(allocator->free(block), Freed::Yes);
}

TEST_F(CudaUpstreamTest, TooMuchIsOutOfMemoryInTheDriversOwnWord) {
  CudaUpstream upstream(functions(), context, 0);
  auto const allocator = Allocator::make(upstream, {.capacity_bytes = 1024 * kMiB});
  std::uint64_t block = 0;
  EXPECT_EQ(allocator->allocate({.bytes = 2048 * kMiB}, &block), Status::OutOfMemory);
  allocator->give_back(1024 * kMiB);
}

TEST_F(CudaUpstreamTest, AnotherContextMayBeCurrentAndStaysSo) {
  CudaUpstream upstream(functions(), context, 0);
  auto const allocator = Allocator::make(upstream, {.capacity_bytes = 1024 * kMiB});
  CUcontext other = nullptr, current = nullptr;
  ASSERT_EQ(cuDevicePrimaryCtxRetain(&other, 1), CUDA_SUCCESS);
  for (CUcontext const wanted : {other, CUcontext{nullptr}}) {
    ASSERT_EQ(cuCtxSetCurrent(wanted), CUDA_SUCCESS);
    std::uint64_t block = 0;
    ASSERT_EQ(allocator->allocate({.bytes = 30 * kMiB}, &block), Status::Ok);
    EXPECT_EQ(cuCtxGetCurrent(&current), CUDA_SUCCESS);
    EXPECT_EQ(current, wanted);
    int device = -1;
    EXPECT_EQ(cuPointerGetAttribute(&device, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, block), CUDA_SUCCESS);
    EXPECT_EQ(device, 0);
    EXPECT_EQ(allocator->free(block), Freed::Yes);
  }
  allocator->give_back(1024 * kMiB);
  cuDevicePrimaryCtxRelease(1);
  cuCtxSetCurrent(context);
}

TEST_F(CudaUpstreamTest, ACaptureGoesOn) {
  CudaUpstream upstream(functions(), context, 0);
  auto const allocator = Allocator::make(upstream, {.capacity_bytes = 1024 * kMiB});
  CUstream stream = nullptr;
  CUgraph graph = nullptr;
  ASSERT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  ASSERT_EQ(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
  std::uint64_t block = 0;
  EXPECT_EQ(allocator->allocate({.bytes = 30 * kMiB}, &block), Status::Ok);
  EXPECT_EQ(cuStreamEndCapture(stream, &graph), CUDA_SUCCESS);
  EXPECT_EQ(allocator->free(block), Freed::Yes);
  allocator->give_back(1024 * kMiB);
  cuGraphDestroy(graph);
  cuStreamDestroy(stream);
}

TEST_F(CudaUpstreamTest, AnEventIsDoneWhenItsStreamHasPassedIt) {
  CudaUpstream upstream(functions(), context, 0);
  CUstream stream = nullptr;
  ASSERT_EQ(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
  std::uint64_t block = 0;
  ASSERT_EQ(upstream.allocate_block(2 * kMiB, &block), Status::Ok);
  EventHandle event{};
  ASSERT_EQ(upstream.create_event(&event), Status::Ok);
  ASSERT_EQ(cuMemsetD8Async(block, 1, 2 * kMiB, stream), CUDA_SUCCESS);
  CudaStream const known{.context = context, .stream = stream};
  ASSERT_EQ(upstream.record(event, handle_of(known)), Status::Ok);
  EXPECT_EQ(upstream.query(event), Status::NotReady);
  EXPECT_EQ(upstream.wait(event), Status::Ok);
  EXPECT_EQ(upstream.query(event), Status::Ok);
  EXPECT_EQ(upstream.destroy_event(event), Status::Ok);
  EXPECT_EQ(upstream.free_block(block), Status::Ok);
  cuStreamDestroy(stream);
}

}  // namespace
}  // namespace tidemark::allocator
