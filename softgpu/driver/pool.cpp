// SPDX-License-Identifier: Apache-2.0
// Stream-ordered allocation and its pools.
#include "softgpu/driver/capture.h"
#include "softgpu/driver/graph_memory.h"
#include "softgpu/driver/memory.h"
#include "softgpu/driver/observe.h"
#include "softgpu/driver/operation.h"
#include "softgpu/driver/pools.h"

using namespace tidemark;
using namespace tidemark::softgpu;

namespace tidemark::softgpu {
namespace {

CUmemoryPool make_pool(Driver& driver, Device& device, const CUmemPoolProps& props) {
  std::uint64_t const all = driver.config.memory.n;
  std::uint64_t const window = props.maxSize != 0 ? std::min<std::uint64_t>(props.maxSize, all) : all;
  auto pool = StreamPool::create({.device = device.ordinal, .window_bytes = window, .touched = !driver.dry_run},
                                 *device.ledger, driver.blocks, driver.engine);
  if (!pool.ok()) return nullptr;
  CUmemoryPool const handle = driver.pools.create();
  handle->device = device.ordinal;
  handle->props = props;
  handle->pool = std::move(*pool);
  handle->access[device.ordinal] = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  observe_pool(driver, *handle, SOFTGPU_POOL_CREATED);
  return handle;
}

}  // namespace

CUmemoryPool default_pool(Driver& driver, Device& device) {
  if (device.default_pool == nullptr) {
    CUmemPoolProps props{};
    props.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    props.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device.ordinal};
    device.default_pool = make_pool(driver, device, props);
    if (device.default_pool == nullptr) return nullptr;
    device.default_pool->is_default = true;
  }
  if (device.current_pool == nullptr) device.current_pool = device.default_pool;
  return device.default_pool;
}

}  // namespace tidemark::softgpu

namespace {

CUresult allocate_from(Call& call, CUdeviceptr* out, std::uint64_t bytes, CUmemoryPool handle, CUstream stream) {
  if (out == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (handle == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  if (is_capturing(stream)) return capture_allocation(call, stream, bytes, handle->device, out);
  fault_slow(call.driver, SlowCall::MemAllocAsync);
  if (fault_oom(call.driver, bytes)) return CUDA_ERROR_OUT_OF_MEMORY;
  MemoryOp op;
  Block* const block = handle->pool->allocate(bytes, *stream, op.waits);
  if (block == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
  block->owner = handle;
  block->context = stream->context;
  op.address = block->address;
  op.bytes = block->rounded;
  op.generation = block->id;
  *out = block->address;
  observe_allocated(call.driver, *block, stream);
  if (call.driver.checker != nullptr)
    call.driver.checker->appear(Checker::View::Host, op.address, op.bytes, op.generation);
  return issue(call, stream, std::move(op));
}

// Plain memory may be freed in stream order too: then no wait is needed.
CUresult free_plain_async(Call& call, Block* block, CUstream stream) {
  observe_released(call.driver, *block, stream);
  block->doomed = true;
  if (call.driver.checker != nullptr) call.driver.checker->vanish(Checker::View::Host, block->address, block->rounded);
  MemoryOp op;
  op.address = block->address;
  op.frees = block->id;
  op.releases = true;
  return issue(call, stream, std::move(op));
}

CUresult free_async(Call& call, Block* block, CUstream stream) {
  MemoryOp op;
  op.address = block->address;
  op.bytes = block->rounded;
  op.frees = block->id;
  if (call.driver.checker != nullptr) call.driver.checker->vanish(Checker::View::Host, op.address, op.bytes);
  Ref<Ticket> ticket;
  auto* const handle = static_cast<CUmemoryPool>(block->owner);
  // Work may run before issue() comes back: from here on the block is nobody's to free a second time.
  block->doomed = true;
  CUresult const result = issue(call, stream, std::move(op), &ticket);
  if (result != CUDA_SUCCESS) return result;
  observe_released(call.driver, *block, stream);
  handle->pool->free(block, std::move(ticket));
  return CUDA_SUCCESS;
}

bool is_pool(Call& call, CUmemoryPool handle) {
  return call.driver.pools.check(handle) != nullptr && !handle->destroyed;
}

template <class F>
CUresult with_pool(CUmemoryPool handle, F f) {
  return with_driver(
      [&](Call& call) -> CUresult { return is_pool(call, handle) ? f(call) : CUDA_ERROR_INVALID_VALUE; });
}

struct Attribute {
  std::uint64_t value = 0;
  bool is_flag = false;
};

std::optional<Attribute> read_attribute(const StreamPool& p, CUmemPool_attribute attribute) {
  switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES: return Attribute{p.reuse_follow_events, true};
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC: return Attribute{p.reuse_opportunistic, true};
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES: return Attribute{p.reuse_internal, true};
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: return Attribute{p.release_threshold};
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT: return Attribute{p.reserved.current};
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH: return Attribute{p.reserved.high};
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: return Attribute{p.used.current};
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH: return Attribute{p.used.high};
    default: return std::nullopt;
  }
}

CUresult write_attribute(StreamPool& p, CUmemPool_attribute attribute, const void* value) {
  auto const flag = [&] { return *static_cast<const int*>(value) != 0; };
  auto const number = [&] { return *static_cast<const cuuint64_t*>(value); };
  switch (attribute) {
    case CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES: p.reuse_follow_events = flag(); return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC: p.reuse_opportunistic = flag(); return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES: p.reuse_internal = flag(); return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD: p.release_threshold = number(); return CUDA_SUCCESS;
    // High-water marks can only be set back.
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
      if (number() != 0) return CUDA_ERROR_INVALID_VALUE;
      p.reserved.high = p.reserved.current;
      return CUDA_SUCCESS;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
      if (number() != 0) return CUDA_ERROR_INVALID_VALUE;
      p.used.high = p.used.current;
      return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
}

}  // namespace

CUresult tidemark::softgpu::free_pool_block_now(Call& call, Block* block) {
  if (is_capture_forbidden(call)) return capture_violated(call, nullptr);
  // Documented: no wait, the program says that all accesses are over. So it goes at once, whatever is still queued.
  if (call.driver.checker != nullptr)
    call.driver.checker->vanish(Checker::View::Both, block->address, block->rounded, block->id);
  auto const over = make_ref<Ticket>();
  over->executed = true;
  observe_released(call.driver, *block);
  static_cast<CUmemoryPool>(block->owner)->pool->free(block, over);
  return CUDA_SUCCESS;
}

CUresult CUDAAPI cuMemAllocAsync(CUdeviceptr* out, size_t bytes, CUstream handle) {
  return with_context([&](Call& call) -> CUresult {
    CUstream const stream = stream_of(call, handle);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    Device& device = *stream->context->device;
    if (default_pool(call.driver, device) == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    return allocate_from(call, out, bytes, device.current_pool, stream);
  });
}

CUresult CUDAAPI cuMemAllocFromPoolAsync(CUdeviceptr* out, size_t bytes, CUmemoryPool pool, CUstream handle) {
  return with_context([&](Call& call) -> CUresult {
    CUstream const stream = stream_of(call, handle);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (!is_pool(call, pool)) return CUDA_ERROR_INVALID_VALUE;
    return allocate_from(call, out, bytes, pool, stream);
  });
}

CUresult CUDAAPI cuMemFreeAsync(CUdeviceptr address, CUstream handle) {
  return with_context([&](Call& call) -> CUresult {
    CUstream const stream = stream_of(call, handle);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (address == 0) return CUDA_SUCCESS;
    Block* const block = call.driver.blocks.find(address);
    if (block == nullptr || block->address != address || block->is_variable()) return CUDA_ERROR_INVALID_VALUE;
    // What a graph has allocated is freed by it before a launch has brought it to life.
    if (block->doomed && block->kind != MemoryKind::Graph) return CUDA_ERROR_INVALID_VALUE;
    fault_slow(call.driver, SlowCall::MemFreeAsync);
    if (is_capturing(stream) && block->kind != MemoryKind::Graph) {
      // Memory from outside cannot be a node: what the launches after the first should free is gone.
      CUresult const refused = capture_refused(call, stream);
      return refused != CUDA_SUCCESS ? refused : CUDA_ERROR_INVALID_VALUE;
    }
    switch (block->kind) {
      case MemoryKind::Device: return free_plain_async(call, block, stream);
      case MemoryKind::Pool: return free_async(call, block, stream);
      case MemoryKind::Graph: return free_graph_block(call, block, stream);
      default: return CUDA_ERROR_INVALID_VALUE;
    }
  });
}

CUresult CUDAAPI cuDeviceGetDefaultMemPool(CUmemoryPool* out, CUdevice ordinal) {
  return with_device(ordinal, [&](Call& call, Device& device) -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = default_pool(call.driver, device);
    return *out != nullptr ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
  });
}

CUresult CUDAAPI cuDeviceGetMemPool(CUmemoryPool* out, CUdevice ordinal) {
  return with_device(ordinal, [&](Call& call, Device& device) -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (default_pool(call.driver, device) == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    *out = device.current_pool;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuDeviceSetMemPool(CUdevice ordinal, CUmemoryPool pool) {
  return with_device(ordinal, [&](Call& call, Device& device) -> CUresult {
    if (!is_pool(call, pool) || pool->device != ordinal) return CUDA_ERROR_INVALID_VALUE;
    device.current_pool = pool;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemGetDefaultMemPool(CUmemoryPool* out, CUmemLocation* location, CUmemAllocationType type) {
  if (out == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (location->type != CU_MEM_LOCATION_TYPE_DEVICE || type != CU_MEM_ALLOCATION_TYPE_PINNED)
    return static_cast<CUresult>(softgpu_not_supported("cuMemGetDefaultMemPool for other than device memory"));
  return cuDeviceGetDefaultMemPool(out, location->id);
}

CUresult CUDAAPI cuMemGetMemPool(CUmemoryPool* out, CUmemLocation* location, CUmemAllocationType type) {
  if (out == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (location->type != CU_MEM_LOCATION_TYPE_DEVICE || type != CU_MEM_ALLOCATION_TYPE_PINNED)
    return static_cast<CUresult>(softgpu_not_supported("cuMemGetMemPool for other than device memory"));
  return cuDeviceGetMemPool(out, location->id);
}

CUresult CUDAAPI cuMemSetMemPool(CUmemLocation* location, CUmemAllocationType type, CUmemoryPool pool) {
  if (location == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (location->type != CU_MEM_LOCATION_TYPE_DEVICE || type != CU_MEM_ALLOCATION_TYPE_PINNED)
    return static_cast<CUresult>(softgpu_not_supported("cuMemSetMemPool for other than device memory"));
  return cuDeviceSetMemPool(location->id, pool);
}

CUresult CUDAAPI cuMemPoolCreate(CUmemoryPool* out, const CUmemPoolProps* props) {
  return with_driver([&](Call& call) -> CUresult {
    if (out == nullptr || props == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED) return CUDA_ERROR_INVALID_VALUE;
    if (props->location.type != CU_MEM_LOCATION_TYPE_DEVICE || props->handleTypes != CU_MEM_HANDLE_TYPE_NONE)
      return static_cast<CUresult>(softgpu_not_supported("cuMemPoolCreate for host memory or export"));
    Device* const device = call.driver.device(props->location.id);
    if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = make_pool(call.driver, *device, *props);
    return *out != nullptr ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
  });
}

CUresult CUDAAPI cuMemPoolDestroy(CUmemoryPool pool) {
  return with_pool(pool, [&](Call& call) -> CUresult {
    if (pool->is_default) return CUDA_ERROR_INVALID_VALUE;
    Device& device = *call.driver.device(pool->device);
    if (device.current_pool == pool) device.current_pool = device.default_pool;
    // Returns at once. Blocks that still live, and those whose free is queued, keep the pool until they are gone.
    pool->destroyed = true;
    pool->pool->release_threshold = 0;
    observe_pool(call.driver, *pool, SOFTGPU_POOL_DESTROYED);
    settle_pools(call.driver);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemPoolTrimTo(CUmemoryPool pool, size_t keep) {
  return with_pool(pool, [&](Call& call) -> CUresult {
    pool->pool->trim(keep);
    observe_pool(call.driver, *pool, SOFTGPU_POOL_TRIMMED, keep);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemPoolGetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  return with_pool(pool, [&](Call&) -> CUresult {
    auto const found = read_attribute(*pool->pool, attribute);
    if (!found || value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (found->is_flag) {
      *static_cast<int*>(value) = static_cast<int>(found->value);
    } else {
      *static_cast<cuuint64_t*>(value) = found->value;
    }
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemPoolSetAttribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  return with_pool(pool, [&](Call&) -> CUresult {
    return value == nullptr ? CUDA_ERROR_INVALID_VALUE : write_attribute(*pool->pool, attribute, value);
  });
}

CUresult CUDAAPI cuMemPoolSetAccess(CUmemoryPool pool, const CUmemAccessDesc* map, size_t count) {
  return with_pool(pool, [&](Call& call) -> CUresult {
    if (map == nullptr && count != 0) return CUDA_ERROR_INVALID_VALUE;
    for (std::size_t i = 0; i < count; ++i) {
      if (map[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_INVALID_VALUE;
      if (call.driver.device(map[i].location.id) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
      // The owner's own access cannot be taken away.
      if (map[i].location.id == pool->device && map[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
        return CUDA_ERROR_INVALID_VALUE;
      pool->access[map[i].location.id] = map[i].flags;
    }
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMemPoolGetAccess(CUmemAccess_flags* flags, CUmemoryPool pool, CUmemLocation* location) {
  return with_pool(pool, [&](Call&) -> CUresult {
    if (flags == nullptr || location == nullptr) return CUDA_ERROR_INVALID_VALUE;
    auto const found = pool->access.find(location->id);
    *flags = found != pool->access.end() ? found->second : CU_MEM_ACCESS_FLAGS_PROT_NONE;
    return CUDA_SUCCESS;
  });
}
