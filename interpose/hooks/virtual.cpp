// SPDX-License-Identifier: Apache-2.0
// Virtual memory management. Bytes are the physical blocks': on the account from their creation until the last handle
// is released and the last mapping gone. Reservations and mappings are addresses and cost nothing.
#include <mutex>

#include "base/address_map.h"
#include "base/spin_lock.h"
#include "interpose/hooks/hook.h"

namespace tidemark::interpose {
namespace {

using trace::Class;
using trace::Space;

// The smallest unit that any device maps in.
constexpr std::uint64_t kMapStep = 64 << 10;

struct Holds {
  std::uint32_t handles = 0, mappings = 0;
};
constinit AddressMap<Holds> holds;
constinit SpinLock lock;

// The class of a physical block: one that lies on the host is on no device's bill.
Space space_of_handle(std::uint64_t handle) {
  return recorder().registry().find(Space::Physical, handle) ? Space::Physical : Space::Memory;
}

// Changes the holds on a physical block; nobody holding it, it is gone. The real call is over by then, and its memory
// may be part of a new block already; but that one has a handle of its own.
template <class Change>
void change_holds(std::uint64_t handle, std::uint64_t ticks, Change change) {
  bool gone = false;
  {
    std::scoped_lock const guard(lock);
    Holds* const found = holds.find(handle);
    if (found == nullptr) return;
    change(*found);
    gone = found->handles == 0 && found->mappings == 0;
    if (gone) holds.erase(handle);
  }
  if (!gone) return;
  Leaving leaving = recorder().leave(space_of_handle(handle), handle);
  leaving.ticks = ticks;
  recorder().left(leaving);
  if (leaving.known && current_place().context != 0) devices().sample(leaving.block.device);
}

// A fresh physical block is held by its handle.
void hold(const Allocation& made) {
  std::scoped_lock const guard(lock);
  Holds* const fresh = holds.insert(made.address);
  if (fresh == nullptr) return recorder().count_loss(trace::Loss::Failed);
  *fresh = {.handles = 1};
}

// Takes every mapping in a range off the account, and calls f(physical block) for each.
template <class F>
void for_each_mapping(CUdeviceptr begin, std::size_t bytes, F f) {
  for (std::uint64_t at = begin; at < begin + bytes;) {
    auto const mapping = recorder().registry().find(Space::Mapping, at);
    if (mapping) f(at, *mapping);
    at += mapping && mapping->size_bytes != 0 ? mapping->size_bytes : kMapStep;
  }
}

std::uint64_t now() {
  return recorder().file().clock().now_ordered();
}

}  // namespace
}  // namespace tidemark::interpose

using namespace tidemark::interpose;

TIDEMARK_HOOK(cuMemAddressReserve)
(CUdeviceptr* out, size_t bytes, size_t alignment, CUdeviceptr wish, unsigned long long flags) {
  CUresult const result = call(&Driver::cuMemAddressReserve, out, bytes, alignment, wish, flags);
  if (result == CUDA_SUCCESS && ready())
    shield([&] { recorder().allocated({.address = *out, .size_bytes = bytes, .block_class = Class::Reservation}); });
  return result;
}

TIDEMARK_HOOK(cuMemAddressFree)(CUdeviceptr begin, size_t bytes) {
  return release(Space::Reservation, begin, nullptr, [&] { return call(&Driver::cuMemAddressFree, begin, bytes); });
}

TIDEMARK_HOOK(cuMemCreate)
(CUmemGenericAllocationHandle* out, size_t bytes, const CUmemAllocationProp* properties, unsigned long long flags) {
  auto const real = [&] { return call(&Driver::cuMemCreate, out, bytes, properties, flags); };
  // Memory of the host lies on no device's bill. The device is the one that was named, whatever context is current.
  if (properties == nullptr || properties->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
    return allocate({.call = "cuMemCreate", .size_bytes = bytes, .block_class = Class::Pinned, .holder = hold}, real,
                    [&] { return Allocation{.address = *out, .size_bytes = bytes}; });
  return allocate({.call = "cuMemCreate",
                   .size_bytes = bytes,
                   .block_class = Class::Physical,
                   .device = properties->location.id,
                   .undo = undo_physical,
                   .holder = hold},
                  real, [&] { return Allocation{.address = *out, .size_bytes = bytes}; });
}

TIDEMARK_HOOK(cuMemRelease)(CUmemGenericAllocationHandle handle) {
  if (!ready()) return call(&Driver::cuMemRelease, handle);
  std::uint64_t ticks = 0;
  shield([&] { ticks = now(); });
  CUresult const result = call(&Driver::cuMemRelease, handle);
  if (result == CUDA_SUCCESS)
    shield([&] { change_holds(handle, ticks, [](Holds& h) { h.handles -= h.handles > 0 ? 1 : 0; }); });
  return result;
}

TIDEMARK_HOOK(cuMemRetainAllocationHandle)(CUmemGenericAllocationHandle* out, void* address) {
  CUresult const result = call(&Driver::cuMemRetainAllocationHandle, out, address);
  if (result == CUDA_SUCCESS && ready()) shield([&] { change_holds(*out, 0, [](Holds& h) { ++h.handles; }); });
  return result;
}

TIDEMARK_HOOK(cuMemImportFromShareableHandle)
(CUmemGenericAllocationHandle* out, void* from, CUmemAllocationHandleType type) {
  // The bytes are somebody else's, and only its mappings will tell how many.
  return allocate(
      {.call = "cuMemImportFromShareableHandle", .block_class = Class::Imported, .holder = hold},
      [&] { return call(&Driver::cuMemImportFromShareableHandle, out, from, type); },
      [&] { return Allocation{.address = *out}; });
}

TIDEMARK_HOOK(cuMemMap)
(CUdeviceptr at, size_t bytes, size_t offset, CUmemGenericAllocationHandle handle, unsigned long long flags) {
  CUresult const result = call(&Driver::cuMemMap, at, bytes, offset, handle, flags);
  if (result == CUDA_SUCCESS && ready()) {
    shield([&] {
      change_holds(handle, 0, [](Holds& h) { ++h.mappings; });
      recorder().allocated({.address = at, .size_bytes = bytes, .block_class = Class::Mapping, .parent = handle});
    });
  }
  return result;
}

TIDEMARK_HOOK(cuMemUnmap)(CUdeviceptr begin, size_t bytes) {
  if (!ready()) return call(&Driver::cuMemUnmap, begin, bytes);
  std::uint64_t ticks = 0;
  shield([&] { ticks = now(); });
  CUresult const result = call(&Driver::cuMemUnmap, begin, bytes);
  if (result != CUDA_SUCCESS) return result;
  shield([&] {
    for_each_mapping(begin, bytes, [&](std::uint64_t at, const Owned& mapping) {
      Leaving leaving = recorder().leave(Space::Mapping, at);
      leaving.ticks = ticks;
      recorder().left(leaving);
      change_holds(mapping.parent, ticks, [](Holds& h) { h.mappings -= h.mappings > 0 ? 1 : 0; });
    });
  });
  return result;
}
