// SPDX-License-Identifier: Apache-2.0
// The others. Each has the same members as TidemarkPeer; where an allocator leaves the order of streams to its user, a
// block that other streams have used is freed as a careful user does it: its own stream waits for theirs first.
#pragma once
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <memory>
#include <mutex>

#include "analysis/replay/replay.h"
#include "bench/allocator/device.h"
#include "bench/allocator/torch_table.h"
#if __has_include(<cub/util_allocator.cuh>)
#include <cub/util_allocator.cuh>
#define BENCH_CUB 1
#endif

namespace tidemark::bench {

template <class F>
void for_each_stream(std::uint32_t streams, F f) {
  for (unsigned s = 0; streams != 0; ++s, streams >>= 1)
    if ((streams & 1) != 0) f(s);
}

// What they have in common.
class DevicePeer {
 public:
  explicit DevicePeer(Device& device) : device_(device) {}
  void submit(std::uint64_t address, Caller who) { device_.submit(who.stream, address); }
  void put_before(unsigned earlier, unsigned later) { device_.put_before(earlier, later); }
  static bool give_back(std::uint64_t /*bytes*/) { return false; }  // nobody tells it
  std::uint64_t reserved_bytes() const { return device_.reserved_bytes(); }

 protected:
  void order(Caller owner, std::uint32_t others) {
    for_each_stream(others, [&](unsigned s) { device_.put_before(s, owner.stream); });
  }
  Device& device_;
};

// cuMemAlloc and cuMemFree; the latter waits for the device.
class DriverPeer : public DevicePeer {
 public:
  using DevicePeer::DevicePeer;
  std::uint64_t allocate(std::uint64_t bytes, Caller /*who*/) {
    CUdeviceptr address = 0;
    return cuMemAlloc(&address, bytes) == CUDA_SUCCESS ? address : 0;
  }
  void free(std::uint64_t address, Caller /*who*/) { check(cuMemFree(address), "cuMemFree"); }
  void free_used(std::uint64_t address, Caller who, std::uint32_t /*others*/) { free(address, who); }
};

// cuMemAllocAsync from the default pool, which keeps what is freed, as PyTorch's backend of that name sets it.
class PoolPeer : public DevicePeer {
 public:
  explicit PoolPeer(Device& device) : DevicePeer(device) {
    CUmemoryPool pool = nullptr;
    check(cuDeviceGetDefaultMemPool(&pool, 0), "cuDeviceGetDefaultMemPool");
    std::uint64_t most = ~0ull;
    check(cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &most), "cuMemPoolSetAttribute");
  }
  std::uint64_t allocate(std::uint64_t bytes, Caller who) {
    CUdeviceptr address = 0;
    return cuMemAllocAsync(&address, bytes, device_.stream(who.stream)) == CUDA_SUCCESS ? address : 0;
  }
  void free(std::uint64_t address, Caller who) {
    check(cuMemFreeAsync(address, device_.stream(who.stream)), "cuMemFreeAsync");
  }
  void free_used(std::uint64_t address, Caller who, std::uint32_t others) {
    order(who, others);
    free(address, who);
  }
};

#ifdef BENCH_CUB
// Bins of powers of two up to 1 GiB and no limit on what is kept. With its default bins (up to 2 MiB) large blocks are
// the driver's own, and with its default limit of 6 MiB two threads crash: a freed block is visible before its event
// is recorded.
class CubPeer : public DevicePeer {
 public:
  explicit CubPeer(Device& device) : DevicePeer(device) {}
  std::uint64_t allocate(std::uint64_t bytes, Caller who) {
    void* address = nullptr;
    cudaError_t const result = allocator_.DeviceAllocate(&address, bytes, device_.stream(who.stream));
    // It asks for the events of other streams' blocks and leaves "not ready" behind as the thread's last error, which
    // its next call would then report as its own.
    cudaGetLastError();
    return result == cudaSuccess ? reinterpret_cast<std::uint64_t>(address) : 0;
  }
  void free(std::uint64_t address, Caller /*who*/) {
    cudaError_t const result = allocator_.DeviceFree(reinterpret_cast<void*>(address));
    check(static_cast<CUresult>(result), "cub::CachingDeviceAllocator::DeviceFree");  // the numbers are the same
  }
  void free_used(std::uint64_t address, Caller who, std::uint32_t others) {
    order(who, others);
    free(address, who);
  }

 private:
  cub::CachingDeviceAllocator& allocator_ =
      *new cub::CachingDeviceAllocator(2, 9, 30, cub::CachingDeviceAllocator::INVALID_SIZE, true);
};
#endif

// PyTorch's own, from its library. What is set is for the environment to say: PYTORCH_ALLOC_CONF.
class TorchPeer : public DevicePeer {
 public:
  TorchPeer(Device& device, const TorchTable& torch, bool history) : DevicePeer(device), torch_(torch) {
    if (torch_.start(history ? 1 : 0) == 0) std::exit(1);
  }
  std::uint64_t allocate(std::uint64_t bytes, Caller who) {
    return reinterpret_cast<std::uint64_t>(torch_.allocate(bytes, device_.stream(who.stream)));
  }
  void free(std::uint64_t address, Caller /*who*/) { torch_.free(reinterpret_cast<void*>(address)); }
  void free_used(std::uint64_t address, Caller who, std::uint32_t others) {
    for_each_stream(others,
                    [&](unsigned s) { torch_.record_stream(reinterpret_cast<void*>(address), device_.stream(s)); });
    free(address, who);
  }

 private:
  TorchTable torch_;
};

// PyTorch's rules where there is no PyTorch: right about what is reserved on one stream, silent about speed.
class RulesPeer : public DevicePeer {
 public:
  RulesPeer(Device& device, std::unique_ptr<analysis::Rules> rules) : DevicePeer(device), rules_(std::move(rules)) {}
  std::uint64_t allocate(std::uint64_t bytes, Caller /*who*/) {
    std::lock_guard const guard(mutex_);
    return rules_->allocate(bytes);
  }
  void free(std::uint64_t address, Caller /*who*/) {
    std::lock_guard const guard(mutex_);
    rules_->free(address);
  }
  void free_used(std::uint64_t address, Caller who, std::uint32_t /*others*/) { free(address, who); }
  std::uint64_t reserved_bytes() const { return rules_->reserved_bytes(); }
  std::uint64_t driver_calls() const { return rules_->driver_calls(); }

 private:
  std::unique_ptr<analysis::Rules> rules_;
  std::mutex mutex_;
};

// Ordinary memory: the limit, not a peer. Opened, not linked: linked, it would replace the malloc of everything here.
class MimallocPeer : public DevicePeer {
 public:
  explicit MimallocPeer(Device& device) : DevicePeer(device) {
    for (const char* const name : {"libmimalloc.so.2", "libmimalloc.so.3"}) {
      void* const library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
      if (library == nullptr) continue;
      take_ = reinterpret_cast<void* (*)(std::size_t)>(dlsym(library, "mi_malloc"));
      drop_ = reinterpret_cast<void (*)(void*)>(dlsym(library, "mi_free"));
      return;
    }
  }
  explicit operator bool() const { return take_ != nullptr && drop_ != nullptr; }
  std::uint64_t allocate(std::uint64_t bytes, Caller /*who*/) { return reinterpret_cast<std::uint64_t>(take_(bytes)); }
  void free(std::uint64_t address, Caller /*who*/) { drop_(reinterpret_cast<void*>(address)); }
  void free_used(std::uint64_t address, Caller who, std::uint32_t /*others*/) { free(address, who); }
  void submit(std::uint64_t /*address*/, Caller /*who*/) {}

 private:
  void* (*take_)(std::size_t) = nullptr;
  void (*drop_)(void*) = nullptr;
};

}  // namespace tidemark::bench
