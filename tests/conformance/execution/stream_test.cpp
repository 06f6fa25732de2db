// SPDX-License-Identifier: Apache-2.0
// Streams as objects: creation, flags, priorities, queries, destruction.
#include <set>

#include "tests/conformance/support/device.h"
#include "tests/conformance/support/gate.h"
#include "tests/conformance/support/kernels.h"

namespace conformance {
namespace {

class StreamApi : public Conformance {};

TEST_F(StreamApi, KnowsItsFlagsPriorityAndDevice) {
  int least = 0, greatest = 0;
  ASSERT_OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  EXPECT_LE(greatest, least);  // "lower numbers imply greater priorities"
  cudaStream_t stream = nullptr;
  ASSERT_OK(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, greatest));
  unsigned flags = 0;
  int priority = 99, device = -1;
  EXPECT_OK(cudaStreamGetFlags(stream, &flags));
  EXPECT_OK(cudaStreamGetPriority(stream, &priority));
  EXPECT_OK(cudaStreamGetDevice(stream, &device));
  EXPECT_EQ(unsigned{cudaStreamNonBlocking}, flags);
  EXPECT_EQ(greatest, priority);
  EXPECT_EQ(0, device);
  EXPECT_OK(cudaStreamDestroy(stream));
}

TEST_F(StreamApi, PrioritiesAreClamped) {
  // "If the specified priority is outside the numerical range ... it will automatically be clamped"
  int least = 0, greatest = 0;
  ASSERT_OK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  for (int const asked : {greatest - 50, least + 50}) {
    cudaStream_t stream = nullptr;
    int priority = 99;
    ASSERT_OK(cudaStreamCreateWithPriority(&stream, cudaStreamDefault, asked));
    EXPECT_OK(cudaStreamGetPriority(stream, &priority));
    EXPECT_EQ(asked < greatest ? greatest : least, priority);
    EXPECT_OK(cudaStreamDestroy(stream));
  }
}

TEST_F(StreamApi, IdsAreUnique) {
  std::set<unsigned long long> ids;
  std::vector<cudaStream_t> streams(20);
  for (cudaStream_t& stream : streams) {
    ASSERT_OK(cudaStreamCreate(&stream));
    unsigned long long id = 0;
    EXPECT_OK(cudaStreamGetId(stream, &id));
    EXPECT_TRUE(ids.insert(id).second);
  }
  unsigned long long id = 0;
  EXPECT_OK(cudaStreamGetId(nullptr, &id));
  EXPECT_TRUE(ids.insert(id).second);
  for (cudaStream_t const stream : streams) EXPECT_OK(cudaStreamDestroy(stream));
}

TEST_F(StreamApi, RefusesBadArguments) {
  cudaStream_t stream = nullptr;
  EXPECT_CUDA(cudaErrorInvalidValue, cudaStreamCreateWithFlags(&stream, 0x40));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaStreamCreate(nullptr));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaStreamGetFlags(nullptr, nullptr));
  EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaStreamDestroy(nullptr));
}

TEST_F(StreamApi, DestroyedHandlesAreRefused) {
  NEEDS_SOFTGPU();  // undefined on a GPU
  cudaStream_t stream = nullptr;
  ASSERT_OK(cudaStreamCreate(&stream));
  ASSERT_OK(cudaStreamDestroy(stream));
  unsigned flags = 0;
  EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaStreamSynchronize(stream));
  EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaStreamQuery(stream));
  EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaStreamGetFlags(stream, &flags));
  EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaStreamDestroy(stream));
  int on_stack = 0;
  auto const foreign = reinterpret_cast<cudaStream_t>(&on_stack);
  EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaStreamSynchronize(foreign));
  EXPECT_CUDA(cudaErrorInvalidResourceHandle, cudaStreamDestroy(foreign));
}

TEST_F(StreamApi, QueryTellsWhetherWorkIsLeft) {
  Stream const stream(cudaStreamNonBlocking);
  EXPECT_OK(cudaStreamQuery(stream));
  {
    Gate gate(stream);
    EXPECT_CUDA(cudaErrorNotReady, cudaStreamQuery(stream));
    gate.open();
    cudaError_t status = cudaErrorNotReady;
    while (status == cudaErrorNotReady) status = cudaStreamQuery(stream);
    EXPECT_EQ(cudaSuccess, status);
  }
  (void)cudaGetLastError();
}

TEST_F(StreamApi, DestroyReturnsAtOnceAndTheWorkIsDone) {
  // "In case the device is still doing work in the stream when cudaStreamDestroy() is called, the function will return
  // immediately and the resources ... will be released automatically once the device has completed all work"
  NEEDS_VALUES();
  constexpr std::size_t kWords = 1000;
  DeviceBytes const device(kWords * 4);
  cudaStream_t stream = nullptr;
  ASSERT_OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  std::atomic<bool> open{false};
  ASSERT_OK(cudaLaunchHostFunc(
      stream,
      [](void* flag) {
        while (!static_cast<std::atomic<bool>*>(flag)->load()) std::this_thread::yield();
      },
      &open));
  ASSERT_OK(launch_fill(device.words(), kWords, 5, stream));
  EXPECT_OK(cudaStreamDestroy(stream));
  open = true;
  EXPECT_OK(cudaDeviceSynchronize());
  EXPECT_EQ(0u, wrong_on_device(device.words(), kWords, 5));
}

TEST_F(StreamApi, ManyStreams) {
  NEEDS_VALUES();
  constexpr std::size_t kStreams = 200, kWords = 64;
  DeviceBytes const device(kStreams * kWords * 4);
  std::vector<cudaStream_t> streams(kStreams);
  for (std::size_t i = 0; i < kStreams; ++i) {
    ASSERT_OK(cudaStreamCreateWithFlags(&streams[i], i % 2 == 0 ? cudaStreamDefault : cudaStreamNonBlocking));
    ASSERT_OK(launch_fill(device.words() + i * kWords, kWords, static_cast<std::uint32_t>(i), streams[i]));
  }
  EXPECT_OK(cudaDeviceSynchronize());
  for (std::size_t i = 0; i < kStreams; ++i)
    EXPECT_EQ(0u, wrong_on_device(device.words() + i * kWords, kWords, static_cast<std::uint32_t>(i))) << i;
  for (cudaStream_t const stream : streams) EXPECT_OK(cudaStreamDestroy(stream));
}

TEST_F(StreamApi, LongQueuesKeepTheirOrder) {
  NEEDS_VALUES();
  constexpr std::size_t kWords = 32;
  Stream const stream(cudaStreamNonBlocking);
  DeviceBytes const device(kWords * 4);
  ASSERT_OK(launch_fill(device.words(), kWords, 1, stream));
  for (int i = 0; i < 3000; ++i) ASSERT_OK(launch_add(device.words(), kWords, 1, stream));
  ASSERT_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(0u, wrong_on_device(device.words(), kWords, 1, 3000));
}

TEST_F(StreamApi, WritesAndWaitsForWords) {
  Stream const one(cudaStreamNonBlocking), other(cudaStreamNonBlocking);
  DeviceBytes const device(16);
  ASSERT_OK(cudaMemset(device.get(), 0, 16));
  ASSERT_OK(cudaDeviceSynchronize());
  ASSERT_OK(cuStreamWaitValue32(other, device.address(), 7, CU_STREAM_WAIT_VALUE_GEQ));
  ASSERT_OK(cudaMemsetAsync(device.get() + 8, 1, 4, other));
  EXPECT_CUDA(cudaErrorNotReady, cudaStreamQuery(other));
  ASSERT_OK(cuStreamWriteValue32(one, device.address(), 9, 0));
  ASSERT_OK(cudaStreamSynchronize(one));
  ASSERT_OK(cudaStreamSynchronize(other));
  EXPECT_EQ(std::byte{1}, device.read()[8]);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuStreamWriteValue32(one, device.address() + 1, 1, 0));
  int on_stack = 0;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuStreamWriteValue32(one, reinterpret_cast<CUdeviceptr>(&on_stack), 1, 0));
}

struct WaitCase {
  unsigned flags;
  std::uint32_t before, value, after;  // the word before it is reached, what is waited for, a word that reaches it
};

TEST_F(StreamApi, EveryComparisonOfWords) {
  constexpr WaitCase kCases[] = {
      {CU_STREAM_WAIT_VALUE_GEQ, 0xFFFFFFF0u, 5, 5},  // cyclic: 5 is 21 steps further
      {CU_STREAM_WAIT_VALUE_EQ, 1, 2, 2},
      {CU_STREAM_WAIT_VALUE_AND, 0xF0, 0x0F, 0x01},
      // "Wait until ~(*addr | value) != 0", in 32 bits.
      {CU_STREAM_WAIT_VALUE_NOR, 0xFFFF0000u, 0x0000FFFFu, 0xFFFE0000u},
  };
  for (WaitCase const& c : kCases) {
    Stream const one(cudaStreamNonBlocking), other(cudaStreamNonBlocking);
    DeviceBytes const device(4);
    ASSERT_OK(cuMemsetD32(device.address(), c.before, 1));
    ASSERT_OK(cudaDeviceSynchronize());
    ASSERT_OK(cuStreamWaitValue32(other, device.address(), c.value, c.flags));
    for (int i = 0; i < 3; ++i) EXPECT_CUDA(cudaErrorNotReady, cudaStreamQuery(other)) << c.flags;
    ASSERT_OK(cuStreamWriteValue32(one, device.address(), c.after, 0));
    ASSERT_OK(cudaStreamSynchronize(one));
    EXPECT_OK(cudaStreamSynchronize(other)) << c.flags;
  }
}

struct MappedWord {
  CUdeviceptr address = 0;
  std::size_t bytes = 0;
  MappedWord() {
    CUmemAllocationProp prop{};
    prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, 0};
    CUmemAccessDesc const access{prop.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUmemGenericAllocationHandle handle = 0;
    EXPECT_OK(cuMemGetAllocationGranularity(&bytes, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
    EXPECT_OK(cuMemAddressReserve(&address, bytes, 0, 0, 0));
    EXPECT_OK(cuMemCreate(&handle, bytes, &prop, 0));
    EXPECT_OK(cuMemMap(address, bytes, 0, handle, 0));
    EXPECT_OK(cuMemSetAccess(address, bytes, &access, 1));
    EXPECT_OK(cuMemRelease(handle));
  }
};

TEST_F(StreamApi, AWordThatIsUnmappedIsTheStreamsError) {
  NEEDS_SOFTGPU();
  if (is_checking()) GTEST_SKIP() << "a mistake that the checker reports";
  in_child([] {
    Stream const stream(cudaStreamNonBlocking);
    MappedWord const word;
    ASSERT_OK(cuStreamWaitValue32(stream, word.address, 1, CU_STREAM_WAIT_VALUE_EQ));
    ASSERT_OK(cuMemUnmap(word.address, word.bytes));
    EXPECT_EQ(cudaErrorIllegalAddress, cudaStreamSynchronize(stream));
    EXPECT_OK(cudaDeviceReset());
    std::_Exit(testing::Test::HasFailure() ? 1 : 0);  // the stream went with its context
  });
}

}  // namespace
}  // namespace conformance
