// SPDX-License-Identifier: Apache-2.0
#include "interpose/record/pools.h"

#include <array>
#include <atomic>
#include <mutex>

#include "interpose/real/driver.h"

namespace tidemark::interpose {
namespace {

constinit Pools the_pools;

CUmemoryPool default_pool(CUdevice device) {
  CUmemoryPool pool = nullptr;
  return call(&Driver::cuDeviceGetDefaultMemPool, &pool, device) == CUDA_SUCCESS ? pool : nullptr;
}

std::uint64_t ask(CUmemoryPool pool, CUmemPool_attribute what) {
  cuuint64_t bytes = 0;
  if (pool == nullptr || call(&Driver::cuMemPoolGetAttribute, pool, what, static_cast<void*>(&bytes)) != CUDA_SUCCESS)
    return 0;
  return bytes;
}
std::uint64_t reserved_of(CUmemoryPool pool) {
  return ask(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
}
std::uint64_t idle_of(CUmemoryPool pool) {
  std::uint64_t const reserved = reserved_of(pool), used = ask(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT);
  return reserved > used ? reserved - used : 0;
}

int device_count() {
  static constinit std::atomic<int> known{0};
  int count = known.load(std::memory_order_relaxed);
  if (count == 0 && call(&Driver::cuDeviceGetCount, &count) == CUDA_SUCCESS) known.store(count);
  return count;
}

}  // namespace

Pools& pools() {
  return the_pools;
}

bool several_devices() {
  return device_count() > 1;
}

void Pools::made(std::uint64_t pool, std::uint8_t device) {
  std::scoped_lock const guard(lock_);
  if (std::uint8_t* const place = devices_.insert(pool)) *place = device;
}

void Pools::ended(std::uint64_t pool) {
  std::scoped_lock const guard(lock_);
  devices_.erase(pool);
}

int Pools::device_of(std::uint64_t pool) {
  if (!several_devices()) return -1;
  {
    std::scoped_lock const guard(lock_);
    if (std::uint8_t const* const known = devices_.find(pool)) return *known;
  }
  for (CUdevice device = 0; device < device_count(); ++device)
    if (default_pool(device) == reinterpret_cast<CUmemoryPool>(pool)) return device;
  return -1;
}

std::uint64_t Pools::reserved_bytes(std::uint8_t device) {
  return sum(device, reserved_of);
}
std::uint64_t Pools::idle_bytes(std::uint8_t device) {
  return sum(device, idle_of);
}

template <class F>
std::uint64_t Pools::sum(std::uint8_t device, F of_pool) {
  std::uint64_t bytes = of_pool(default_pool(CUdevice{device}));
  // Not asked under the lock, and some at a time: a driver may take its time.
  std::array<std::uint64_t, 64> some;
  for (std::size_t skipped = 0, count = some.size(); count == some.size(); skipped += count) {
    std::size_t at = 0;
    count = 0;
    {
      std::scoped_lock const guard(lock_);
      devices_.for_each([&](std::uint64_t pool, std::uint8_t its) {
        if (its == device && at++ >= skipped && count < some.size()) some[count++] = pool;
      });
    }
    for (std::size_t i = 0; i < count; ++i) bytes += of_pool(reinterpret_cast<CUmemoryPool>(some[i]));
  }
  return bytes;
}

}  // namespace tidemark::interpose
