// SPDX-License-Identifier: Apache-2.0
// What the threads of a deadlocked block wait for, in words.
#include <cstdio>

#include "softgpu/kernel/engine/engine.h"

namespace tidemark::softgpu {
namespace {

constexpr int kMaxGroupsNamed = 3;

// The lanes of `among` whose call is the same as the lowest one's.
LaneMask same_call(const Warp& warp, LaneMask among) {
  CallKey const key = warp.key[static_cast<unsigned>(__builtin_ctz(among))];
  LaneMask same = 0;
  for (LaneMask rest = among; rest; rest &= rest - 1)
    if (warp.key[static_cast<unsigned>(__builtin_ctz(rest))] == key) same |= rest & -rest;
  return same;
}

}  // namespace

std::string Engine::describe_deadlock() const {
  std::string text = "deadlock:";
  char part[160];
  if (arrived_) {
    std::snprintf(part, sizeof part, " %u threads wait at %s,", arrived_, at_grid_ ? "grid.sync()" : "__syncthreads");
    text += part;
  }
  int named = 0;
  for (unsigned w = 0; w < warp_count(); ++w)
    for (LaneMask rest = warps_[w].waiting; rest && named < kMaxGroupsNamed; ++named) {
      LaneMask const lanes = same_call(warps_[w], rest);
      CallKey const key = warps_[w].key[static_cast<unsigned>(__builtin_ctz(lanes))];
      std::snprintf(part, sizeof part, " lanes %08x of warp %u wait at %s with mask %08x,", lanes, w,
                    name_of(op_of(key)), mask_of(key));
      text += part;
      rest &= ~lanes;
    }
  std::snprintf(part, sizeof part, " and nobody can go on (%u of %u threads have not exited)", live_count_, threads_);
  text += part;
  return text;
}

}  // namespace tidemark::softgpu
