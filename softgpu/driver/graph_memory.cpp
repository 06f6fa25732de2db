// SPDX-License-Identifier: Apache-2.0
#include "softgpu/driver/graph_memory.h"

#include <algorithm>

#include "base/bytes.h"
#include "softgpu/driver/capture.h"
#include "softgpu/driver/graph.h"
#include "softgpu/driver/memory.h"
#include "softgpu/driver/observe.h"

using namespace tidemark;
using namespace tidemark::softgpu;

namespace tidemark::softgpu {
namespace {

void count(Device& device) {
  std::uint64_t used = 0, reserved = 0;
  for (auto const& backing : device.graph_backings) {
    reserved += backing->bytes;
    if (backing->holders != 0 || backing->alive != 0) used += backing->bytes;
  }
  device.graph_used.set(used);
  device.graph_reserved.set(reserved);
}

// Whether work that begins in the stream now comes after all that used the memory. Uses by the same executable graph
// are waited for.
bool is_free_for(Engine& engine, GraphBacking& backing, const BackingRequest& request,
                 std::vector<Ref<Ticket>>* waits) {
  std::erase_if(backing.uses, [&](const GraphBacking::Use& use) { return engine.done(*use.ticket); });
  if (backing.alive != 0) return false;
  for (auto const& [ticket, executable] : backing.uses) {
    if (Engine::ordered_before(*ticket, *request.stream)) continue;
    if (executable != request.executable || waits == nullptr) return false;
    waits->push_back(ticket);
  }
  return true;
}

bool grow(Driver& driver, Device& device, GraphBacking& backing, std::uint64_t bytes) {
  if (backing.bytes >= bytes) return true;
  if (fault_oom(driver, bytes - backing.bytes) || !device.ledger->charge(bytes - backing.bytes)) return false;
  backing.bytes = bytes;
  return true;
}

// Memory that nothing runs on goes back; executable graphs take new memory at their next launch.
void trim(Driver& driver, Device& device) {
  std::erase_if(device.graph_backings, [&](const std::shared_ptr<GraphBacking>& backing) {
    std::erase_if(backing->uses, [&](const GraphBacking::Use& use) { return driver.engine.done(*use.ticket); });
    if (backing->alive != 0 || !backing->uses.empty()) return false;
    device.ledger->release(backing->bytes);
    backing->bytes = 0;
    return true;
  });
  count(device);
}

// The smallest that is large enough, else the largest, to be grown.
std::shared_ptr<GraphBacking> find_backing(Driver& driver, Device& device, const BackingRequest& request) {
  std::shared_ptr<GraphBacking> best;
  for (auto const& backing : device.graph_backings) {
    if (!is_free_for(driver.engine, *backing, request, nullptr)) continue;
    bool const fits = backing->bytes >= request.bytes;
    if (best == nullptr || (fits ? best->bytes < request.bytes || backing->bytes < best->bytes
                                 : best->bytes < request.bytes && backing->bytes > best->bytes))
      best = backing;
  }
  return best;
}

bool try_backing(Driver& driver, Device& device, const BackingRequest& request, std::shared_ptr<GraphBacking>& held) {
  std::shared_ptr<GraphBacking> found = find_backing(driver, device, request);
  bool const is_new = found == nullptr;
  if (is_new) found = std::make_shared<GraphBacking>();
  if (!grow(driver, device, *found, request.bytes)) return false;
  if (is_new) device.graph_backings.push_back(found);
  ++found->holders;
  held = std::move(found);
  return true;
}

}  // namespace

bool take_backing(Driver& driver, const BackingRequest& request, std::shared_ptr<GraphBacking>& held,
                  std::vector<Ref<Ticket>>& waits) {
  Device& device = *driver.device(request.device);
  // After a trim the backing is empty and no longer the device's.
  if (held != nullptr && held->bytes != 0) {
    std::size_t const before = waits.size();
    if (is_free_for(driver.engine, *held, request, &waits) && grow(driver, device, *held, request.bytes)) {
      count(device);
      return true;
    }
    waits.resize(before);
  }
  if (held != nullptr) drop_backing(driver, request.device, held);
  bool done = try_backing(driver, device, request, held);
  if (!done) {
    trim(driver, device);
    done = try_backing(driver, device, request, held);
  }
  count(device);
  return done;
}

void drop_backing(Driver& driver, int device, std::shared_ptr<GraphBacking>& held) {
  if (held == nullptr) return;
  --held->holders;
  held.reset();
  count(*driver.device(device));
}

void note_free(GraphBacking& backing, Ref<Ticket> ticket, std::uint64_t executable) {
  backing.uses.push_back({std::move(ticket), executable});
}

void note_use(GraphBacking& backing, Ref<Ticket> ticket, std::uint64_t executable) {
  std::erase_if(backing.uses, [&](const GraphBacking::Use& use) { return use.executable == executable; });
  backing.uses.push_back({std::move(ticket), executable});
}

std::shared_ptr<GraphAllocation> make_allocation(Call& call, const CUDA_MEM_ALLOC_NODE_PARAMS& params,
                                                 CUresult* result) {
  *result = CUDA_ERROR_INVALID_VALUE;
  CUmemPoolProps const& props = params.poolProps;
  if (params.bytesize == 0 || props.allocType != CU_MEM_ALLOCATION_TYPE_PINNED) return nullptr;
  if (props.handleTypes != CU_MEM_HANDLE_TYPE_NONE || (params.accessDescs == nullptr && params.accessDescCount != 0))
    return nullptr;
  if (props.location.type != CU_MEM_LOCATION_TYPE_DEVICE) {
    *result = static_cast<CUresult>(softgpu_not_supported("a graph's memory node for other than device memory"));
    return nullptr;
  }
  Device* const device = call.driver.device(props.location.id);
  if (device == nullptr || params.accessDescCount > call.driver.devices.size()) return nullptr;
  *result = CUDA_ERROR_OUT_OF_MEMORY;
  if (device->graph_heap == nullptr)
    device->graph_heap = GraphHeap::create(device->ordinal, call.driver.config.memory.n, call.driver.blocks);
  Block* const block = device->graph_heap != nullptr ? device->graph_heap->reserve(params.bytesize) : nullptr;
  if (block == nullptr) return nullptr;
  auto made = std::make_shared<GraphAllocation>(device->graph_heap, block);
  block->owner = made.get();
  block->context = call.context;
  block->doomed = true;  // until a launch brings it to life
  made->properties = props;
  made->access.assign(params.accessDescs, params.accessDescs + params.accessDescCount);
  *result = CUDA_SUCCESS;
  return made;
}

std::shared_ptr<GraphAllocation> find_freeable(Driver& driver, CUgraph graph, CUdeviceptr address) {
  Block const* const block = driver.blocks.find(address);
  if (block == nullptr || block->kind != MemoryKind::Graph || block->address != address) return nullptr;
  auto* const allocation = static_cast<GraphAllocation*>(block->owner);
  // Once in a graph; in its own graph or in others, not both.
  auto const& freed = allocation->freed_in;
  bool const owned = allocation->owner == graph->id;
  if (freed.count(graph->id) != 0 || (owned ? !freed.empty() : freed.count(allocation->owner) != 0)) return nullptr;
  return allocation->shared_from_this();
}

Item begin_life(Driver& driver, const std::shared_ptr<GraphAllocation>& allocation,
                const std::shared_ptr<GraphBacking>& backing, std::uint64_t executable) {
  Block& block = *allocation->block;
  block.id = driver.blocks.next_id();
  block.doomed = false;
  allocation->alive = true;
  allocation->backing = backing;
  allocation->executable = executable;
  ++backing->alive;
  observe_allocated(driver, block);
  driver.device(block.device)->graph_allocations.push_back(allocation);
  Item item;
  item.kind = ItemKind::Memory;
  item.name = "graph alloc";
  if (driver.checker == nullptr) return item;
  driver.checker->appear(Checker::View::Host, block.address, block.rounded, block.id);
  item.run_locked = true;
  item.run = [keep = allocation, checker = driver.checker, id = block.id] {
    checker->appear(Checker::View::Device, keep->block->address, keep->block->rounded, id);
    return 0;
  };
  return item;
}

Item end_life(Driver& driver, const std::shared_ptr<GraphAllocation>& allocation) {
  Block& block = *allocation->block;
  observe_released(driver, block);
  block.doomed = true;
  allocation->alive = false;
  --allocation->backing->alive;
  std::erase(driver.device(block.device)->graph_allocations, allocation);
  if (driver.checker != nullptr) driver.checker->vanish(Checker::View::Host, block.address, block.rounded);
  Item item;
  item.kind = ItemKind::Memory;
  item.name = "graph free";
  item.run_locked = true;
  item.run = [keep = allocation, checker = driver.checker, id = block.id, dry_run = driver.dry_run] {
    if (checker != nullptr) checker->vanish(Checker::View::Device, keep->block->address, keep->block->rounded, id);
    if (!dry_run) keep->heap->discard(*keep->block);
    return 0;
  };
  return item;
}

CUresult capture_allocation(Call& call, CUstream stream, std::uint64_t bytes, int device, CUdeviceptr* out) {
  if (CUresult const refused = capture_refused(call, stream); refused != CUDA_SUCCESS) return refused;
  CUDA_MEM_ALLOC_NODE_PARAMS params{};
  params.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  params.poolProps.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device};
  params.bytesize = bytes;
  CUresult result = CUDA_SUCCESS;
  auto allocation = make_allocation(call, params, &result);
  if (allocation == nullptr) return result;
  *out = allocation->block->address;
  allocation->block->context = stream->context;
  allocation->owner = stream->capture->graph->id;
  return capture_node(call, stream, {.work = AllocWork{std::move(allocation)}, .context = stream->context});
}

CUresult free_graph_block(Call& call, Block* block, CUstream stream) {
  if (is_capturing(stream)) {
    if (CUresult const refused = capture_refused(call, stream); refused != CUDA_SUCCESS) return refused;
    CUgraph const graph = stream->capture->graph;
    auto allocation = find_freeable(call.driver, graph, block->address);
    if (allocation == nullptr) return CUDA_ERROR_INVALID_VALUE;
    allocation->freed_in.insert(graph->id);
    return capture_node(call, stream, {.work = FreeWork{std::move(allocation)}, .context = stream->context});
  }
  auto const allocation = static_cast<GraphAllocation*>(block->owner)->shared_from_this();
  if (!allocation->alive) return CUDA_ERROR_INVALID_VALUE;
  Item item = end_life(call.driver, allocation);
  Ref<Ticket> const ticket = call.engine().submit(call.lock, *stream, std::move(item));
  note_free(*allocation->backing, ticket, allocation->executable);
  return CUDA_SUCCESS;
}

CUresult free_graph_block_now(Call& call, Block* block) {
  if (is_capture_forbidden(call)) return capture_violated(call, nullptr);
  // As for plain memory: the work that may use it comes first.
  auto const allocation = static_cast<GraphAllocation*>(block->owner)->shared_from_this();
  auto* const context = static_cast<CUcontext>(block->context);
  if (!allocation->alive) return CUDA_ERROR_INVALID_VALUE;
  call.engine().wait_group(call.lock, *context);
  if (!allocation->alive) return CUDA_ERROR_INVALID_VALUE;  // another thread was quicker
  end_life(call.driver, allocation).run();
  return CUDA_SUCCESS;
}

void free_graph_memory(Driver& driver, CUcontext context) {
  Device& device = *context->device;
  auto const living = device.graph_allocations;
  for (auto const& allocation : living) {
    if (allocation->block->context != context) continue;
    Item item = end_life(driver, allocation);
    item.run();
  }
  trim(driver, device);
}

}  // namespace tidemark::softgpu

CUresult CUDAAPI cuDeviceGraphMemTrim(CUdevice ordinal) {
  return with_device(ordinal, [&](Call& call, Device& device) -> CUresult {
    trim(call.driver, device);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuDeviceGetGraphMemAttribute(CUdevice ordinal, CUgraphMem_attribute attribute, void* value) {
  return with_device(ordinal, [&](Call&, Device& device) -> CUresult {
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    auto& out = *static_cast<cuuint64_t*>(value);
    switch (attribute) {
      case CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT: out = device.graph_used.current; return CUDA_SUCCESS;
      case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH: out = device.graph_used.high; return CUDA_SUCCESS;
      case CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT: out = device.graph_reserved.current; return CUDA_SUCCESS;
      case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH: out = device.graph_reserved.high; return CUDA_SUCCESS;
      default: return CUDA_ERROR_INVALID_VALUE;
    }
  });
}

CUresult CUDAAPI cuDeviceSetGraphMemAttribute(CUdevice ordinal, CUgraphMem_attribute attribute, void* value) {
  return with_device(ordinal, [&](Call&, Device& device) -> CUresult {
    // High-water marks can only be set back.
    if (value == nullptr || *static_cast<const cuuint64_t*>(value) != 0) return CUDA_ERROR_INVALID_VALUE;
    switch (attribute) {
      case CU_GRAPH_MEM_ATTR_USED_MEM_HIGH: device.graph_used.high = device.graph_used.current; return CUDA_SUCCESS;
      case CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH:
        device.graph_reserved.high = device.graph_reserved.current;
        return CUDA_SUCCESS;
      default: return CUDA_ERROR_INVALID_VALUE;
    }
  });
}
