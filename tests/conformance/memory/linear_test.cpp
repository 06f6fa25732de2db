// SPDX-License-Identifier: Apache-2.0
// Linear and pitched device memory: allocation, release, what is free, what a pointer is.
#include <cstring>
#include <map>
#include <set>

#include "tests/conformance/support/device.h"
#include "tests/conformance/support/kernels.h"

namespace conformance {
namespace {

class LinearMemory : public Conformance {};

TEST_F(LinearMemory, IsAlignedForAnyType) {
  // "The allocated memory is suitably aligned for any kind of variable"; the programming guide says 256 bytes.
  for (std::size_t const bytes :
       {std::size_t{1}, std::size_t{3}, std::size_t{511}, std::size_t{513}, kMiB - 1, kMiB + 1, 5 * kMiB}) {
    DeviceBytes const block(bytes);
    EXPECT_EQ(0u, block.address() % 256) << bytes;
  }
}

TEST_F(LinearMemory, BlocksDoNotOverlap) {
  std::vector<void*> blocks;
  for (int i = 0; i < 300; ++i) {
    void* p = nullptr;
    ASSERT_OK(cudaMalloc(&p, static_cast<std::size_t>(1 + i * 37)));
    blocks.push_back(p);
  }
  std::map<std::uintptr_t, std::size_t> sorted;
  for (std::size_t i = 0; i < blocks.size(); ++i) sorted[reinterpret_cast<std::uintptr_t>(blocks[i])] = 1 + i * 37;
  EXPECT_EQ(blocks.size(), sorted.size());
  std::uintptr_t end = 0;
  for (auto const& [begin, bytes] : sorted) {
    EXPECT_GE(begin, end);
    end = begin + bytes;
  }
  for (void* const p : blocks) EXPECT_OK(cudaFree(p));
}

TEST_F(LinearMemory, RefusesBadArguments) {
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMalloc(static_cast<void**>(nullptr), 16));
  CUdeviceptr p = 0;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemAlloc(nullptr, 16));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemAlloc(&p, 0));  // "If bytesize is 0, returns CUDA_ERROR_INVALID_VALUE"
}

TEST_F(LinearMemory, RefusesWhatTheDeviceDoesNotHave) {
  MemoryInfo const info = memory_info();
  void* p = nullptr;
  EXPECT_CUDA(cudaErrorMemoryAllocation, cudaMalloc(&p, info.total_bytes + kMiB));
  EXPECT_CUDA(cudaErrorMemoryAllocation, cudaMalloc(&p, std::size_t{1} << 52));
  EXPECT_CUDA(cudaErrorMemoryAllocation, cudaMalloc(&p, ~std::size_t{0} - kGiB));
  EXPECT_EQ(nullptr, p);
  // A refused allocation leaves everything as it was.
  DeviceBytes const block(kMiB);
  EXPECT_OK(cudaMemset(block.get(), 1, kMiB));
}

TEST_F(LinearMemory, RefusesToFreeWhatItDidNotGive) {
  int on_stack = 0;
  std::vector<std::byte> on_heap(64);
  DeviceBytes const block(4 * kMiB);
  EXPECT_CUDA(cudaErrorInvalidValue, cudaFree(&on_stack));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaFree(on_heap.data()));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaFree(reinterpret_cast<void*>(0x1000)));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaFree(block.get() + 1));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaFree(block.get() + 2 * kMiB));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaFree(block.get() + 4 * kMiB));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaFreeHost(block.get()));
}

TEST_F(LinearMemory, FreesOnce) {
  // "If cudaFree(devPtr) has already been called before, an error is returned."
  for (std::size_t const bytes : {std::size_t{100}, 3 * kMiB}) {
    void* p = nullptr;
    ASSERT_OK(cudaMalloc(&p, bytes));
    EXPECT_OK(cudaFree(p));
    EXPECT_CUDA(cudaErrorInvalidValue, cudaFree(p));
    EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemFree(reinterpret_cast<CUdeviceptr>(p)));
  }
  EXPECT_OK(cudaFree(nullptr));  // "If devPtr is 0, no operation is performed."
}

TEST_F(LinearMemory, FreeMemoryFallsAndComesBack) {
  MemoryInfo const before = memory_info();
  {
    DeviceBytes const block(64 * kMiB);
    MemoryInfo const during = memory_info();
    EXPECT_EQ(before.total_bytes, during.total_bytes);
    EXPECT_LE(during.free_bytes + 64 * kMiB, before.free_bytes);
    if (is_softgpu()) {
      EXPECT_EQ(before.free_bytes - 64 * kMiB, during.free_bytes);
    }
  }
  EXPECT_GE(memory_info().free_bytes, before.free_bytes);
  EXPECT_LE(before.free_bytes, before.total_bytes);
}

TEST_F(LinearMemory, FreeMemoryMovesInWholeGranulesOnSoftgpu) {
  NEEDS_SOFTGPU();
  std::size_t const before = memory_info().free_bytes;
  {
    DeviceBytes const odd(5 * kMiB + 1);
    EXPECT_EQ(before - 6 * kMiB, memory_info().free_bytes);
    DeviceBytes const small(1);
    EXPECT_EQ(before - 8 * kMiB, memory_info().free_bytes);
    DeviceBytes const shares_its_granule(512 * kKiB);
    EXPECT_EQ(before - 8 * kMiB, memory_info().free_bytes);
  }
  EXPECT_EQ(before, memory_info().free_bytes);
}

TEST_F(LinearMemory, EverythingCanBeAllocatedAndNoMore) {
  NEEDS_SOFTGPU();  // on a shared GPU another process may take it first
  std::vector<void*> blocks;
  void* p = nullptr;
  std::size_t const piece = memory_info().free_bytes / 4 / (2 * kMiB) * (2 * kMiB);
  while (cudaMalloc(&p, piece) == cudaSuccess) blocks.push_back(p);
  EXPECT_EQ(cudaErrorMemoryAllocation, cudaGetLastError());
  EXPECT_EQ(4u, blocks.size());
  EXPECT_LT(memory_info().free_bytes, piece);
  for (void* const block : blocks) EXPECT_OK(cudaFree(block));
}

TEST_F(LinearMemory, MemGetInfoTakesNullForWhatIsNotAsked) {
  EXPECT_OK(cudaDeviceSynchronize());
  std::size_t total = 0;
  CUdevice device = 0;
  ASSERT_OK(cuDeviceGet(&device, 0));
  ASSERT_OK(cuDeviceTotalMem(&total, device));
  EXPECT_EQ(total, memory_info().total_bytes);
}

TEST_F(LinearMemory, PitchIsAtLeastTheWidthAndAligned) {
  for (std::size_t const width : {1, 100, 512, 513, 4096, 5000}) {
    void* p = nullptr;
    std::size_t pitch = 0;
    ASSERT_OK(cudaMallocPitch(&p, &pitch, width, 7));
    EXPECT_GE(pitch, width);
    EXPECT_EQ(0u, pitch % 4);
    EXPECT_OK(cudaMemset2D(p, pitch, 1, width, 7));
    EXPECT_OK(cudaFree(p));
  }
}

TEST_F(LinearMemory, PitchedAllocationRefusesBadArguments) {
  void* p = nullptr;
  std::size_t pitch = 0;
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMallocPitch(static_cast<void**>(nullptr), &pitch, 16, 16));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMallocPitch(&p, nullptr, 16, 16));
  EXPECT_CUDA(cudaErrorMemoryAllocation, cudaMallocPitch(&p, &pitch, std::size_t{1} << 40, std::size_t{1} << 10));
  CUdeviceptr d = 0;
  // "ElementSizeBytes may be 4, 8, or 16."
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemAllocPitch(&d, &pitch, 64, 4, 3));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemAllocPitch(&d, &pitch, 0, 4, 4));
  EXPECT_NE(cudaSuccess, cudaMallocPitch(&p, &pitch, ~std::size_t{0} / 2, ~std::size_t{0} / 2));
  (void)cudaGetLastError();
}

TEST_F(LinearMemory, ThreeDimensionsGiveThePitchedPointerBack) {
  cudaPitchedPtr pitched{};
  ASSERT_OK(cudaMalloc3D(&pitched, make_cudaExtent(100, 20, 3)));
  EXPECT_NE(nullptr, pitched.ptr);
  EXPECT_GE(pitched.pitch, 100u);
  EXPECT_EQ(100u, pitched.xsize);  // "The fields xsize and ysize contain the logical width and height in bytes/rows"
  EXPECT_EQ(20u, pitched.ysize);
  EXPECT_OK(cudaMemset(pitched.ptr, 0, pitched.pitch * 20 * 3));
  EXPECT_OK(cudaFree(pitched.ptr));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaMalloc3D(nullptr, make_cudaExtent(1, 1, 1)));
}

TEST_F(LinearMemory, AddressRangeIsTheWholeBlockFromAnyPlaceInIt) {
  DeviceBytes const block(3 * kMiB);
  for (std::size_t const offset : {std::size_t{0}, std::size_t{1}, 2 * kMiB + 5, 3 * kMiB - 1}) {
    CUdeviceptr base = 0;
    std::size_t bytes = 0;
    EXPECT_OK(cuMemGetAddressRange(&base, &bytes, block.address() + offset));
    EXPECT_EQ(block.address(), base);
    EXPECT_EQ(3 * kMiB, bytes);
    // "Either or both parameters base and psize may be NULL."
    EXPECT_OK(cuMemGetAddressRange(nullptr, &bytes, block.address() + offset));
    EXPECT_OK(cuMemGetAddressRange(&base, nullptr, block.address() + offset));
  }
  int on_stack = 0;
  EXPECT_CUDA(CUDA_ERROR_NOT_FOUND, cuMemGetAddressRange(nullptr, nullptr, reinterpret_cast<CUdeviceptr>(&on_stack)));
}

TEST_F(LinearMemory, PointerAttributesNameKindAndDevice) {
  DeviceBytes const block(kMiB);
  cudaPointerAttributes attributes{};
  ASSERT_OK(cudaPointerGetAttributes(&attributes, block.get() + 100));
  EXPECT_EQ(cudaMemoryTypeDevice, attributes.type);
  EXPECT_EQ(0, attributes.device);
  EXPECT_EQ(block.get() + 100, attributes.devicePointer);
  EXPECT_EQ(nullptr, attributes.hostPointer);  // "cannot be accessed by the host directly, then this is NULL"
  int on_stack = 0;
  ASSERT_OK(cudaPointerGetAttributes(&attributes, &on_stack));
  EXPECT_EQ(cudaMemoryTypeUnregistered, attributes.type);
  EXPECT_CUDA(cudaErrorInvalidValue, cudaPointerGetAttributes(nullptr, block.get()));
}

TEST_F(LinearMemory, DriverPointerAttributes) {
  DeviceBytes const block(kMiB);
  unsigned type = 0, managed = 7;
  int ordinal = -1;
  CUdeviceptr start = 0;
  std::size_t bytes = 0;
  CUcontext context = nullptr, current = nullptr;
  ASSERT_OK(cuCtxGetCurrent(&current));
  CUdeviceptr const inside = block.address() + 7;
  EXPECT_OK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, inside));
  EXPECT_OK(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, inside));
  EXPECT_OK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, inside));
  EXPECT_OK(cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, inside));
  EXPECT_OK(cuPointerGetAttribute(&bytes, CU_POINTER_ATTRIBUTE_RANGE_SIZE, inside));
  EXPECT_OK(cuPointerGetAttribute(&context, CU_POINTER_ATTRIBUTE_CONTEXT, inside));
  EXPECT_EQ(static_cast<unsigned>(CU_MEMORYTYPE_DEVICE), type);
  EXPECT_EQ(0u, managed & 0xff);
  EXPECT_EQ(0, ordinal);
  EXPECT_EQ(block.address(), start);
  EXPECT_EQ(kMiB, bytes);
  EXPECT_EQ(current, context);
  int on_stack = 0;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, reinterpret_cast<CUdeviceptr>(&on_stack)));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttribute(nullptr, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, inside));
}

TEST_F(LinearMemory, SeveralAttributesAtOnceAreZeroForAnUnknownAddress) {
  // "If the pointer was not allocated by, mapped by, or registered with a CUcontext, the attributes are assigned
  // default NULL values and CUDA_SUCCESS is returned."
  int on_stack = 0;
  unsigned type = 99;
  CUdeviceptr start = 99;
  CUpointer_attribute asked[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR};
  void* answers[] = {&type, &start};
  EXPECT_OK(cuPointerGetAttributes(2, asked, answers, reinterpret_cast<CUdeviceptr>(&on_stack)));
  EXPECT_EQ(0u, type);
  EXPECT_EQ(0u, start);
}

TEST_F(LinearMemory, BufferIdsAreNeverUsedAgain) {
  // "A buffer ID is guaranteed to be unique within the process"
  std::set<unsigned long long> seen;
  for (int i = 0; i < 20; ++i) {
    DeviceBytes const block(kMiB);
    unsigned long long id = 0;
    ASSERT_OK(cuPointerGetAttribute(&id, CU_POINTER_ATTRIBUTE_BUFFER_ID, block.address()));
    EXPECT_TRUE(seen.insert(id).second);
  }
}

TEST_F(LinearMemory, FreeWaitsForTheWorkThatUsesTheBlock) {
  NEEDS_VALUES();
  constexpr std::size_t kWords = 4096;
  Stream const stream(cudaStreamNonBlocking);
  DeviceBytes const kept(kWords * 4);
  void* scratch = nullptr;
  ASSERT_OK(cudaMalloc(&scratch, kWords * 4));
  auto* const words = static_cast<std::uint32_t*>(scratch);
  ASSERT_OK(launch_fill(words, kWords, 3, stream));
  ASSERT_OK(launch_copy(kept.words(), words, kWords, stream));
  ASSERT_OK(cudaFree(scratch));
  DeviceBytes const reused(kWords * 4);
  EXPECT_OK(cudaMemset(reused.get(), 0xff, kWords * 4));
  EXPECT_OK(cudaStreamSynchronize(stream));
  EXPECT_EQ(0u, wrong_on_device(kept.words(), kWords, 3));
}

}  // namespace
}  // namespace conformance
