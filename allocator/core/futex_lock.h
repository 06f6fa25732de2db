// SPDX-License-Identifier: Apache-2.0
// A lock that spins for as long as its critical sections last and then sleeps. Constant-initialised, never destroyed;
// 0: free, 1: held, 2: held and somebody sleeps.
#pragma once
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace tidemark::allocator {

class FutexLock {
 public:
  constexpr FutexLock() = default;
  void lock() {
    std::uint32_t expected = 0;
    if (state_.compare_exchange_strong(expected, 1, std::memory_order_acquire)) return;
    for (int spins = 0; spins < 100; ++spins) {
      __builtin_ia32_pause();
      expected = 0;
      if (state_.load(std::memory_order_relaxed) == 0 &&
          state_.compare_exchange_strong(expected, 1, std::memory_order_acquire))
        return;
    }
    while (state_.exchange(2, std::memory_order_acquire) != 0) futex(FUTEX_WAIT_PRIVATE, 2);
  }
  void unlock() {
    if (state_.exchange(0, std::memory_order_release) == 2) futex(FUTEX_WAKE_PRIVATE, 1);
  }

 private:
  void futex(int operation, std::uint32_t value) {
    ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&state_), operation, value, nullptr, nullptr, 0);
  }
  std::atomic<std::uint32_t> state_{0};
};

}  // namespace tidemark::allocator
