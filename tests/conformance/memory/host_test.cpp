// SPDX-License-Identifier: Apache-2.0
// Host memory that the device knows: pinned, registered, managed.
#include <cstdlib>
#include <cstring>
#include <memory>

#include "tests/conformance/support/device.h"
#include "tests/conformance/support/kernels.h"

namespace conformance {
namespace {

class HostMemory : public Conformance {};

struct Free {
  void operator()(void* p) const { std::free(p); }
};
using Pages = std::unique_ptr<std::byte, Free>;

Pages pages(std::size_t bytes) {
  return Pages(static_cast<std::byte*>(std::aligned_alloc(4096, bytes)));
}

TEST_F(HostMemory, PinnedMemoryCostsNoDeviceMemory) {
  std::size_t const before = memory_info().free_bytes;
  PinnedBytes const pinned(16 * kMiB);
  std::memset(pinned.get(), 0x5a, 16 * kMiB);
  if (is_softgpu()) {
    EXPECT_EQ(before, memory_info().free_bytes);
  }
}

TEST_F(HostMemory, PinnedMemoryIsHostMemoryThatTheDeviceReaches) {
  PinnedBytes const pinned(4096);
  cudaPointerAttributes attributes{};
  ASSERT_OK(cudaPointerGetAttributes(&attributes, pinned.get() + 5));
  EXPECT_EQ(cudaMemoryTypeHost, attributes.type);
  EXPECT_EQ(pinned.get() + 5, attributes.hostPointer);
  void* device = nullptr;
  ASSERT_OK(cudaHostGetDevicePointer(&device, pinned.get(), 0));
  // "cudaDevicePropCanUseHostPointer..": under unified addressing "the device pointer may be the same".
  EXPECT_NE(nullptr, device);
  EXPECT_CUDA(cudaErrorInvalidValue, cudaHostGetDevicePointer(&device, pinned.get(), 1));  // "flags must be 0 for now"
}

TEST_F(HostMemory, KernelsWritePinnedMemory) {
  NEEDS_VALUES();
  constexpr std::size_t kWords = 1000;
  PinnedBytes const pinned(kWords * 4);
  void* device = nullptr;
  ASSERT_OK(cudaHostGetDevicePointer(&device, pinned.get(), 0));
  ASSERT_OK(launch_fill(static_cast<std::uint32_t*>(device), kWords, 8, nullptr));
  ASSERT_OK(cudaDeviceSynchronize());
  EXPECT_EQ(0u, wrong_words({pinned.words(), pinned.words() + kWords}, 8));
}

TEST_F(HostMemory, FlagsAreKept) {
  void* p = nullptr;
  ASSERT_OK(cudaHostAlloc(&p, 4096, cudaHostAllocPortable | cudaHostAllocWriteCombined));
  unsigned flags = 0;
  EXPECT_OK(cudaHostGetFlags(&flags, p));
  EXPECT_EQ(unsigned{cudaHostAllocPortable | cudaHostAllocWriteCombined},
            flags & (cudaHostAllocPortable | cudaHostAllocWriteCombined));
  EXPECT_OK(cudaFreeHost(p));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaHostAlloc(&p, 4096, 0x80));
  // "cudaHostGetFlags() will fail if the input pointer does not reside in an address range allocated by
  // cudaHostAlloc()."
  int on_stack = 0;
  EXPECT_CUDA(cudaErrorInvalidValue, cudaHostGetFlags(&flags, &on_stack));
}

TEST_F(HostMemory, RefusesToFreeWhatItDidNotGive) {
  int on_stack = 0;
  void* p = nullptr;
  ASSERT_OK(cudaMallocHost(&p, 8192));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaFreeHost(&on_stack));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaFreeHost(static_cast<std::byte*>(p) + 64));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaFree(p));
  EXPECT_OK(cudaFreeHost(p));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaFreeHost(p));
  EXPECT_OK(cudaFreeHost(nullptr));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMallocHost(static_cast<void**>(nullptr), 16));
}

TEST_F(HostMemory, RegistersAndUnregisters) {
  Pages const memory = pages(4 * 4096);
  ASSERT_OK(cudaHostRegister(memory.get(), 4 * 4096, cudaHostRegisterDefault));
  cudaPointerAttributes attributes{};
  EXPECT_OK(cudaPointerGetAttributes(&attributes, memory.get() + 4096));
  EXPECT_EQ(cudaMemoryTypeHost, attributes.type);
  EXPECT_CUDA(cudaErrorHostMemoryAlreadyRegistered, cudaHostRegister(memory.get(), 4096, cudaHostRegisterDefault));
  EXPECT_OK(cudaHostUnregister(memory.get()));
  EXPECT_CUDA(cudaErrorHostMemoryNotRegistered, cudaHostUnregister(memory.get()));
  EXPECT_OK(cudaPointerGetAttributes(&attributes, memory.get()));
  EXPECT_EQ(cudaMemoryTypeUnregistered, attributes.type);
  ASSERT_OK(cudaHostRegister(memory.get(), 4096, cudaHostRegisterMapped));
  EXPECT_OK(cudaHostUnregister(memory.get()));
}

TEST_F(HostMemory, RegistrationRefusesBadArguments) {
  Pages const memory = pages(4096);
  EXPECT_CUDA(cudaErrorInvalidValue, cudaHostRegister(nullptr, 4096, cudaHostRegisterDefault));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaHostRegister(memory.get(), 0, cudaHostRegisterDefault));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaHostRegister(memory.get(), 4096, 0x100));
  // A range that wraps around, or runs on where there is no memory.
  EXPECT_NE(cudaSuccess, cudaHostRegister(memory.get(), ~std::size_t{0}, cudaHostRegisterDefault));
  EXPECT_NE(cudaSuccess, cudaHostRegister(memory.get(), std::size_t{1} << 46, cudaHostRegisterDefault));
  (void)cudaGetLastError();
  cudaPointerAttributes attributes{};
  ASSERT_OK(cudaPointerGetAttributes(&attributes, memory.get()));
  EXPECT_EQ(cudaMemoryTypeUnregistered, attributes.type);
  DeviceBytes const device(4096);
  EXPECT_NE(cudaSuccess, cudaHostRegister(device.get(), 4096, cudaHostRegisterDefault));
  (void)cudaGetLastError();
  EXPECT_CUDA(cudaErrorInvalidValue, cudaHostUnregister(nullptr));
  // "The pointer passed as argument to this function must be the same as that passed to cudaHostRegister"
  ASSERT_OK(cudaHostRegister(memory.get(), 4096, cudaHostRegisterDefault));
  EXPECT_NE(cudaSuccess, cudaHostUnregister(memory.get() + 64));
  (void)cudaGetLastError();
  EXPECT_OK(cudaHostUnregister(memory.get()));
}

TEST_F(HostMemory, RegisteredMemoryIsCopiedAsynchronously) {
  constexpr std::size_t kBytes = 64 * kKiB;
  Pages const memory = pages(kBytes);
  auto const bytes = noise(kBytes, 4);
  std::memcpy(memory.get(), bytes.data(), kBytes);
  ASSERT_OK(cudaHostRegister(memory.get(), kBytes, cudaHostRegisterDefault));
  Stream const stream(cudaStreamNonBlocking);
  DeviceBytes const device(kBytes);
  EXPECT_OK(cudaMemcpyAsync(device.get(), memory.get(), kBytes, cudaMemcpyHostToDevice, stream));
  EXPECT_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(bytes, device.read());
  EXPECT_OK(cudaHostUnregister(memory.get()));
}

TEST_F(HostMemory, ManagedMemoryIsOneAddressForBoth) {
  NEEDS_VALUES();
  constexpr std::size_t kWords = 5000;
  std::uint32_t* words = nullptr;
  ASSERT_OK(cudaMallocManaged(&words, kWords * 4, cudaMemAttachGlobal));
  for (std::size_t i = 0; i < kWords; ++i) words[i] = expected_word(2, i);
  ASSERT_OK(launch_add(words, kWords, 5, nullptr));
  ASSERT_OK(cudaDeviceSynchronize());
  EXPECT_EQ(0u, wrong_words({words, words + kWords}, 2, 5));
  EXPECT_OK(cudaFree(words));
}

TEST_F(HostMemory, ManagedMemoryNamesItself) {
  void* p = nullptr;
  ASSERT_OK(cudaMallocManaged(&p, kMiB, cudaMemAttachGlobal));
  cudaPointerAttributes attributes{};
  ASSERT_OK(cudaPointerGetAttributes(&attributes, p));
  EXPECT_EQ(cudaMemoryTypeManaged, attributes.type);
  EXPECT_EQ(p, attributes.devicePointer);
  EXPECT_EQ(p, attributes.hostPointer);
  EXPECT_CUDA(cudaErrorInvalidValue, cudaFree(static_cast<std::byte*>(p) + 1));
  EXPECT_OK(cudaFree(p));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaFree(p));
}

TEST_F(HostMemory, ManagedAllocationRefusesBadArguments) {
  void* p = nullptr;
  // "If size is 0, cudaMallocManaged returns cudaErrorInvalidValue"; flags "must be one of Global or Host".
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMallocManaged(&p, 0, cudaMemAttachGlobal));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMallocManaged(&p, 16, 0x40));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMallocManaged(static_cast<void**>(nullptr), 16, cudaMemAttachGlobal));
}

TEST_F(HostMemory, ManagedMemoryIsAdvisedAndPrefetched) {
  void* p = nullptr;
  ASSERT_OK(cudaMallocManaged(&p, 4 * kMiB, cudaMemAttachGlobal));
  cudaMemLocation const device{cudaMemLocationTypeDevice, 0};
  cudaMemLocation const host{cudaMemLocationTypeHost, 0};
  EXPECT_OK(cudaMemAdvise(p, 4 * kMiB, cudaMemAdviseSetReadMostly, device));
  EXPECT_OK(cudaMemPrefetchAsync(p, 4 * kMiB, device, 0, nullptr));
  EXPECT_OK(cudaDeviceSynchronize());
  EXPECT_OK(cudaMemPrefetchAsync(p, 4 * kMiB, host, 0, nullptr));
  EXPECT_OK(cudaDeviceSynchronize());
  int on_stack = 0;
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemPrefetchAsync(&on_stack, 4, device, 1, nullptr));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemPrefetchAsync(p, 4 * kMiB + 1, device, 0, nullptr));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemPrefetchAsync(p, ~std::size_t{0} - 100, device, 0, nullptr));
  EXPECT_OK(cudaFree(p));
}

int range_attribute(void* p, std::size_t bytes, cudaMemRangeAttribute attribute) {
  int value = 0;
  EXPECT_OK(cudaMemRangeGetAttribute(&value, sizeof value, attribute, p, bytes));
  return value;
}

TEST_F(HostMemory, ARangeOfManagedMemoryTellsWhatWasAdvised) {
  std::byte* p = nullptr;
  constexpr std::size_t kHalf = 2 * kMiB, kAll = 2 * kHalf;
  ASSERT_OK(cudaMallocManaged(&p, kAll, cudaMemAttachGlobal));
  cudaMemLocation const device{cudaMemLocationTypeDevice, 0};
  EXPECT_EQ(cudaInvalidDeviceId, range_attribute(p, kAll, cudaMemRangeAttributePreferredLocation));
  EXPECT_OK(cudaMemAdvise(p, kHalf, cudaMemAdviseSetPreferredLocation, device));
  EXPECT_OK(cudaMemAdvise(p, kAll, cudaMemAdviseSetReadMostly, device));
  EXPECT_OK(cudaMemAdvise(p, kAll, cudaMemAdviseSetAccessedBy, device));
  EXPECT_OK(cudaMemPrefetchAsync(p + kHalf, kHalf, device, 0, nullptr));
  EXPECT_OK(cudaDeviceSynchronize());
  EXPECT_EQ(0, range_attribute(p, kHalf, cudaMemRangeAttributePreferredLocation));
  EXPECT_EQ(cudaMemLocationTypeDevice, range_attribute(p, kHalf, cudaMemRangeAttributePreferredLocationType));
  EXPECT_EQ(cudaInvalidDeviceId, range_attribute(p, kAll, cudaMemRangeAttributePreferredLocation));
  EXPECT_EQ(1, range_attribute(p, kAll, cudaMemRangeAttributeReadMostly));
  EXPECT_EQ(0, range_attribute(p + kHalf, kHalf, cudaMemRangeAttributeLastPrefetchLocation));
  EXPECT_EQ(cudaInvalidDeviceId, range_attribute(p, kAll, cudaMemRangeAttributeLastPrefetchLocation));
  EXPECT_OK(cudaMemAdvise(p, kHalf, cudaMemAdviseUnsetReadMostly, device));
  EXPECT_EQ(0, range_attribute(p, kAll, cudaMemRangeAttributeReadMostly));
  int by[3] = {7, 7, 7};
  EXPECT_OK(cudaMemRangeGetAttribute(by, sizeof by, cudaMemRangeAttributeAccessedBy, p, kAll));
  EXPECT_EQ(0, by[0]);
  EXPECT_EQ(cudaInvalidDeviceId, by[1]);
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMemRangeGetAttribute(by, 3, cudaMemRangeAttributeReadMostly, p, kAll));
  EXPECT_OK(cudaFree(p));
}

TEST_F(HostMemory, PrefetchedPiecesAddUp) {
  NEEDS_SOFTGPU();  // on a card other things move too
  constexpr std::size_t kPiece = 2 * kMiB;
  std::byte* p = nullptr;
  ASSERT_OK(cudaMallocManaged(&p, 4 * kPiece, cudaMemAttachGlobal));
  std::size_t const before = memory_info().free_bytes;
  auto const resident = [&] { return before - memory_info().free_bytes; };
  cudaMemLocation const device{cudaMemLocationTypeDevice, 0};
  cudaMemLocation const host{cudaMemLocationTypeHost, 0};
  EXPECT_OK(cudaMemPrefetchAsync(p, kPiece, device, 0, nullptr));
  EXPECT_OK(cudaMemPrefetchAsync(p + 2 * kPiece, kPiece, device, 0, nullptr));
  EXPECT_EQ(2 * kPiece, resident());
  EXPECT_OK(cudaMemPrefetchAsync(p, 3 * kPiece, device, 0, nullptr));
  EXPECT_EQ(3 * kPiece, resident()) << "what is there already is not charged again";
  EXPECT_OK(cudaMemPrefetchAsync(p + kPiece, kPiece, host, 0, nullptr));
  EXPECT_EQ(2 * kPiece, resident());
  if (device_count() > 1) {
    cudaMemLocation const other{cudaMemLocationTypeDevice, 1};
    EXPECT_OK(cudaMemPrefetchAsync(p, kPiece, other, 0, nullptr));
    EXPECT_EQ(kPiece, resident());
  }
  EXPECT_OK(cudaFree(p));
  EXPECT_EQ(0u, resident());
}

}  // namespace
}  // namespace conformance
