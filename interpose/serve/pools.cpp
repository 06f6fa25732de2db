// SPDX-License-Identifier: Apache-2.0
#include "interpose/serve/pools.h"

#include <algorithm>
#include <array>
#include <atomic>

#include "interpose/process/shield.h"
#include "interpose/record/devices.h"
#include "interpose/serve/cache.h"

namespace tidemark::interpose::serve {
namespace {

constinit std::array<std::atomic<bool>, Devices::kMost> special{};    // the default pool does what only the driver can
constinit std::array<std::atomic<bool>, Devices::kMost> elsewhere{};  // another pool is the device's current one

std::size_t at(CUdevice device) {
  return static_cast<std::size_t>(device) % Devices::kMost;
}

// The device whose default pool it is; -1: none.
CUdevice device_of(CUmemoryPool pool) {
  int count = 0;
  call(&Driver::cuDeviceGetCount, &count);
  for (CUdevice device = 0; device < count; ++device) {
    CUmemoryPool standard = nullptr;
    if (call(&Driver::cuDeviceGetDefaultMemPool, &standard, device) == CUDA_SUCCESS && standard == pool) return device;
  }
  return -1;
}

template <class F>
void for_each_cache_of(CUmemoryPool pool, F f) {
  CUdevice const device = device_of(pool);
  if (device < 0) return;
  for_each_cache([&](Cache& cache) {
    if (cache.device == device) f(cache);
  });
}

}  // namespace

bool default_pool_is_served() {
  Place const place = current_place();
  return place.context != 0 && !special[place.device].load(std::memory_order_relaxed) &&
         !elsewhere[place.device].load(std::memory_order_relaxed);
}

void pools_changed() {
  int count = 0;
  call(&Driver::cuDeviceGetCount, &count);
  for (CUdevice device = 0; device < count; ++device) {
    CUmemoryPool current = nullptr, standard = nullptr;
    call(&Driver::cuDeviceGetMemPool, &current, device);
    call(&Driver::cuDeviceGetDefaultMemPool, &standard, device);
    elsewhere[at(device)].store(current != standard, std::memory_order_relaxed);
  }
}

void pool_is_special(CUmemoryPool pool) {
  if (CUdevice const device = device_of(pool); device >= 0) special[at(device)].store(true, std::memory_order_relaxed);
}

void trim_pool(CUmemoryPool pool, std::size_t keep_bytes) {
  if (!has_caches()) return;
  shield([&] {
    for_each_cache_of(pool, [&](Cache& cache) {
      std::uint64_t const cached = cache.allocator->arena().returnable_bytes();
      std::uint64_t const live = cache.ordered_bytes.load(std::memory_order_relaxed);
      std::uint64_t const keep = keep_bytes > live ? keep_bytes - live : 0;
      if (cached > keep) cache.allocator->give_back(cached - keep);
    });
  });
}

namespace {

// A pool keeps what is free in it up to its threshold; of what is cached, so much is told to be kept.
std::uint64_t kept_bytes(CUmemoryPool pool, Cache& cache, std::uint64_t live_bytes) {
  cuuint64_t threshold = 0;
  call(&Driver::cuMemPoolGetAttribute, pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, static_cast<void*>(&threshold));
  return threshold <= live_bytes ? 0 : std::min(threshold - live_bytes, cache.allocator->arena().returnable_bytes());
}

}  // namespace

void correct_attribute(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  auto& number = *static_cast<cuuint64_t*>(value);
  for_each_cache_of(pool, [&](Cache& cache) {
    switch (attribute) {
      case CU_MEMPOOL_ATTR_USED_MEM_CURRENT: number += cache.ordered_bytes.load(std::memory_order_relaxed); break;
      case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT: {
        std::uint64_t const live = cache.ordered_bytes.load(std::memory_order_relaxed);
        number += live + kept_bytes(pool, cache, live);
        break;
      }
      case CU_MEMPOOL_ATTR_USED_MEM_HIGH: number += cache.most_ordered_bytes.load(std::memory_order_relaxed); break;
      case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
        number += cache.most_reserved_bytes.load(std::memory_order_relaxed);
        break;
      default: break;
    }
  });
}

void attribute_set(CUmemoryPool pool, CUmemPool_attribute attribute, const void* value) {
  bool const is_way = attribute == CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES ||
                      attribute == CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC ||
                      attribute == CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES;
  if (is_way && *static_cast<const int*>(value) == 0) return pool_is_special(pool);
  bool const used = attribute == CU_MEMPOOL_ATTR_USED_MEM_HIGH;
  if (!used && attribute != CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH) return;
  for_each_cache_of(pool, [&](Cache& cache) {
    auto& most = used ? cache.most_ordered_bytes : cache.most_reserved_bytes;
    most.store(cache.ordered_bytes.load(std::memory_order_relaxed), std::memory_order_relaxed);
  });
}

}  // namespace tidemark::interpose::serve
