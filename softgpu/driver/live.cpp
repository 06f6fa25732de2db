// SPDX-License-Identifier: Apache-2.0
// softgpu_live: counted anew at each question, so that nothing else can be wrong about it.
#include <algorithm>

#include "softgpu/driver/driver.h"

#pragma GCC visibility push(default)
#include "softgpu/interface/softgpu.h"
#pragma GCC visibility pop

using namespace tidemark;
using namespace tidemark::softgpu;

namespace {

int class_of(const Block& block) {
  if (block.is_variable()) return SOFTGPU_LIVE_VARIABLE;
  switch (block.kind) {
    case MemoryKind::Device: return SOFTGPU_LIVE_LINEAR;
    case MemoryKind::Pool: return SOFTGPU_LIVE_POOL;
    case MemoryKind::Managed: return SOFTGPU_LIVE_MANAGED;
    case MemoryKind::Pinned: return SOFTGPU_LIVE_PINNED;
    case MemoryKind::Registered: return SOFTGPU_LIVE_REGISTERED;
    case MemoryKind::Mapped: return SOFTGPU_LIVE_MAPPED;
    case MemoryKind::Graph: return SOFTGPU_LIVE_GRAPH;
    case MemoryKind::Array: return SOFTGPU_LIVE_ARRAY;
    case MemoryKind::Symbol: break;
  }
  return SOFTGPU_LIVE_VARIABLE;
}

}  // namespace

int softgpu_live(int ordinal, SoftgpuLive* out, int capacity) {
  Driver* const driver = Driver::configured();
  if (driver == nullptr || driver->forked) return CUDA_ERROR_NOT_INITIALIZED;
  if (out == nullptr || capacity < 0 || ordinal < 0 || ordinal >= driver->config.device_count)
    return CUDA_ERROR_INVALID_VALUE;
  std::fill_n(out, capacity, SoftgpuLive{});
  auto const add = [&](int of, std::uint64_t bytes) {
    if (of >= capacity) return;
    out[of].requested_bytes += bytes;
    ++out[of].blocks;
  };
  Lock const lock(driver->engine.mutex());
  driver->blocks.for_each([&](const Block* block) {
    if (block->device == ordinal && !block->doomed) add(class_of(*block), block->requested);
  });
  driver->physical.for_each([&](const PhysicalMemory& memory) {
    if (memory.device == ordinal) add(SOFTGPU_LIVE_PHYSICAL, memory.bytes);
  });
  return CUDA_SUCCESS;
}
