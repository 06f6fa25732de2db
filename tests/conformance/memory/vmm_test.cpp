// SPDX-License-Identifier: Apache-2.0
// Virtual memory management: address ranges, physical memory, mappings, access.
#include <sys/resource.h>

#include <algorithm>
#include <cstring>

#include "tests/conformance/support/device.h"
#include "tests/conformance/support/kernels.h"

namespace conformance {
namespace {

CUmemAllocationProp device_memory(int device = 0) {
  CUmemAllocationProp prop{};
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  return prop;
}

CUmemAccessDesc read_write(int device = 0) {
  CUmemAccessDesc access{};
  access.location = {CU_MEM_LOCATION_TYPE_DEVICE, device};
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  return access;
}

class VirtualMemory : public Conformance {
 protected:
  void SetUp() override {
    Conformance::SetUp();
    CUmemAllocationProp const prop = device_memory();
    ASSERT_OK(cuMemGetAllocationGranularity(&granule_, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  }
  CUdeviceptr reserve(std::size_t granules) const {
    CUdeviceptr p = 0;
    EXPECT_OK(cuMemAddressReserve(&p, granules * granule_, 0, 0, 0));
    return p;
  }
  CUmemGenericAllocationHandle create(std::size_t granules) const {
    CUmemGenericAllocationHandle handle = 0;
    CUmemAllocationProp const prop = device_memory();
    EXPECT_OK(cuMemCreate(&handle, granules * granule_, &prop, 0));
    return handle;
  }
  void allow(CUdeviceptr p, std::size_t granules) const {
    CUmemAccessDesc const access = read_write();
    EXPECT_OK(cuMemSetAccess(p, granules * granule_, &access, 1));
  }
  std::size_t granule_ = 0;
};

TEST_F(VirtualMemory, GranularityIsAPowerOfTwo) {
  EXPECT_GT(granule_, 0u);
  EXPECT_EQ(0u, granule_ & (granule_ - 1));
  std::size_t recommended = 0;
  CUmemAllocationProp prop = device_memory();
  EXPECT_OK(cuMemGetAllocationGranularity(&recommended, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
  EXPECT_EQ(0u, recommended % granule_);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              cuMemGetAllocationGranularity(nullptr, &prop, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE,
              cuMemGetAllocationGranularity(&recommended, nullptr, CU_MEM_ALLOC_GRANULARITY_MINIMUM));
}

TEST_F(VirtualMemory, MappedMemoryIsMemory) {
  NEEDS_VALUES();
  CUdeviceptr const p = reserve(2);
  CUmemGenericAllocationHandle const handle = create(2);
  ASSERT_OK(cuMemMap(p, 2 * granule_, 0, handle, 0));
  allow(p, 2);
  auto* const words = reinterpret_cast<std::uint32_t*>(p);
  std::size_t const n = 2 * granule_ / 4;
  EXPECT_OK(launch_fill(words, n, 3, nullptr));
  EXPECT_EQ(0u, wrong_on_device(words, n, 3));
  EXPECT_OK(cuMemUnmap(p, 2 * granule_));
  EXPECT_OK(cuMemRelease(handle));
  EXPECT_OK(cuMemAddressFree(p, 2 * granule_));
}

TEST_F(VirtualMemory, IsCopiedToFromMemoryThatIsFreedInOrder) {
  NEEDS_VALUES();
  CUdeviceptr const p = reserve(1);
  CUmemGenericAllocationHandle const handle = create(1);
  ASSERT_OK(cuMemMap(p, granule_, 0, handle, 0));
  allow(p, 1);
  {
    Stream const stream;
    CUdeviceptr ordered = 0;
    ASSERT_OK(cuMemAllocAsync(&ordered, 4096, stream));
    EXPECT_OK(launch_fill(reinterpret_cast<std::uint32_t*>(ordered), 1024, 7, stream));
    EXPECT_OK(cuMemcpyDtoDAsync(p, ordered, 4096, stream));
    EXPECT_OK(cuMemFreeAsync(ordered, stream));
    EXPECT_OK(cuStreamSynchronize(stream));
  }
  EXPECT_EQ(0u, wrong_on_device(reinterpret_cast<std::uint32_t*>(p), 1024, 7));
  EXPECT_OK(cuMemUnmap(p, granule_));
  EXPECT_OK(cuMemRelease(handle));
  EXPECT_OK(cuMemAddressFree(p, granule_));
}

TEST_F(VirtualMemory, TwoMappingsSeeTheSameBytes) {
  NEEDS_VALUES();
  CUdeviceptr const a = reserve(1), b = reserve(1);
  CUmemGenericAllocationHandle const handle = create(1);
  ASSERT_OK(cuMemMap(a, granule_, 0, handle, 0));
  ASSERT_OK(cuMemMap(b, granule_, 0, handle, 0));
  allow(a, 1);
  allow(b, 1);
  EXPECT_OK(launch_fill(reinterpret_cast<std::uint32_t*>(a), granule_ / 4, 9, nullptr));
  EXPECT_OK(cudaDeviceSynchronize());
  EXPECT_EQ(0u, wrong_on_device(reinterpret_cast<std::uint32_t*>(b), granule_ / 4, 9));
  EXPECT_OK(cuMemUnmap(a, granule_));
  EXPECT_EQ(0u, wrong_on_device(reinterpret_cast<std::uint32_t*>(b), granule_ / 4, 9));
  EXPECT_OK(cuMemUnmap(b, granule_));
  EXPECT_OK(cuMemRelease(handle));
  EXPECT_OK(cuMemAddressFree(a, granule_));
  EXPECT_OK(cuMemAddressFree(b, granule_));
}

TEST_F(VirtualMemory, ReleasedMemoryLivesWhileItIsMapped) {
  // "The generic memory handle can be freed when there are still outstanding mappings made with this handle."
  std::size_t const before = memory_info().free_bytes;
  CUdeviceptr const p = reserve(4);
  CUmemGenericAllocationHandle const handle = create(4);
  ASSERT_OK(cuMemMap(p, 4 * granule_, 0, handle, 0));
  allow(p, 4);
  ASSERT_OK(cuMemRelease(handle));
  EXPECT_OK(cuMemsetD8(p, 7, 4 * granule_));
  EXPECT_OK(cudaDeviceSynchronize());
  if (is_softgpu()) {
    EXPECT_EQ(before - 4 * granule_, memory_info().free_bytes);
  }
  EXPECT_OK(cuMemUnmap(p, 4 * granule_));
  if (is_softgpu()) {
    EXPECT_EQ(before, memory_info().free_bytes);
  }
  EXPECT_OK(cuMemAddressFree(p, 4 * granule_));
}

TEST_F(VirtualMemory, OnlyPhysicalMemoryIsCharged) {
  NEEDS_SOFTGPU();
  std::size_t const before = memory_info().free_bytes;
  CUdeviceptr const p = reserve(1000);
  EXPECT_EQ(before, memory_info().free_bytes);
  CUmemGenericAllocationHandle const handle = create(3);
  EXPECT_EQ(before - 3 * granule_, memory_info().free_bytes);
  ASSERT_OK(cuMemMap(p, 3 * granule_, 0, handle, 0));
  EXPECT_EQ(before - 3 * granule_, memory_info().free_bytes);
  EXPECT_OK(cuMemUnmap(p, 3 * granule_));
  EXPECT_EQ(before - 3 * granule_, memory_info().free_bytes);
  EXPECT_OK(cuMemRelease(handle));
  EXPECT_EQ(before, memory_info().free_bytes);
  EXPECT_OK(cuMemAddressFree(p, 1000 * granule_));
}

TEST_F(VirtualMemory, NeighbouringMappingsAreOneRange) {
  auto const bytes = noise(2000, 6);
  CUdeviceptr const p = reserve(3);
  CUmemGenericAllocationHandle const one = create(1), two = create(2);
  ASSERT_OK(cuMemMap(p, granule_, 0, one, 0));
  ASSERT_OK(cuMemMap(p + granule_, 2 * granule_, 0, two, 0));
  allow(p, 3);
  CUdeviceptr const across = p + granule_ - 1000;
  EXPECT_OK(cuMemcpyHtoD(across, bytes.data(), 2000));
  std::vector<std::byte> back(2000);
  EXPECT_OK(cuMemcpyDtoH(back.data(), across, 2000));
  EXPECT_EQ(bytes, back);
  EXPECT_OK(cuMemUnmap(p, 3 * granule_));
  EXPECT_OK(cuMemRelease(one));
  EXPECT_OK(cuMemRelease(two));
  EXPECT_OK(cuMemAddressFree(p, 3 * granule_));
}

TEST_F(VirtualMemory, WithoutAccessThereIsNoAccess) {
  CUdeviceptr const p = reserve(1);
  CUmemGenericAllocationHandle const handle = create(1);
  ASSERT_OK(cuMemMap(p, granule_, 0, handle, 0));
  CUmemLocation const own{CU_MEM_LOCATION_TYPE_DEVICE, 0};
  unsigned long long flags = 99;
  EXPECT_OK(cuMemGetAccess(&flags, &own, p));
  EXPECT_EQ(static_cast<unsigned long long>(CU_MEM_ACCESS_FLAGS_PROT_NONE), flags);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemsetD8(p, 0, 16));
  allow(p, 1);
  EXPECT_OK(cuMemGetAccess(&flags, &own, p));
  EXPECT_EQ(static_cast<unsigned long long>(CU_MEM_ACCESS_FLAGS_PROT_READWRITE), flags);
  EXPECT_OK(cuMemsetD8(p, 0, 16));
  EXPECT_OK(cudaDeviceSynchronize());
  // "Any new mapping to this virtual address will need to have access granted through cuMemSetAccess"
  EXPECT_OK(cuMemUnmap(p, granule_));
  ASSERT_OK(cuMemMap(p, granule_, 0, handle, 0));
  EXPECT_OK(cuMemGetAccess(&flags, &own, p));
  EXPECT_EQ(static_cast<unsigned long long>(CU_MEM_ACCESS_FLAGS_PROT_NONE), flags);
  EXPECT_OK(cuMemUnmap(p, granule_));
  EXPECT_OK(cuMemRelease(handle));
  EXPECT_OK(cuMemAddressFree(p, granule_));
}

TEST_F(VirtualMemory, AccessIsGrantedPerDevice) {
  NEEDS_DEVICES(2);
  CUdeviceptr const p = reserve(1);
  CUmemGenericAllocationHandle const handle = create(1);
  ASSERT_OK(cuMemMap(p, granule_, 0, handle, 0));
  allow(p, 1);
  CUmemLocation const other{CU_MEM_LOCATION_TYPE_DEVICE, 1}, own{CU_MEM_LOCATION_TYPE_DEVICE, 0};
  unsigned long long flags = 99;
  EXPECT_OK(cuMemGetAccess(&flags, &other, p));
  EXPECT_EQ(static_cast<unsigned long long>(CU_MEM_ACCESS_FLAGS_PROT_NONE), flags);
  int can = 0;
  EXPECT_OK(cudaDeviceCanAccessPeer(&can, 1, 0));
  if (can != 0) {
    CUmemAccessDesc access = read_write(1);
    EXPECT_OK(cuMemSetAccess(p, granule_, &access, 1));
    EXPECT_OK(cuMemGetAccess(&flags, &other, p));
    EXPECT_EQ(static_cast<unsigned long long>(CU_MEM_ACCESS_FLAGS_PROT_READWRITE), flags);
    EXPECT_OK(cuMemGetAccess(&flags, &own, p));
    EXPECT_EQ(static_cast<unsigned long long>(CU_MEM_ACCESS_FLAGS_PROT_READWRITE), flags);
  }
  EXPECT_OK(cuMemUnmap(p, granule_));
  EXPECT_OK(cuMemRelease(handle));
  EXPECT_OK(cuMemAddressFree(p, granule_));
}

TEST_F(VirtualMemory, ReservationsAreAligned) {
  for (std::size_t const alignment : {std::size_t{0}, granule_, 16 * granule_}) {
    CUdeviceptr p = 0;
    ASSERT_OK(cuMemAddressReserve(&p, 2 * granule_, alignment, 0, 0));
    EXPECT_EQ(0u, p % std::max(alignment, granule_));
    EXPECT_OK(cuMemAddressFree(p, 2 * granule_));
  }
}

TEST_F(VirtualMemory, RefusesBadArguments) {
  CUmemGenericAllocationHandle handle = 0;
  CUmemAllocationProp prop = device_memory();
  CUdeviceptr p = 0;
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemCreate(nullptr, granule_, &prop, 0));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&handle, granule_, nullptr, 0));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&handle, 0, &prop, 0));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&handle, granule_ + 1, &prop, 0));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemCreate(&handle, granule_, &prop, 1));
  EXPECT_CUDA(CUDA_ERROR_OUT_OF_MEMORY,
              cuMemCreate(&handle, memory_info().total_bytes / granule_ * granule_ + granule_, &prop, 0));
  prop.location.id = 1000;
  EXPECT_CUDA(CUDA_ERROR_INVALID_DEVICE, cuMemCreate(&handle, granule_, &prop, 0));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemAddressReserve(nullptr, granule_, 0, 0, 0));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemAddressReserve(&p, 0, 0, 0, 0));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemAddressReserve(&p, granule_, 3, 0, 0));
  EXPECT_CUDA(CUDA_ERROR_OUT_OF_MEMORY, cuMemAddressReserve(&p, std::size_t{1} << 60, 0, 0, 0));
}

TEST_F(VirtualMemory, RefusesToMapWhereItCannot) {
  CUdeviceptr const p = reserve(2);
  CUmemGenericAllocationHandle const handle = create(1);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemMap(p, granule_ / 2, 0, handle, 0));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemMap(p + 512, granule_, 0, handle, 0));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemMap(p, 2 * granule_, 0, handle, 0));             // larger than the memory
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemMap(p + 2 * granule_, granule_, 0, handle, 0));  // beyond the range
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemMap(p, granule_, 0, handle, 1));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemMap(p, granule_, granule_, handle, 0));
  ASSERT_OK(cuMemMap(p, granule_, 0, handle, 0));
  // "cuMemMap can only create mappings on VA range reservations that are not currently mapped."
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemMap(p, granule_, 0, handle, 0));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(p, 2 * granule_));   // still mapped
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemUnmap(p + granule_, granule_));  // nothing there
  EXPECT_OK(cuMemUnmap(p, granule_));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemUnmap(p, granule_));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree(p, granule_));  // "The size must match"
  EXPECT_OK(cuMemAddressFree(p, 2 * granule_));
  EXPECT_OK(cuMemRelease(handle));
}

TEST_F(VirtualMemory, ASubrangeCannotBeUnmapped) {
  // "cuMemUnmap cannot unmap a sub-range of an address range mapped by cuMemCreate / cuMemMap."
  CUdeviceptr const p = reserve(2);
  CUmemGenericAllocationHandle const handle = create(2);
  ASSERT_OK(cuMemMap(p, 2 * granule_, 0, handle, 0));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemUnmap(p, granule_));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemUnmap(p + granule_, granule_));
  EXPECT_OK(cuMemUnmap(p, 2 * granule_));
  EXPECT_OK(cuMemRelease(handle));
  EXPECT_OK(cuMemAddressFree(p, 2 * granule_));
}

TEST_F(VirtualMemory, HandlesAreFoundFromAddresses) {
  CUdeviceptr const p = reserve(1);
  CUmemGenericAllocationHandle const handle = create(1);
  ASSERT_OK(cuMemMap(p, granule_, 0, handle, 0));
  CUmemGenericAllocationHandle again = 0;
  ASSERT_OK(cuMemRetainAllocationHandle(&again, reinterpret_cast<void*>(p + 100)));
  CUmemAllocationProp prop{};
  EXPECT_OK(cuMemGetAllocationPropertiesFromHandle(&prop, again));
  EXPECT_EQ(CU_MEM_ALLOCATION_TYPE_PINNED, prop.type);
  EXPECT_EQ(0, prop.location.id);
  // "The address specified, can be any address in a range previously mapped", each retain paired with a release.
  EXPECT_OK(cuMemRelease(handle));
  EXPECT_OK(cuMemUnmap(p, granule_));
  ASSERT_OK(cuMemMap(p, granule_, 0, again, 0));
  EXPECT_OK(cuMemUnmap(p, granule_));
  EXPECT_OK(cuMemRelease(again));
  EXPECT_OK(cuMemAddressFree(p, granule_));
  DeviceBytes const plain(100);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemRetainAllocationHandle(&again, plain.get()));
}

TEST_F(VirtualMemory, AddressesWithoutMemoryAreRefused) {
  NEEDS_SOFTGPU();  // a card may find out only when the work runs
  CUdeviceptr const p = reserve(2);
  std::vector<std::byte> host(100);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(p, host.data(), host.size()));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH(host.data(), p, host.size()));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemsetD8(p, 0, host.size()));
  CUmemGenericAllocationHandle const handle = create(1);
  ASSERT_OK(cuMemMap(p, granule_, 0, handle, 0));
  allow(p, 1);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH(host.data(), p + granule_ - 50, host.size()));  // runs out of it
  EXPECT_OK(cuMemUnmap(p, granule_));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH(host.data(), p, host.size()));
  EXPECT_OK(cuMemRelease(handle));
  EXPECT_OK(cuMemAddressFree(p, 2 * granule_));
}

TEST_F(VirtualMemory, WhatMayOnlyBeReadIsNotWritten) {
  NEEDS_SOFTGPU();
  CUdeviceptr const p = reserve(1);
  CUmemGenericAllocationHandle const handle = create(1);
  ASSERT_OK(cuMemMap(p, granule_, 0, handle, 0));
  CUmemAccessDesc access = read_write();
  access.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
  ASSERT_OK(cuMemSetAccess(p, granule_, &access, 1));
  std::vector<std::byte> host(100);
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD(p, host.data(), host.size()));
  EXPECT_CUDA(CUDA_ERROR_INVALID_VALUE, cuMemsetD8(p, 0, host.size()));
  EXPECT_OK(cuMemcpyDtoH(host.data(), p, host.size()));
  EXPECT_OK(cuMemUnmap(p, granule_));
  EXPECT_OK(cuMemRelease(handle));
  EXPECT_OK(cuMemAddressFree(p, granule_));
}

TEST_F(VirtualMemory, HandlesAreNotFiles) {
  // A device of small pages needs more of them than a process may have files open.
  rlimit before{};
  ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &before));
  rlimit few = before;
  few.rlim_cur = std::min<rlim_t>(before.rlim_cur, 64);
  ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &few));
  std::vector<CUmemGenericAllocationHandle> handles(200);
  for (auto& handle : handles) handle = create(1);
  EXPECT_EQ(0, setrlimit(RLIMIT_NOFILE, &before));
  CUdeviceptr const p = reserve(2);
  ASSERT_OK(cuMemMap(p, granule_, 0, handles[7], 0));
  ASSERT_OK(cuMemMap(p + granule_, granule_, 0, handles[199], 0));
  allow(p, 2);
  auto const first = noise(granule_, 1), second = noise(granule_, 2);
  std::vector<std::byte> back(granule_);
  EXPECT_OK(cuMemcpyHtoD(p, first.data(), granule_));
  EXPECT_OK(cuMemcpyHtoD(p + granule_, second.data(), granule_));
  EXPECT_OK(cuMemcpyDtoH(back.data(), p, granule_));
  if (!is_dry_run()) {
    EXPECT_EQ(first, back) << "each has memory of its own";
  }
  EXPECT_OK(cuMemUnmap(p, granule_));
  EXPECT_OK(cuMemUnmap(p + granule_, granule_));
  EXPECT_OK(cuMemAddressFree(p, 2 * granule_));
  for (auto const handle : handles) EXPECT_OK(cuMemRelease(handle));
  CUmemAllocationProp const prop = device_memory();
  CUmemGenericAllocationHandle none = 0;
  EXPECT_CUDA(CUDA_ERROR_OUT_OF_MEMORY, cuMemCreate(&none, std::size_t{1} << 62, &prop, 0));
}

TEST_F(VirtualMemory, ExportIsRefusedPolitely) {
  NEEDS_SOFTGPU();
  CUmemGenericAllocationHandle const handle = create(1);
  int file = -1;
  EXPECT_CUDA(CUDA_ERROR_NOT_SUPPORTED,
              cuMemExportToShareableHandle(&file, handle, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
  EXPECT_OK(cuMemRelease(handle));
}

}  // namespace
}  // namespace conformance
