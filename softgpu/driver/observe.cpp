// SPDX-License-Identifier: Apache-2.0
#include "softgpu/driver/observe.h"

#include "softgpu/driver/function.h"
#include "softgpu/driver/module.h"

namespace tidemark::softgpu {
namespace {

// Registered host memory is the program's own: it is no allocation.
bool is_reported(const Block& block) {
  return block.kind != MemoryKind::Registered;
}

int kind_of(const Block& block) {
  switch (block.kind) {
    case MemoryKind::Pinned:
    case MemoryKind::Registered: return SOFTGPU_MEMORY_PINNED;
    // Managed and plain memory has an owner when it is a variable's.
    case MemoryKind::Managed: return block.owner != nullptr ? SOFTGPU_MEMORY_MANAGED_STATIC : SOFTGPU_MEMORY_MANAGED;
    case MemoryKind::Device: return block.owner != nullptr ? SOFTGPU_MEMORY_DEVICE_STATIC : SOFTGPU_MEMORY_DEVICE;
    case MemoryKind::Symbol: return SOFTGPU_MEMORY_DEVICE_STATIC;
    case MemoryKind::Array: return SOFTGPU_MEMORY_ARRAY;
    case MemoryKind::Pool:
    case MemoryKind::Mapped:
    case MemoryKind::Graph: return SOFTGPU_MEMORY_DEVICE;
  }
  return SOFTGPU_MEMORY_DEVICE;
}

SoftgpuPoolState state_of(const CUmemPoolHandle_st& handle) {
  StreamPool const& pool = *handle.pool;
  return {.address = pool.address(),
          .release_threshold_bytes = pool.release_threshold,
          .reserved_bytes = pool.reserved.current,
          .used_bytes = pool.used.current};
}

void report_memory(Driver& driver, const Block& block, bool released, CUstream stream, const char* name) {
  const SoftgpuObserver* const who = observer();
  if (who == nullptr || !is_reported(block)) return;
  CUcontext const context = driver.contexts.check(block.context);
  SoftgpuMemoryEvent event{.released = released,
                           .kind = kind_of(block),
                           .address = block.address,
                           .bytes = block.requested,
                           .device = block.device,
                           .context = context != nullptr ? context->id : 0,
                           .stream = stream != nullptr ? stream->id : 0,
                           .time_ns = driver.engine.clock().now(),
                           .name = name,
                           .pool = {}};
  if (block.kind == MemoryKind::Pool) {
    event.pool = state_of(*static_cast<const CUmemPoolHandle_st*>(block.owner));
    if (released) event.pool.used_bytes -= block.rounded;  // the pool hears of it next
  }
  who->memory(&event);
}

struct End {
  int kind = SOFTGPU_MEMORY_PAGEABLE;
  int device = -1;
};

End end_of(Driver& driver, std::uintptr_t address) {
  Block const* const block = driver.blocks.find(address);
  if (block == nullptr) return {};
  int const kind = kind_of(*block);
  return {kind, kind == SOFTGPU_MEMORY_PINNED ? -1 : block->device};
}

// Fills what the operation knows; false: an observer is not told of such.
struct Describer {
  Driver& driver;
  SoftgpuWorkEvent& event;

  bool operator()(const KernelOp& op) const {
    event.what = SOFTGPU_WORK_KERNEL;
    SoftgpuDim const grid = op.launch.grid, block = op.launch.block;
    event.grid[0] = grid.x, event.grid[1] = grid.y, event.grid[2] = grid.z;
    event.block[0] = block.x, event.block[1] = block.y, event.block[2] = block.z;
    event.static_shared_bytes = static_cast<std::uint32_t>(static_shared(*op.kernel));
    event.dynamic_shared_bytes = op.launch.dynamic_shared_bytes;
    event.registers_per_thread = kRegistersPerThread;
    event.cooperative = op.launch.cooperative != 0;
    return true;
  }

  // A sister library's kernel: its shape is nobody's business but its own.
  bool operator()(const LibraryOp&) const {
    event.what = SOFTGPU_WORK_KERNEL;
    for (int i = 0; i < 3; ++i) event.grid[i] = event.block[i] = 1;
    return true;
  }

  bool operator()(const CopyOp& op) const {
    event.what = SOFTGPU_WORK_COPY;
    event.bytes = op.bytes();
    End const source = op.staged ? End{} : end_of(driver, op.source);
    End const destination = end_of(driver, op.destination);
    event.source_kind = source.kind;
    event.source_device = source.device;
    event.destination_kind = destination.kind;
    event.destination_device = destination.device;
    return event.bytes != 0;
  }

  bool operator()(const SetOp& op) const {
    event.what = SOFTGPU_WORK_SET;
    event.bytes = op.width * op.element_bytes * op.height;
    event.value = op.value;
    End const destination = end_of(driver, op.destination);
    event.destination_kind = destination.kind;
    event.destination_device = destination.device;
    return event.bytes != 0;
  }

  template <class Other>
  bool operator()(const Other&) const {
    return false;
  }
};

SoftgpuResourceEvent describe(CUcontext context) {
  return {.what = SOFTGPU_CONTEXT,
          .device = context->device->ordinal,
          .context_handle = context,
          .context = context->id,
          .stream_handle = context->legacy_handle,
          .stream = context->legacy_handle->id};
}

SoftgpuResourceEvent describe(CUstream stream) {
  return {.what = SOFTGPU_STREAM,
          .device = stream->context->device->ordinal,
          .context_handle = stream->context,
          .context = stream->context->id,
          .stream_handle = stream,
          .stream = stream->id,
          .is_default = stream->is_default,
          .non_blocking = !stream->blocking,
          .priority = stream->priority};
}

SoftgpuResourceEvent describe(CUmodule module) {
  return {.what = SOFTGPU_MODULE,
          .device = module->context->device->ordinal,
          .context_handle = module->context,
          .context = module->context->id,
          .module = module->id,
          .image = module->library->image};
}

template <class Handle>
void report_created(Handle handle) {
  const SoftgpuObserver* const who = observer();
  if (who == nullptr) return;
  SoftgpuResourceEvent const event = describe(handle);
  who->created(&event);
}

void tell_end(Call& call, const SoftgpuObserver& who, const SoftgpuResourceEvent& event) {
  call.lock.unlock();
  who.destroying(&event);
  call.lock.lock();
}

}  // namespace

void observe_allocated(Driver& driver, const Block& block, CUstream stream, const char* name) {
  report_memory(driver, block, false, stream, name);
}

void observe_released(Driver& driver, const Block& block, CUstream stream) {
  report_memory(driver, block, true, stream, nullptr);
}

void observe_pool(Driver& driver, const CUmemPoolHandle_st& pool, int what, std::uint64_t keep_bytes) {
  const SoftgpuObserver* const who = observer();
  if (who == nullptr) return;
  SoftgpuPoolEvent const event{.what = what,
                               .device = pool.device,
                               .keep_bytes = keep_bytes,
                               .time_ns = driver.engine.clock().now(),
                               .pool = state_of(pool)};
  who->pool(&event);
}

std::unique_ptr<SoftgpuWorkEvent> describe_work(Driver& driver, const Operation& operation) {
  const SoftgpuObserver* const who = observer();
  if (who == nullptr) return nullptr;
  auto event = std::make_unique<SoftgpuWorkEvent>();
  if (!std::visit(Describer{driver, *event}, operation)) return nullptr;
  event->tag = who->tag();
  return event;
}

void observe_created(CUcontext context) {
  report_created(context);
}
void observe_created(CUstream stream) {
  report_created(stream);
}
void observe_created(CUmodule module) {
  report_created(module);
}

bool announce_end(Call& call, CUcontext context) {
  if (const SoftgpuObserver* const who = observer()) tell_end(call, *who, describe(context));
  return call.driver.contexts.check(context) != nullptr && (!context->primary || context->device->primary_active);
}

bool announce_end(Call& call, CUstream stream) {
  if (const SoftgpuObserver* const who = observer()) tell_end(call, *who, describe(stream));
  return call.driver.streams.check(stream) != nullptr && !stream->destroyed;
}

bool announce_end(Call& call, CUlibrary library) {
  if (const SoftgpuObserver* const who = observer()) {
    std::vector<SoftgpuResourceEvent> ends;
    for (auto const& [context, module] : library->modules) ends.push_back(describe(module));
    for (SoftgpuResourceEvent const& end : ends) tell_end(call, *who, end);
  }
  return call.driver.libraries.check(library) != nullptr;
}

}  // namespace tidemark::softgpu

using namespace tidemark::softgpu;

void softgpu_observe(const SoftgpuObserver* observer) {
  observer_slot.store(observer, std::memory_order_release);
}

const SoftgpuObserver* softgpu_observer(void) {
  return observer();
}

int softgpu_clock_is_simulated(void) {
  Driver* const driver = Driver::configured();
  return driver != nullptr && driver->config.clock == ClockKind::Simulated;
}

uint64_t softgpu_clock(void) {
  Driver* const driver = Driver::configured();
  if (driver == nullptr || driver->forked || driver->config.clock == ClockKind::Real) return monotonic_ns();
  Lock const lock(driver->engine.mutex());
  return driver->engine.clock().now();
}

void* softgpu_current_context(uint64_t* id, int* device) {
  Driver* const driver = Driver::configured();
  if (driver == nullptr || driver->forked) return nullptr;
  Lock const lock(driver->engine.mutex());
  CUcontext const context = driver->contexts.check(current_context(*driver));
  if (context == nullptr) return nullptr;
  if (id != nullptr) *id = context->id;
  if (device != nullptr) *device = context->device->ordinal;
  return context;
}

const char* softgpu_kernel_name(const void* function) {
  Driver* const driver = Driver::configured();
  if (driver == nullptr || driver->forked) return nullptr;
  Call call{*driver, Lock(driver->engine.mutex())};
  CUkernel const kernel = kernel_of(call, static_cast<CUfunction>(const_cast<void*>(function)));
  return kernel != nullptr ? kernel->name.c_str() : nullptr;
}

void softgpu_resources(void (*created)(const SoftgpuResourceEvent*, void*), void* data) {
  Driver* const driver = Driver::configured();
  if (driver == nullptr || driver->forked) return;
  Lock const lock(driver->engine.mutex());
  auto const tell = [&](const SoftgpuResourceEvent& event) { created(&event, data); };
  driver->contexts.for_each([&](CUctx_st& context) {
    if (context.charged) tell(describe(&context));
  });
  driver->streams.for_each([&](CUstream_st& stream) {
    if (!stream.destroyed && !stream.is_lane && stream.context->charged) tell(describe(&stream));
  });
}
