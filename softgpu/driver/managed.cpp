// SPDX-License-Identifier: Apache-2.0
// Managed memory: advice and prefetch. A prefetch to a device puts the range on its bill, one to the host takes it off.
#include <algorithm>
#include <cstring>
#include <optional>

#include "softgpu/driver/advice.h"
#include "softgpu/driver/capture.h"
#include "softgpu/driver/managed.h"
#include "softgpu/driver/memory.h"
#include "softgpu/driver/operation.h"

using namespace tidemark;
using namespace tidemark::softgpu;

namespace tidemark::softgpu {

Block* managed_block(Driver& driver, CUdeviceptr address, std::size_t bytes) {
  Block* const block = driver.blocks.find(address);
  if (block == nullptr || block->kind != MemoryKind::Managed || bytes == 0) return nullptr;
  return bytes <= block->requested - (address - block->address) ? block : nullptr;
}

}  // namespace tidemark::softgpu

namespace {

bool known_location(Driver& driver, const CUmemLocation& location) {
  switch (location.type) {
    case CU_MEM_LOCATION_TYPE_DEVICE: return driver.device(location.id) != nullptr;
    case CU_MEM_LOCATION_TYPE_HOST:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA:
    case CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT: return true;
    default: return false;
  }
}

constexpr int kHost = -1;

// Where each granule of a block is, from the first prefetch on; by the block's id, under the engine's lock.
std::map<std::uint64_t, std::vector<int>>& residencies() {
  static auto& map = *new std::map<std::uint64_t, std::vector<int>>;
  return map;
}

void take_off_bill(Driver& driver, Block& block, int& place) {
  if (place == kHost) return;
  driver.device(place)->ledger->release(kGranule);
  block.resident -= kGranule;
  place = kHost;
}

void move_to(Driver& driver, Block& block, CUdeviceptr address, std::uint64_t bytes, const CUmemLocation& location) {
  int const target = location.type == CU_MEM_LOCATION_TYPE_DEVICE ? location.id : kHost;
  std::vector<int>& places = residencies()[block.id];
  places.resize((block.requested - 1) / kGranule + 1, kHost);
  std::uint64_t const offset = address - block.address;
  auto const first = places.begin() + static_cast<std::ptrdiff_t>(offset / kGranule);
  auto const last = places.begin() + static_cast<std::ptrdiff_t>((offset + bytes - 1) / kGranule + 1);
  if (target != kHost) {
    std::uint64_t const moved = static_cast<std::uint64_t>((last - first) - std::count(first, last, target)) * kGranule;
    // A full device keeps the pages where they are: managed memory oversubscribes, it does not fail.
    if (!driver.device(target)->ledger->charge(moved)) return;
    block.device = target;
    block.resident += moved;
  }
  for (auto place = first; place != last; ++place) {
    if (*place == target) continue;
    take_off_bill(driver, block, *place);
    *place = target;
  }
}

CUresult prefetch(CUdeviceptr address, std::size_t bytes, const CUmemLocation& location, unsigned flags,
                  CUstream handle) {
  return with_context([&](Call& call) -> CUresult {
    CUstream const stream = stream_of(call, handle);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    Block* const block = managed_block(call.driver, address, bytes);
    if (block == nullptr || flags != 0 || !known_location(call.driver, location)) return CUDA_ERROR_INVALID_VALUE;
    if (is_capturing(stream)) return capture_violated(call, stream);
    note_prefetch(*block, address, bytes, location);
    move_to(call.driver, *block, address, bytes, location);
    return issue(call, stream, EmptyOp{});
  });
}

CUresult advise(CUdeviceptr address, std::size_t bytes, CUmem_advise advice, const CUmemLocation& location) {
  return with_context([&](Call& call) -> CUresult {
    Block const* const block = managed_block(call.driver, address, bytes);
    if (block == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (advice < CU_MEM_ADVISE_SET_READ_MOSTLY || advice > CU_MEM_ADVISE_UNSET_ACCESSED_BY)
      return CUDA_ERROR_INVALID_VALUE;
    bool const has_location =
        advice >= CU_MEM_ADVISE_SET_PREFERRED_LOCATION && advice != CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION;
    if (has_location && !known_location(call.driver, location)) return CUDA_ERROR_INVALID_DEVICE;
    note_advice(*block, address, bytes, advice, location);
    return CUDA_SUCCESS;
  });
}

CUmemLocation location_of(CUdevice device) {
  if (device == CU_DEVICE_CPU) return {.type = CU_MEM_LOCATION_TYPE_HOST, .id = 0};
  return {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device};
}

int as_device(const CUmemLocation& location) {
  if (location.type == CU_MEM_LOCATION_TYPE_INVALID) return CU_DEVICE_INVALID;
  return location.type == CU_MEM_LOCATION_TYPE_DEVICE ? location.id : CU_DEVICE_CPU;
}

// One attribute of pages that agree; nullopt: there is no such attribute.
std::optional<int> attribute_of(const PageAdvice& pages, CUmem_range_attribute attribute) {
  switch (attribute) {
    case CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY: return pages.read_mostly ? 1 : 0;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION: return as_device(pages.preferred);
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE: return pages.preferred.type;
    case CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID: return pages.preferred.id;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION: return as_device(pages.prefetched);
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE: return pages.prefetched.type;
    case CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID: return pages.prefetched.id;
    default: return std::nullopt;
  }
}

CUresult write_attribute(const PageAdvice& pages, CUmem_range_attribute attribute, void* data, std::size_t bytes) {
  if (data == nullptr || bytes == 0 || bytes % sizeof(int) != 0) return CUDA_ERROR_INVALID_VALUE;
  auto* const out = static_cast<int*>(data);
  if (attribute == CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY) {
    std::size_t const count = bytes / sizeof(int);
    std::fill_n(out, count, CU_DEVICE_INVALID);
    std::copy_n(pages.accessed_by.begin(), std::min(count, pages.accessed_by.size()), out);
    return CUDA_SUCCESS;
  }
  auto const value = attribute_of(pages, attribute);
  if (!value || bytes != sizeof(int)) return CUDA_ERROR_INVALID_VALUE;
  std::memcpy(out, &*value, sizeof *value);
  return CUDA_SUCCESS;
}

}  // namespace

void tidemark::softgpu::release_residency(Driver& driver, Block& block) {
  forget_advice(block);
  auto const found = residencies().find(block.id);
  if (found == residencies().end()) return;
  for (int& place : found->second) take_off_bill(driver, block, place);
  residencies().erase(found);
}

CUresult CUDAAPI cuMemRangeGetAttributes(void** data, size_t* sizes, CUmem_range_attribute* attributes, size_t count,
                                         CUdeviceptr address, size_t bytes) {
  return with_context([&](Call& call) -> CUresult {
    Block const* const block = managed_block(call.driver, address, bytes);
    if (block == nullptr || data == nullptr || sizes == nullptr || attributes == nullptr || count == 0)
      return CUDA_ERROR_INVALID_VALUE;
    PageAdvice const pages = common_advice(*block, address, bytes);
    for (std::size_t i = 0; i < count; ++i)
      if (CUresult const wrong = write_attribute(pages, attributes[i], data[i], sizes[i]); wrong != CUDA_SUCCESS)
        return wrong;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemRangeGetAttribute(void* data, size_t size, CUmem_range_attribute attribute, CUdeviceptr address,
                                        size_t bytes) {
  return cuMemRangeGetAttributes(&data, &size, &attribute, 1, address, bytes);
}

CUresult CUDAAPI cuMemPrefetchAsync_v2(CUdeviceptr p, size_t n, CUmemLocation location, unsigned flags, CUstream s) {
  return prefetch(p, n, location, flags, s);
}

CUresult CUDAAPI cuMemPrefetchAsync(CUdeviceptr p, size_t n, CUdevice device, CUstream s) {
  return prefetch(p, n, location_of(device), 0, s);
}

CUresult CUDAAPI cuMemAdvise_v2(CUdeviceptr p, size_t n, CUmem_advise advice, CUmemLocation location) {
  return advise(p, n, advice, location);
}

CUresult CUDAAPI cuMemAdvise(CUdeviceptr p, size_t n, CUmem_advise advice, CUdevice device) {
  return advise(p, n, advice, location_of(device));
}
