// SPDX-License-Identifier: Apache-2.0
// Atomic functions, atomic across the OS threads that run the blocks of a launch. CUDA's are relaxed; these are
// sequentially consistent, which costs nothing on x86-64, so a missing __threadfence does not show here.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <vector_types.h>

#include <concepts>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "softgpu/kernel/engine/runtime.h"

namespace tidemark::softgpu {

// The pointer's type decides, as it does among CUDA's overloads; the value converts to it. A type outside the list,
// unsigned long for one, is refused here because nvcc refuses it.
template <class T, class... Allowed>
concept OneOf = (std::same_as<T, Allowed> || ...);
template <class T>
concept AtomicWord = OneOf<T, int, unsigned, unsigned long long>;
template <class T>
concept AtomicFloat = OneOf<T, float, double, __half, __half2, __nv_bfloat16, __nv_bfloat162>;

template <std::size_t Bytes>
using Bits =
    std::conditional_t<Bytes == 2, std::uint16_t, std::conditional_t<Bytes == 4, std::uint32_t, std::uint64_t>>;

// Replaces *at by change(*at); returns the old value.
template <class T, class Change>
inline T atomic_update(T* at, Change change) {
  using Word = Bits<sizeof(T)>;
  auto* const word = reinterpret_cast<Word*>(at);
  Word old = __atomic_load_n(word, __ATOMIC_RELAXED);
  for (;;) {
    T value;
    std::memcpy(static_cast<void*>(&value), &old, sizeof value);
    T const changed = change(value);
    Word next;
    std::memcpy(&next, &changed, sizeof next);
    if (__atomic_compare_exchange_n(word, &old, next, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) return value;
  }
}

template <class T>
using Same = std::type_identity_t<T>;

}  // namespace tidemark::softgpu

template <class T>
requires tidemark::softgpu::AtomicWord<T>
inline T atomicAdd(T* at, tidemark::softgpu::Same<T> value) {
  return __atomic_fetch_add(at, value, __ATOMIC_SEQ_CST);
}
template <class T>
requires tidemark::softgpu::AtomicFloat<T>
inline T atomicAdd(T* at, tidemark::softgpu::Same<T> value) {
  return tidemark::softgpu::atomic_update(at, [value](T old) { return static_cast<T>(old + value); });
}
// Atomic per component, as in CUDA.
inline float2 atomicAdd(float2* at, float2 value) {
  return {atomicAdd(&at->x, value.x), atomicAdd(&at->y, value.y)};
}
inline float4 atomicAdd(float4* at, float4 value) {
  return {atomicAdd(&at->x, value.x), atomicAdd(&at->y, value.y), atomicAdd(&at->z, value.z),
          atomicAdd(&at->w, value.w)};
}

template <class T>
requires tidemark::softgpu::OneOf<T, int, unsigned>
inline T atomicSub(T* at, tidemark::softgpu::Same<T> value) {
  return __atomic_fetch_sub(at, value, __ATOMIC_SEQ_CST);
}
template <class T>
requires tidemark::softgpu::AtomicWord<T>
inline T atomicExch(T* at, tidemark::softgpu::Same<T> value) {
  return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);
}
inline float atomicExch(float* at, float value) {
  return tidemark::softgpu::atomic_update(at, [value](float) { return value; });
}

template <class T>
requires tidemark::softgpu::OneOf<T, int, unsigned, unsigned long long, long long>
inline T atomicMin(T* at, tidemark::softgpu::Same<T> value) {
  return tidemark::softgpu::atomic_update(at, [value](T old) { return value < old ? value : old; });
}
template <class T>
requires tidemark::softgpu::OneOf<T, int, unsigned, unsigned long long, long long>
inline T atomicMax(T* at, tidemark::softgpu::Same<T> value) {
  return tidemark::softgpu::atomic_update(at, [value](T old) { return old < value ? value : old; });
}
inline unsigned atomicInc(unsigned* at, unsigned limit) {
  return tidemark::softgpu::atomic_update(at, [limit](unsigned old) { return old >= limit ? 0u : old + 1; });
}
inline unsigned atomicDec(unsigned* at, unsigned limit) {
  return tidemark::softgpu::atomic_update(at,
                                          [limit](unsigned old) { return old == 0 || old > limit ? limit : old - 1; });
}

// A failed exchange is most likely a loop that waits for another thread, and on a fiber that thread would never run.
template <class T>
requires tidemark::softgpu::OneOf<T, int, unsigned, unsigned long long, unsigned short>
inline T atomicCAS(T* at, tidemark::softgpu::Same<T> expected, tidemark::softgpu::Same<T> value) {
  T old = expected;
  if (!__atomic_compare_exchange_n(at, &old, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
    tidemark::softgpu::yield_thread();
  return old;
}

template <class T>
requires tidemark::softgpu::AtomicWord<T>
inline T atomicAnd(T* at, tidemark::softgpu::Same<T> value) {
  return __atomic_fetch_and(at, value, __ATOMIC_SEQ_CST);
}
template <class T>
requires tidemark::softgpu::AtomicWord<T>
inline T atomicOr(T* at, tidemark::softgpu::Same<T> value) {
  return __atomic_fetch_or(at, value, __ATOMIC_SEQ_CST);
}
template <class T>
requires tidemark::softgpu::AtomicWord<T>
inline T atomicXor(T* at, tidemark::softgpu::Same<T> value) {
  return __atomic_fetch_xor(at, value, __ATOMIC_SEQ_CST);
}

// Block and system scope: the same, since all of them are already atomic for the whole process.
#define SOFTGPU_SCOPED_ATOMIC(name)             \
  template <class T, class... A>                \
  inline auto name##_block(T* at, A... args) {  \
    return name(at, args...);                   \
  }                                             \
  template <class T, class... A>                \
  inline auto name##_system(T* at, A... args) { \
    return name(at, args...);                   \
  }
SOFTGPU_SCOPED_ATOMIC(atomicAdd)
SOFTGPU_SCOPED_ATOMIC(atomicSub)
SOFTGPU_SCOPED_ATOMIC(atomicExch)
SOFTGPU_SCOPED_ATOMIC(atomicMin)
SOFTGPU_SCOPED_ATOMIC(atomicMax)
SOFTGPU_SCOPED_ATOMIC(atomicInc)
SOFTGPU_SCOPED_ATOMIC(atomicDec)
SOFTGPU_SCOPED_ATOMIC(atomicCAS)
SOFTGPU_SCOPED_ATOMIC(atomicAnd)
SOFTGPU_SCOPED_ATOMIC(atomicOr)
SOFTGPU_SCOPED_ATOMIC(atomicXor)
#undef SOFTGPU_SCOPED_ATOMIC
