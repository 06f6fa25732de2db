// SPDX-License-Identifier: Apache-2.0
// Functions of the CUDA runtimes in this process. Two major versions may be here at once, and several names mean other
// signatures in each: a caller's symbol version tells which one it means.
#pragma once
#include <atomic>

#include "interpose/real/library.h"

#define __CUDART_API_VERSION_INTERNAL
#include <cuda_runtime_api.h>
#undef __CUDART_API_VERSION_INTERNAL

namespace tidemark::interpose {

// One function in both runtimes, for a hook to call through.
class RuntimeFunction {
 public:
  explicit constexpr RuntimeFunction(const char* name) : name_(name) {}
  const char* name() const { return name_; }
  // Null when that runtime is not here, nor anybody who stands in for it.
  template <class F>
  F get(int major) {
    std::atomic<void*>& found = found_[major - 12];
    void* address = found.load(std::memory_order_acquire);
    if (address == nullptr) {
      address = library_symbol(runtime(major), name_);
      if (address == nullptr) return reinterpret_cast<F>(behind_us(name_));
      found.store(address, std::memory_order_release);
    }
    return reinterpret_cast<F>(address);
  }

 private:
  const char* name_;
  std::atomic<void*> found_[2] = {};
};

}  // namespace tidemark::interpose
