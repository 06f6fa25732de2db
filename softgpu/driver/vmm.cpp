// SPDX-License-Identifier: Apache-2.0
// Virtual memory management: address ranges, physical memory, and mappings of one to the other.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/bytes.h"
#include "softgpu/driver/memory.h"
#include "softgpu/driver/observe.h"

using namespace tidemark;
using namespace tidemark::softgpu;

namespace {

struct Reservation {
  std::uint64_t bytes;
};

// Address ranges that programs hold; under the engine's lock.
std::map<std::uintptr_t, Reservation>& reservations() {
  static auto& map = *new std::map<std::uintptr_t, Reservation>;
  return map;
}

bool is_reserved(std::uintptr_t address, std::uint64_t bytes) {
  auto it = reservations().upper_bound(address);
  if (it == reservations().begin()) return false;
  --it;
  return address - it->first <= it->second.bytes && bytes <= it->second.bytes - (address - it->first);
}

bool whole_granules(std::uint64_t a, std::uint64_t b = 0) {
  return a % kGranule == 0 && b % kGranule == 0;
}

PhysicalMemory* physical_of(Call& call, CUmemGenericAllocationHandle handle) {
  PhysicalMemory* const memory = call.driver.physical.check(reinterpret_cast<void*>(handle));
  return memory != nullptr && memory->handles > 0 ? memory : nullptr;
}

// All physical memory that mappings can share lies in one file: handles are many, files that a process may have are
// few. Places are never used again, what was there is given back. -1 in dry run, where mappings do not share contents.
struct MemoryFile {
  int file = -1;
  std::uint64_t end = 0;
};

MemoryFile& memory_file() {
  static MemoryFile& only = *new MemoryFile;
  return only;
}

// The place of so many bytes in the file; nothing: the system has no more.
std::optional<std::uint64_t> extend_file(std::uint64_t bytes) {
  MemoryFile& f = memory_file();
  if (f.file < 0) f.file = ::memfd_create("softgpu", MFD_CLOEXEC);
  if (f.file < 0 || ::ftruncate(f.file, static_cast<off_t>(f.end + bytes)) != 0) return std::nullopt;
  return std::exchange(f.end, f.end + bytes);
}

void drop_if_unused(Driver& driver, PhysicalMemory* memory) {
  if (memory->handles > 0 || memory->mappings > 0) return;
  if (!driver.dry_run)
    ::fallocate(memory_file().file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(memory->offset),
                static_cast<off_t>(memory->bytes));
  driver.device(memory->device)->ledger->release(memory->bytes);
  driver.physical.destroy(memory);
}

// Inaccessible address space: what a reservation is made of where nothing is mapped.
bool map_nothing(std::uintptr_t address, std::uint64_t bytes) {
  return ::mmap(reinterpret_cast<void*>(address), bytes, PROT_NONE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED;
}

bool map_memory(std::uintptr_t address, std::uint64_t bytes, const PhysicalMemory& memory) {
  int const file = memory_file().file;
  int const kind = file >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
  return ::mmap(reinterpret_cast<void*>(address), bytes, PROT_NONE, kind | MAP_NORESERVE | MAP_FIXED, file,
                static_cast<off_t>(memory.offset)) != MAP_FAILED;
}

int protection(const Block& mapping) {
  switch (widest_access(mapping)) {
    case CU_MEM_ACCESS_FLAGS_PROT_READWRITE: return PROT_READ | PROT_WRITE;
    case CU_MEM_ACCESS_FLAGS_PROT_READ: return PROT_READ;
    default: return PROT_NONE;
  }
}

// The mappings that make up exactly [address, address + bytes); empty when they do not.
std::vector<Block*> mappings_in(Call& call, std::uintptr_t address, std::uint64_t bytes) {
  std::vector<Block*> found;
  std::uintptr_t at = address;
  while (at < address + bytes) {
    Block* const block = call.driver.blocks.find(at);
    if (block == nullptr || block->kind != MemoryKind::Mapped || block->address != at) return {};
    found.push_back(block);
    at += block->requested;
  }
  return at == address + bytes ? found : std::vector<Block*>{};
}

CUresult check_location(Call& call, const CUmemAllocationProp* prop) {
  if (prop == nullptr || prop->type != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
  if (prop->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
    return static_cast<CUresult>(softgpu_not_supported("cuMemCreate for other than device memory"));
  return call.driver.device(prop->location.id) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

}  // namespace

bool tidemark::softgpu::in_reservation(std::uintptr_t address) {
  return is_reserved(address, 1);
}

CUresult CUDAAPI cuMemGetAllocationGranularity(size_t* granularity, const CUmemAllocationProp* prop,
                                               CUmemAllocationGranularity_flags option) {
  return with_driver([&](Call& call) -> CUresult {
    if (granularity == nullptr ||
        (option != CU_MEM_ALLOC_GRANULARITY_MINIMUM && option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED))
      return CUDA_ERROR_INVALID_VALUE;
    if (CUresult const wrong = check_location(call, prop); wrong != CUDA_SUCCESS) return wrong;
    *granularity = kGranule;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemAddressReserve(CUdeviceptr* out, size_t bytes, size_t alignment, CUdeviceptr,
                                     unsigned long long flags) {
  return with_driver([&](Call&) -> CUresult {
    if (out == nullptr || bytes == 0 || flags != 0 || !whole_granules(bytes)) return CUDA_ERROR_INVALID_VALUE;
    if ((alignment & (alignment - 1)) != 0) return CUDA_ERROR_INVALID_VALUE;
    std::uint64_t const align = std::max<std::uint64_t>(alignment, kGranule);
    std::uint64_t const room = bytes + align;
    if (room < bytes) return CUDA_ERROR_OUT_OF_MEMORY;
    void* const p = ::mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
    auto const begin = reinterpret_cast<std::uintptr_t>(p);
    std::uintptr_t const address = round_up(begin, align);
    if (address > begin) ::munmap(p, address - begin);
    ::munmap(reinterpret_cast<void*>(address + bytes), begin + room - (address + bytes));
    reservations()[address] = {bytes};
    *out = address;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemAddressFree(CUdeviceptr address, size_t bytes) {
  return with_driver([&](Call& call) -> CUresult {
    auto const found = reservations().find(address);
    if (found == reservations().end() || found->second.bytes != bytes) return CUDA_ERROR_INVALID_VALUE;
    if (call.driver.blocks.overlaps(address, bytes)) return CUDA_ERROR_INVALID_VALUE;  // still mapped
    ::munmap(reinterpret_cast<void*>(address), bytes);
    reservations().erase(found);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemCreate(CUmemGenericAllocationHandle* out, size_t bytes, const CUmemAllocationProp* prop,
                             unsigned long long flags) {
  return with_driver([&](Call& call) -> CUresult {
    if (out == nullptr || bytes == 0 || flags != 0 || !whole_granules(bytes)) return CUDA_ERROR_INVALID_VALUE;
    if (CUresult const wrong = check_location(call, prop); wrong != CUDA_SUCCESS) return wrong;
    fault_slow(call.driver, SlowCall::MemCreate);
    if (fault_oom(call.driver, bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
    Device& device = *call.driver.device(prop->location.id);
    if (!device.ledger->charge(bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
    auto const offset = call.driver.dry_run ? std::uint64_t{0} : extend_file(bytes);
    if (!offset) {
      device.ledger->release(bytes);
      return CUDA_ERROR_OPERATING_SYSTEM;
    }
    PhysicalMemory* const memory = call.driver.physical.create();
    *memory = {
        .bytes = bytes, .device = device.ordinal, .offset = *offset, .handles = 1, .mappings = 0, .props = *prop};
    *out = reinterpret_cast<CUmemGenericAllocationHandle>(memory);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemRelease(CUmemGenericAllocationHandle handle) {
  return with_driver([&](Call& call) -> CUresult {
    PhysicalMemory* const memory = physical_of(call, handle);
    if (memory == nullptr) return CUDA_ERROR_INVALID_VALUE;
    --memory->handles;
    drop_if_unused(call.driver, memory);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemMap(CUdeviceptr address, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle,
                          unsigned long long flags) {
  return with_driver([&](Call& call) -> CUresult {
    PhysicalMemory* const memory = physical_of(call, handle);
    if (memory == nullptr || bytes == 0 || offset != 0 || flags != 0 || !whole_granules(address, bytes))
      return CUDA_ERROR_INVALID_VALUE;
    if (bytes > memory->bytes || !is_reserved(address, bytes)) return CUDA_ERROR_INVALID_VALUE;
    if (call.driver.blocks.overlaps(address, bytes)) return CUDA_ERROR_INVALID_VALUE;
    if (!map_memory(address, bytes, *memory)) return CUDA_ERROR_OPERATING_SYSTEM;
    ++memory->mappings;
    Block const* const block = call.driver.blocks.create({.address = address,
                                                          .requested = bytes,
                                                          .rounded = bytes,
                                                          .kind = MemoryKind::Mapped,
                                                          .device = memory->device,
                                                          .owner = memory},
                                                         true);
    if (call.driver.checker != nullptr) call.driver.checker->appear(Checker::View::Both, address, bytes, block->id);
    observe_allocated(call.driver, *block);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemUnmap(CUdeviceptr address, size_t bytes) {
  return with_driver([&](Call& call) -> CUresult {
    auto const blocks = mappings_in(call, address, bytes);
    if (blocks.empty()) return CUDA_ERROR_INVALID_VALUE;
    fault_slow(call.driver, SlowCall::MemUnmap);
    for (Block* const block : blocks) {
      auto* const memory = static_cast<PhysicalMemory*>(block->owner);
      if (call.driver.checker != nullptr)
        call.driver.checker->vanish(Checker::View::Both, block->address, block->requested, block->id);
      observe_released(call.driver, *block);
      map_nothing(block->address, block->requested);
      call.driver.blocks.destroy(block, true);
      --memory->mappings;
      drop_if_unused(call.driver, memory);
    }
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemSetAccess(CUdeviceptr address, size_t bytes, const CUmemAccessDesc* access, size_t count) {
  return with_driver([&](Call& call) -> CUresult {
    auto const blocks = mappings_in(call, address, bytes);
    if (blocks.empty() || access == nullptr || count == 0) return CUDA_ERROR_INVALID_VALUE;
    for (std::size_t i = 0; i < count; ++i) {
      if (access[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
      if (call.driver.device(access[i].location.id) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
      if ((access[i].flags & ~CU_MEM_ACCESS_FLAGS_PROT_READWRITE) != 0) return CUDA_ERROR_INVALID_VALUE;
    }
    for (Block* const block : blocks) {
      for (std::size_t i = 0; i < count; ++i) set_access(*block, access[i].location.id, access[i].flags);
      ::mprotect(reinterpret_cast<void*>(block->address), block->requested, protection(*block));
    }
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemGetAccess(unsigned long long* flags, const CUmemLocation* location, CUdeviceptr address) {
  return with_driver([&](Call& call) -> CUresult {
    Block const* const block = call.driver.blocks.find(address);
    if (flags == nullptr || location == nullptr || block == nullptr || block->kind != MemoryKind::Mapped)
      return CUDA_ERROR_INVALID_VALUE;
    if (location->type != CU_MEM_LOCATION_TYPE_DEVICE || call.driver.device(location->id) == nullptr)
      return CUDA_ERROR_INVALID_VALUE;
    *flags = access_of(*block, location->id);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemRetainAllocationHandle(CUmemGenericAllocationHandle* out, void* address) {
  return with_driver([&](Call& call) -> CUresult {
    Block const* const block = call.driver.blocks.find(reinterpret_cast<std::uintptr_t>(address));
    if (out == nullptr || block == nullptr || block->kind != MemoryKind::Mapped) return CUDA_ERROR_INVALID_VALUE;
    auto* const memory = static_cast<PhysicalMemory*>(block->owner);
    ++memory->handles;
    *out = reinterpret_cast<CUmemGenericAllocationHandle>(memory);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp* prop,
                                                        CUmemGenericAllocationHandle handle) {
  return with_driver([&](Call& call) -> CUresult {
    PhysicalMemory const* const memory = physical_of(call, handle);
    if (prop == nullptr || memory == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *prop = memory->props;
    return CUDA_SUCCESS;
  });
}
