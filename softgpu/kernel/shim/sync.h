// SPDX-License-Identifier: Apache-2.0
// Barriers and warp operations.
#pragma once
#include <cstring>
#include <type_traits>

#include "softgpu/kernel/engine/runtime.h"

namespace tidemark::softgpu {

// Other threads run during these calls: no value of memory may be kept across them, not even if a whole-program
// optimiser believes that the call itself writes nothing.
inline void memory_fence() {
  asm volatile("" ::: "memory");
}

inline void wait_in_block(bool vote) {
  memory_fence();
  block_barrier(vote);
  memory_fence();
}
inline BarrierVotes vote_in_block(bool vote) {
  wait_in_block(vote);
  return barrier_votes();
}
inline std::uint64_t call_in_warp(WarpOp op, unsigned mask, std::uint64_t value = 0, ShuffleArgs args = {}) {
  memory_fence();
  std::uint64_t const result = warp_call(op, mask, value, args);
  memory_fence();
  return result;
}

template <class T>
inline std::uint64_t to_bits(T value) {
  static_assert(sizeof(T) <= 8, "warp operations exchange values of up to 8 bytes");
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}
template <class T>
inline T from_bits(std::uint64_t bits) {
  T value;
  std::memcpy(static_cast<void*>(&value), &bits, sizeof value);
  return value;
}

template <class T>
inline T shuffle(WarpOp op, unsigned mask, T value, int lane_arg, int width) {
  return from_bits<T>(call_in_warp(op, mask, to_bits(value), {.lane_arg = lane_arg, .width = width}));
}
inline unsigned ballot(unsigned mask, bool vote) {
  return static_cast<unsigned>(call_in_warp(WarpOp::Ballot, mask, vote));
}
template <class T>
inline T reduce(WarpOp op, unsigned mask, T value) {
  return from_bits<T>(call_in_warp(op, mask, to_bits(value)));
}
template <class T>
inline unsigned match(WarpOp op, unsigned mask, T value) {
  return static_cast<unsigned>(call_in_warp(op, mask, to_bits(value)));
}

}  // namespace tidemark::softgpu

inline void __syncthreads() {
  tidemark::softgpu::wait_in_block(false);
}
inline int __syncthreads_count(int predicate) {
  return static_cast<int>(tidemark::softgpu::vote_in_block(predicate != 0).in_favour);
}
inline int __syncthreads_and(int predicate) {
  auto const votes = tidemark::softgpu::vote_in_block(predicate != 0);
  return votes.in_favour == votes.arrived;
}
inline int __syncthreads_or(int predicate) {
  return tidemark::softgpu::vote_in_block(predicate != 0).in_favour != 0;
}

inline void __syncwarp(unsigned mask = 0xffffffffu) {
  tidemark::softgpu::call_in_warp(tidemark::softgpu::WarpOp::Sync, mask);
}

template <class T>
inline T __shfl_sync(unsigned mask, T value, int source_lane, int width = 32) {
  return tidemark::softgpu::shuffle(tidemark::softgpu::WarpOp::Shuffle, mask, value, source_lane, width);
}
template <class T>
inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  return tidemark::softgpu::shuffle(tidemark::softgpu::WarpOp::ShuffleUp, mask, value, static_cast<int>(delta), width);
}
template <class T>
inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  return tidemark::softgpu::shuffle(tidemark::softgpu::WarpOp::ShuffleDown, mask, value, static_cast<int>(delta),
                                    width);
}
template <class T>
inline T __shfl_xor_sync(unsigned mask, T value, int lane_mask, int width = 32) {
  return tidemark::softgpu::shuffle(tidemark::softgpu::WarpOp::ShuffleXor, mask, value, lane_mask, width);
}

inline unsigned __ballot_sync(unsigned mask, int predicate) {
  return tidemark::softgpu::ballot(mask, predicate != 0);
}
inline int __any_sync(unsigned mask, int predicate) {
  return tidemark::softgpu::ballot(mask, predicate != 0) != 0;
}
inline int __all_sync(unsigned mask, int predicate) {
  return tidemark::softgpu::ballot(mask, predicate == 0) == 0;
}
// A macro, so that each place in the source has an address of its own. (The caller's address will not do: the compiler
// joins the ends of branches that look alike.)
#define __activemask()                                         \
  (::tidemark::softgpu::warp_active_mask([]() -> const void* { \
    static char place;                                         \
    return &place;                                             \
  }()))

template <class T>
inline unsigned __match_any_sync(unsigned mask, T value) {
  return tidemark::softgpu::match(tidemark::softgpu::WarpOp::MatchAny, mask, value);
}
template <class T>
inline unsigned __match_all_sync(unsigned mask, T value, int* all_same) {
  unsigned const same = tidemark::softgpu::match(tidemark::softgpu::WarpOp::MatchAll, mask, value);
  *all_same = same != 0;
  return same;
}

inline unsigned __reduce_add_sync(unsigned mask, unsigned value) {
  return tidemark::softgpu::reduce(tidemark::softgpu::WarpOp::ReduceAdd, mask, value);
}
inline int __reduce_add_sync(unsigned mask, int value) {
  return tidemark::softgpu::reduce(tidemark::softgpu::WarpOp::ReduceAdd, mask, value);
}
inline unsigned __reduce_min_sync(unsigned mask, unsigned value) {
  return tidemark::softgpu::reduce(tidemark::softgpu::WarpOp::ReduceMin, mask, value);
}
inline int __reduce_min_sync(unsigned mask, int value) {
  return tidemark::softgpu::reduce(tidemark::softgpu::WarpOp::ReduceMinSigned, mask, value);
}
inline unsigned __reduce_max_sync(unsigned mask, unsigned value) {
  return tidemark::softgpu::reduce(tidemark::softgpu::WarpOp::ReduceMax, mask, value);
}
inline int __reduce_max_sync(unsigned mask, int value) {
  return tidemark::softgpu::reduce(tidemark::softgpu::WarpOp::ReduceMaxSigned, mask, value);
}
inline unsigned __reduce_and_sync(unsigned mask, unsigned value) {
  return tidemark::softgpu::reduce(tidemark::softgpu::WarpOp::ReduceAnd, mask, value);
}
inline unsigned __reduce_or_sync(unsigned mask, unsigned value) {
  return tidemark::softgpu::reduce(tidemark::softgpu::WarpOp::ReduceOr, mask, value);
}
inline unsigned __reduce_xor_sync(unsigned mask, unsigned value) {
  return tidemark::softgpu::reduce(tidemark::softgpu::WarpOp::ReduceXor, mask, value);
}
