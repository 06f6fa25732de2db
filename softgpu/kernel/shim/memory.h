// SPDX-License-Identifier: Apache-2.0
// Fences, loads and stores with cache hints, clocks, and the ways a kernel ends early.
#pragma once
#include <chrono>
#include <type_traits>

#include "softgpu/kernel/engine/runtime.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace tidemark::softgpu {

inline void thread_fence() {
#if defined(__SANITIZE_THREAD__)
  // ThreadSanitizer does not see fences; an exchange orders the same things.
  static int order;
  __atomic_fetch_add(&order, 1, __ATOMIC_SEQ_CST);
#else
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

}  // namespace tidemark::softgpu

inline void __threadfence() {
  tidemark::softgpu::thread_fence();
}
inline void __threadfence_system() {
  tidemark::softgpu::thread_fence();
}
// Within a block there is one OS thread: the compiler's order is enough.
inline void __threadfence_block() {
  asm volatile("" ::: "memory");
}

#define SOFTGPU_LOAD(name)     \
  template <class T>           \
  inline T name(const T* at) { \
    return *at;                \
  }
#define SOFTGPU_STORE(name)                                \
  template <class T>                                       \
  inline void name(T* at, std::type_identity_t<T> value) { \
    *at = value;                                           \
  }
SOFTGPU_LOAD(__ldg)
SOFTGPU_LOAD(__ldcg)
SOFTGPU_LOAD(__ldca)
SOFTGPU_LOAD(__ldcs)
SOFTGPU_LOAD(__ldlu)
SOFTGPU_LOAD(__ldcv)
SOFTGPU_STORE(__stwb)
SOFTGPU_STORE(__stcg)
SOFTGPU_STORE(__stcs)
SOFTGPU_STORE(__stwt)
#undef SOFTGPU_LOAD
#undef SOFTGPU_STORE

inline long long clock64() {
#if defined(__x86_64__)
  return static_cast<long long>(__rdtsc());
#else
  return std::chrono::steady_clock::now().time_since_epoch().count();
#endif
}
// Time is not what a waiting thread needs here, but that the others run.
inline void __nanosleep(unsigned) {
  tidemark::softgpu::yield_thread();
}

[[noreturn]] inline void __trap() {
  tidemark::softgpu::trap(SOFTGPU_KERNEL_TRAP, "__trap()");
}
