// SPDX-License-Identifier: Apache-2.0
// A lock for short critical sections in places where a mutex would be too much: constant-initialised, never destroyed,
// no call into the system but a yield when its owner has been taken off its core.
#pragma once
#include <sched.h>

#include <atomic>

namespace tidemark {

class SpinLock {
 public:
  constexpr SpinLock() = default;
  void lock() {
    for (int spins = 0; held_.exchange(true, std::memory_order_acquire);) {
      while (held_.load(std::memory_order_relaxed))
        if (++spins < 64) {
          __builtin_ia32_pause();
        } else {
          spins = 0;
          sched_yield();
        }
    }
  }
  bool try_lock() { return !held_.exchange(true, std::memory_order_acquire); }
  void unlock() { held_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> held_{false};
};

}  // namespace tidemark
