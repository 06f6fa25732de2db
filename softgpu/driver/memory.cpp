// SPDX-License-Identifier: Apache-2.0
// Allocation and release: device, pitched, managed and pinned host memory, registered host memory, and what is free.
#include "softgpu/driver/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include "base/bytes.h"
#include "softgpu/driver/capture.h"
#include "softgpu/driver/contents.h"
#include "softgpu/driver/observe.h"

using namespace tidemark;
using namespace tidemark::softgpu;

namespace tidemark::softgpu {

Block* allocate_device(Call& call, std::uint64_t bytes) {
  Device& device = call.device();
  if (fault_oom(call.driver, bytes)) return nullptr;
  auto const address = device.memory->allocate(bytes);
  if (!address) return nullptr;
  Block* const block = call.driver.blocks.create({.address = *address,
                                                  .requested = bytes,
                                                  .rounded = round_up(bytes, kUnit),
                                                  .kind = MemoryKind::Device,
                                                  .device = device.ordinal,
                                                  .context = call.context},
                                                 false);
  device.memory->tag(*address) = block;
  if (call.driver.checker != nullptr)
    call.driver.checker->appear(Checker::View::Both, block->address, block->rounded, block->id);
  return block;
}

Block* allocate_host(Call& call, std::uint64_t bytes, unsigned flags, MemoryKind kind) {
  std::uint64_t const rounded = round_up(bytes, 4096);
  void* const p = ::mmap(nullptr, rounded, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return nullptr;
  Block* const block = call.driver.blocks.create({.address = reinterpret_cast<std::uintptr_t>(p),
                                                  .requested = bytes,
                                                  .rounded = rounded,
                                                  .kind = kind,
                                                  .device = call.device().ordinal,
                                                  .flags = flags,
                                                  .context = call.context},
                                                 true);
  if (call.driver.checker != nullptr)
    call.driver.checker->appear(Checker::View::Both, block->address, block->rounded, block->id);
  return block;
}

void release_block(Driver& driver, Block* block) {
  if (block->kind == MemoryKind::Managed) release_residency(driver, *block);
  if (block->borrowed) return;
  if (driver.checker != nullptr) driver.checker->vanish(Checker::View::Both, block->address, block->rounded, block->id);
  if (!block->doomed) observe_released(driver, *block);  // else it was said when the program freed it
  switch (block->kind) {
    case MemoryKind::Device:
    case MemoryKind::Array:
      driver.device(block->device)->memory->free(block->address);
      driver.blocks.destroy(block, false);
      return;
    case MemoryKind::Managed:
    case MemoryKind::Pinned: ::munmap(reinterpret_cast<void*>(block->address), block->rounded); break;
    default: break;
  }
  driver.blocks.destroy(block, true);
}

}  // namespace tidemark::softgpu

namespace {

constexpr std::uint64_t kPitchAlignment = 512;

CUresult allocate(CUdeviceptr* out, std::uint64_t bytes, SlowCall slow) {
  return with_context([&](Call& call) -> CUresult {
    if (out == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    if (is_capture_forbidden(call)) return capture_violated(call, nullptr);
    fault_slow(call.driver, slow);
    Block const* const block = allocate_device(call, bytes);
    if (block == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    observe_allocated(call.driver, *block);
    *out = block->address;
    return CUDA_SUCCESS;
  });
}

CUresult allocate_pinned(void** out, std::uint64_t bytes, unsigned flags) {
  return with_context([&](Call& call) -> CUresult {
    constexpr unsigned kKnown = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED;
    if (out == nullptr || bytes == 0 || (flags & ~kKnown) != 0) return CUDA_ERROR_INVALID_VALUE;
    if (is_capture_forbidden(call)) return capture_violated(call, nullptr);
    Block const* const block = allocate_host(call, bytes, flags, MemoryKind::Pinned);
    if (block == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    observe_allocated(call.driver, *block);
    *out = reinterpret_cast<void*>(block->address);
    return CUDA_SUCCESS;
  });
}

// Whether the process has memory in all of the range; nothing is read or written.
bool is_mapped(std::uintptr_t address, std::uint64_t bytes) {
  std::uintptr_t const page = address & ~std::uintptr_t{4095};
  return ::msync(reinterpret_cast<void*>(page), address - page + bytes, MS_ASYNC) == 0;
}

// Freeing waits for the work that may use the memory: all of the context. False: another thread has freed it meanwhile.
bool wait_for_work(Call& call, Block*& block, CUcontext context) {
  std::uint64_t const id = block->id;
  std::uintptr_t const address = block->address;
  call.engine().wait_group(call.lock, *context);
  settle_pools(call.driver);
  block = call.driver.blocks.find(address);
  return block != nullptr && block->id == id && !block->doomed;
}

CUresult release_after_work(Call& call, Block* block) {
  if (!wait_for_work(call, block, static_cast<CUcontext>(block->context))) return CUDA_ERROR_INVALID_VALUE;
  release_block(call.driver, block);
  return CUDA_SUCCESS;
}

}  // namespace

CUresult CUDAAPI cuMemAlloc_v2(CUdeviceptr* out, size_t bytes) {
  return allocate(out, bytes, SlowCall::MemAlloc);
}

CUresult CUDAAPI cuMemAllocPitch_v2(CUdeviceptr* out, size_t* pitch, size_t width, size_t height, unsigned element) {
  if (pitch == nullptr || width == 0 || height == 0) return CUDA_ERROR_INVALID_VALUE;
  if (element != 4 && element != 8 && element != 16) return CUDA_ERROR_INVALID_VALUE;
  std::uint64_t const row = round_up(width, kPitchAlignment);
  if (row < width || height > ~std::uint64_t{0} / row) return CUDA_ERROR_INVALID_VALUE;
  CUresult const result = allocate(out, row * height, SlowCall::MemAllocPitch);
  if (result == CUDA_SUCCESS) *pitch = row;
  return result;
}

CUresult CUDAAPI cuMemFree_v2(CUdeviceptr address) {
  return with_context([&](Call& call) -> CUresult {
    if (address == 0) return CUDA_SUCCESS;
    Block* const block = call.driver.blocks.find(address);
    if (block == nullptr || block->address != address || block->is_variable()) return CUDA_ERROR_INVALID_VALUE;
    if (block->doomed && block->kind != MemoryKind::Graph) return CUDA_ERROR_INVALID_VALUE;
    fault_slow(call.driver, SlowCall::MemFree);
    switch (block->kind) {
      case MemoryKind::Device:
      case MemoryKind::Managed:
        if (is_capture_forbidden(call)) return capture_violated(call, nullptr);
        return release_after_work(call, block);
      case MemoryKind::Pool: return free_pool_block_now(call, block);
      case MemoryKind::Graph: return free_graph_block_now(call, block);
      default: return CUDA_ERROR_INVALID_VALUE;
    }
  });
}

CUresult CUDAAPI cuMemGetInfo_v2(size_t* free_bytes, size_t* total) {
  return with_context([&](Call& call) -> CUresult {
    Ledger::Usage const usage = call.device().ledger->usage();
    if (free_bytes != nullptr) *free_bytes = usage.capacity_bytes - usage.used_bytes;
    if (total != nullptr) *total = usage.capacity_bytes;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemAllocManaged(CUdeviceptr* out, size_t bytes, unsigned flags) {
  return with_context([&](Call& call) -> CUresult {
    if (out == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
    if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST) return CUDA_ERROR_INVALID_VALUE;
    if (is_capture_forbidden(call)) return capture_violated(call, nullptr);
    if (fault_oom(call.driver, bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
    Block const* const block = allocate_host(call, bytes, flags, MemoryKind::Managed);
    if (block == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    observe_allocated(call.driver, *block);
    *out = block->address;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemHostAlloc(void** out, size_t bytes, unsigned flags) {
  return allocate_pinned(out, bytes, flags);
}

CUresult CUDAAPI cuMemAllocHost_v2(void** out, size_t bytes) {
  return allocate_pinned(out, bytes, 0);
}

CUresult CUDAAPI cuMemFreeHost(void* p) {
  return with_context([&](Call& call) -> CUresult {
    Block* const block = call.driver.blocks.find(reinterpret_cast<std::uintptr_t>(p));
    if (block == nullptr || block->kind != MemoryKind::Pinned || block->address != reinterpret_cast<std::uintptr_t>(p))
      return CUDA_ERROR_INVALID_VALUE;
    if (is_capture_forbidden(call)) return capture_violated(call, nullptr);
    return release_after_work(call, block);
  });
}

CUresult CUDAAPI cuMemHostRegister_v2(void* p, size_t bytes, unsigned flags) {
  return with_context([&](Call& call) -> CUresult {
    constexpr unsigned kKnown = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
                                CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY;
    auto const address = reinterpret_cast<std::uintptr_t>(p);
    if (p == nullptr || bytes == 0 || (flags & ~kKnown) != 0 || bytes > ~address) return CUDA_ERROR_INVALID_VALUE;
    if (call.driver.blocks.overlaps(address, bytes)) return CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED;
    if (call.driver.blocks.in_window(address) || !is_mapped(address, bytes)) return CUDA_ERROR_INVALID_VALUE;
    call.driver.blocks.create({.address = address,
                               .requested = bytes,
                               .rounded = bytes,
                               .kind = MemoryKind::Registered,
                               .device = call.device().ordinal,
                               .flags = flags,
                               .context = call.context},
                              true);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemHostUnregister(void* p) {
  return with_context([&](Call& call) -> CUresult {
    Block* block = call.driver.blocks.find(reinterpret_cast<std::uintptr_t>(p));
    if (p == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (block == nullptr || block->kind != MemoryKind::Registered ||
        block->address != reinterpret_cast<std::uintptr_t>(p))
      return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    if (!wait_for_work(call, block, call.context)) return CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
    call.driver.blocks.destroy(block, true);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemHostGetDevicePointer_v2(CUdeviceptr* out, void* p, unsigned flags) {
  return with_context([&](Call& call) -> CUresult {
    Block const* const block = call.driver.blocks.find(reinterpret_cast<std::uintptr_t>(p));
    if (out == nullptr || flags != 0 || block == nullptr || !block->is_host()) return CUDA_ERROR_INVALID_VALUE;
    *out = reinterpret_cast<CUdeviceptr>(p);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemHostGetFlags(unsigned* flags, void* p) {
  return with_context([&](Call& call) -> CUresult {
    Block const* const block = call.driver.blocks.find(reinterpret_cast<std::uintptr_t>(p));
    if (flags == nullptr || block == nullptr || block->kind != MemoryKind::Pinned) return CUDA_ERROR_INVALID_VALUE;
    // Under unified addressing every pinned block is mapped.
    *flags = block->flags | CU_MEMHOSTALLOC_DEVICEMAP;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* bytes, CUdeviceptr address) {
  return with_context([&](Call& call) -> CUresult {
    Block const* const block = call.driver.blocks.find(address);
    if (block == nullptr || block->is_host()) return CUDA_ERROR_NOT_FOUND;
    if (base != nullptr) *base = block->address;
    if (bytes != nullptr) *bytes = block->requested;
    return CUDA_SUCCESS;
  });
}
