// SPDX-License-Identifier: Apache-2.0
// A warp's calls: what each lane asks for, and the exchange of values when a group is complete.
#pragma once
#include <array>
#include <cstdint>

#include "softgpu/kernel/engine/runtime.h"

namespace tidemark::softgpu {

inline constexpr unsigned kWarpLanes = 32;
using LaneMask = std::uint32_t;

// Operation and mask in one word: lanes make the same call if and only if these are equal.
enum class CallKey : std::uint64_t {};
constexpr CallKey call_key(WarpOp op, LaneMask mask) {
  return CallKey{static_cast<std::uint64_t>(op) << 32 | mask};
}
constexpr LaneMask mask_of(CallKey key) {
  return static_cast<LaneMask>(key);
}
constexpr WarpOp op_of(CallKey key) {
  return static_cast<WarpOp>(static_cast<std::uint64_t>(key) >> 32);
}

struct Warp {
  LaneMask waiting = 0;  // lanes in a call
  std::array<CallKey, kWarpLanes> key;
  std::array<std::uint64_t, kWarpLanes> value;
  std::array<ShuffleArgs, kWarpLanes> args;
  std::array<std::uint64_t, kWarpLanes> result;

  LaneMask at_active = 0;  // lanes in __activemask, each with the place in the source
  std::array<const void*, kWarpLanes> active_place;

  // The lanes that `lane`'s call waits for, if they are all there with the same call; otherwise 0.
  LaneMask complete_group(unsigned lane, LaneMask live) const {
    LaneMask const group = mask_of(key[lane]) & live;
    if ((waiting & group) != group) return 0;
    for (LaneMask rest = group; rest; rest &= rest - 1)
      if (key[static_cast<unsigned>(__builtin_ctz(rest))] != key[lane]) return 0;
    return group;
  }
};

// Fills the results of a complete group. A shuffle from a lane outside the group, undefined in CUDA, gives `outside`
// or, without one, the lane's own value.
void combine(Warp& warp, LaneMask group, WarpOp op, const std::uint64_t* outside);
const char* name_of(WarpOp op);

}  // namespace tidemark::softgpu
