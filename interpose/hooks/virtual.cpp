// SPDX-License-Identifier: Apache-2.0
// Virtual memory management. Bytes are the physical blocks': on the account from their creation until the last handle
// is released and the last mapping gone. Reservations and mappings are addresses and cost nothing.
#include <new>

#include "base/reserved.h"
#include "interpose/hooks/hook.h"
#include "interpose/hooks/physical.h"
#include "interpose/serve/serve.h"

namespace tidemark::interpose {
namespace {

using trace::Class;
using trace::Space;

// The smallest unit that any device maps in.
constexpr std::uint64_t kMapStep = 64 << 10;

// Calls f(address, mapping) for every mapping in a range.
template <class F>
void for_each_mapping(CUdeviceptr begin, std::size_t bytes, F f) {
  constexpr std::size_t kFewSteps = 4096;
  if (bytes / kMapStep > kFewSteps)  // a mistaken size may be any number
    return recorder().registry().for_each(Space::Mapping, [&](std::uint64_t at, const Owned& mapping) {
      if (at - begin < bytes) f(at, mapping);
    });
  for (std::uint64_t at = begin; at - begin < bytes;) {
    auto const mapping = recorder().registry().find(Space::Mapping, at);
    if (mapping) f(at, *mapping);
    at += mapping && mapping->size_bytes != 0 ? mapping->size_bytes : kMapStep;
  }
}

// The mappings of a range on their way out, each with the physical block that may go with it. No destructor: it lives
// across the real call.
class Unmapping {
 public:
  void begin(CUdeviceptr from, std::size_t bytes) {
    std::size_t found = 0;
    for_each_mapping(from, bytes, [&](std::uint64_t, const Owned&) { ++found; });
    pairs_ = reinterpret_cast<Pair*>(Reserved::map((found + 1) * sizeof(Pair)).release());
    if (pairs_ == nullptr) return recorder().count_loss(trace::Loss::Failed);
    places_ = found + 1;
    // First the addresses, then the taking: neither may be done under the other's lock.
    for_each_mapping(from, bytes, [&](std::uint64_t at, const Owned&) {
      if (count_ < found) (new (&pairs_[count_++]) Pair)->mapping.address = at;
    });
    for (std::size_t i = 0; i < count_; ++i) {
      pairs_[i].mapping = recorder().leave(Space::Mapping, pairs_[i].mapping.address);
      if (pairs_[i].mapping.known) pairs_[i].physical = drop_hold(pairs_[i].mapping.block.parent, Holder::Mapping);
    }
  }
  void end(bool well) {
    for (std::size_t i = 0; i < count_; ++i) {
      if (well) {
        recorder().left(pairs_[i].mapping);
        let_go(pairs_[i].physical);
      } else {
        restore_hold(pairs_[i].physical);
        recorder().stayed(pairs_[i].mapping);
      }
    }
    Reserved const memory = Reserved::adopt(reinterpret_cast<std::byte*>(pairs_), places_ * sizeof(Pair));
  }

 private:
  struct Pair {
    Leaving mapping;
    Dropped physical;
  };
  Pair* pairs_ = nullptr;
  std::size_t places_ = 0, count_ = 0;
};

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

// What the allocator has reserved and mapped for itself is nothing that a program could take apart: to it these are
// blocks of cudaMalloc's, of which these functions know nothing.
TIDEMARK_HOOK(cuMemAddressFree)(CUdeviceptr begin, size_t bytes) {
  if (serve::is_ours(begin)) return CUDA_ERROR_INVALID_VALUE;
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
  Dropped dropped;
  shield([&] { dropped = drop_hold(handle, Holder::Handle); });
  CUresult const result = call(&Driver::cuMemRelease, handle);
  shield([&] { result == CUDA_SUCCESS ? let_go(dropped) : restore_hold(dropped); });
  return result;
}

TIDEMARK_HOOK(cuMemRetainAllocationHandle)(CUmemGenericAllocationHandle* out, void* address) {
  if (serve::is_ours(reinterpret_cast<std::uint64_t>(address))) return CUDA_ERROR_INVALID_VALUE;
  CUresult const result = call(&Driver::cuMemRetainAllocationHandle, out, address);
  if (result == CUDA_SUCCESS && ready()) shield([&] { add_hold(*out, Holder::Handle); });
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
      add_hold(handle, Holder::Mapping);
      recorder().allocated({.address = at, .size_bytes = bytes, .block_class = Class::Mapping, .parent = handle});
    });
  }
  return result;
}

TIDEMARK_HOOK(cuMemSetAccess)(CUdeviceptr begin, size_t bytes, const CUmemAccessDesc* access, size_t count) {
  if (serve::is_ours(begin)) return CUDA_ERROR_INVALID_VALUE;
  return call(&Driver::cuMemSetAccess, begin, bytes, access, count);
}

TIDEMARK_HOOK(cuMemUnmap)(CUdeviceptr begin, size_t bytes) {
  if (serve::is_ours(begin)) return CUDA_ERROR_INVALID_VALUE;
  if (!ready()) return call(&Driver::cuMemUnmap, begin, bytes);
  Unmapping mappings;
  shield([&] { mappings.begin(begin, bytes); });
  CUresult const result = call(&Driver::cuMemUnmap, begin, bytes);
  shield([&] { mappings.end(result == CUDA_SUCCESS); });
  return result;
}
