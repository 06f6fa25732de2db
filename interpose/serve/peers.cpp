// SPDX-License-Identifier: Apache-2.0
#include "interpose/serve/peers.h"

#include <mutex>

#include "base/address_map.h"
#include "base/spin_lock.h"
#include "interpose/record/devices.h"
#include "interpose/serve/cache.h"

namespace tidemark::interpose::serve {
namespace {

// Devices that may use a context's memory, as bits.
struct Readers {
  std::uint32_t devices = 0;
};
constinit SpinLock lock;
constinit AddressMap<Readers> readers_of;

void set(Cache& cache, CUdevice device, bool enabled) {
  if (enabled)
    cache.upstream.add_reader(device);
  else
    cache.upstream.remove_reader(device);
}

}  // namespace

void peer_access_changed(CUcontext owner, bool enabled) {
  auto const context = reinterpret_cast<std::uint64_t>(owner);
  std::uint8_t const device = current_place().device;
  if (device >= 32) return;
  {
    std::scoped_lock const guard(lock);
    Readers* const readers = readers_of.insert(context);
    if (readers == nullptr) return;
    readers->devices = enabled ? readers->devices | 1u << device : readers->devices & ~(1u << device);
  }
  for_each_cache([&](Cache& cache) {
    if (cache.context.load(std::memory_order_acquire) != context) return;
    set(cache, device, enabled);
    cache.allocator->renew_access();
  });
}

void let_peers_in(Cache& cache) {
  std::uint32_t devices = 0;
  {
    std::scoped_lock const guard(lock);
    if (Readers const* const readers = readers_of.find(cache.context)) devices = readers->devices;
  }
  for (CUdevice device = 0; device < 32; ++device) set(cache, device, (devices >> device & 1) != 0);
}

void forget_peers_of(std::uint64_t context) {
  std::scoped_lock const guard(lock);
  readers_of.erase(context);
}

}  // namespace tidemark::interpose::serve
