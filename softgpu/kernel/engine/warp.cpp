// SPDX-License-Identifier: Apache-2.0
#include "softgpu/kernel/engine/warp.h"

#include <algorithm>

namespace tidemark::softgpu {
namespace {

template <class Visit>
void for_each_lane(LaneMask lanes, Visit visit) {
  for (; lanes; lanes &= lanes - 1) visit(static_cast<unsigned>(__builtin_ctz(lanes)));
}

// The source lane as PTX defines it for shfl: five bits of the argument, segments of `width` lanes; a source beyond the
// segment is the lane itself, and only xor may look into an earlier segment.
unsigned shuffle_source(WarpOp op, int lane, ShuffleArgs args) {
  int const first = lane & ~(args.width - 1), last = first | (args.width - 1), arg = args.lane_arg & 31;
  int source = lane;
  switch (op) {
    case WarpOp::Shuffle: source = first | (arg & (args.width - 1)); break;
    case WarpOp::ShuffleUp: source = lane - arg < first ? lane : lane - arg; break;
    case WarpOp::ShuffleDown: source = lane + arg > last ? lane : lane + arg; break;
    default: source = (lane ^ arg) > last ? lane : lane ^ arg; break;
  }
  return static_cast<unsigned>(source);
}

void shuffle(Warp& warp, LaneMask group, WarpOp op, const std::uint64_t* outside) {
  for_each_lane(group, [&](unsigned lane) {
    unsigned const source = shuffle_source(op, static_cast<int>(lane), warp.args[lane]);
    bool const inside = group >> source & 1;
    warp.result[lane] = inside ? warp.value[source] : outside ? *outside : warp.value[lane];
  });
}

void match(Warp& warp, LaneMask group, bool all) {
  for_each_lane(group, [&](unsigned lane) {
    LaneMask same = 0;
    for_each_lane(group, [&](unsigned other) {
      if (warp.value[other] == warp.value[lane]) same |= LaneMask{1} << other;
    });
    warp.result[lane] = all && same != group ? 0 : same;
  });
}

std::uint32_t fold(WarpOp op, std::uint32_t a, std::uint32_t b) {
  auto const sa = static_cast<std::int32_t>(a), sb = static_cast<std::int32_t>(b);
  switch (op) {
    case WarpOp::ReduceAdd: return a + b;
    case WarpOp::ReduceMin: return std::min(a, b);
    case WarpOp::ReduceMax: return std::max(a, b);
    case WarpOp::ReduceMinSigned: return static_cast<std::uint32_t>(std::min(sa, sb));
    case WarpOp::ReduceMaxSigned: return static_cast<std::uint32_t>(std::max(sa, sb));
    case WarpOp::ReduceAnd: return a & b;
    case WarpOp::ReduceOr: return a | b;
    default: return a ^ b;
  }
}

void reduce(Warp& warp, LaneMask group, WarpOp op) {
  auto const value = [&](unsigned lane) { return static_cast<std::uint32_t>(warp.value[lane]); };
  unsigned const first = static_cast<unsigned>(__builtin_ctz(group));
  std::uint32_t total = value(first);
  for_each_lane(group & (group - 1), [&](unsigned lane) { total = fold(op, total, value(lane)); });
  for_each_lane(group, [&](unsigned lane) { warp.result[lane] = total; });
}

void ballot(Warp& warp, LaneMask group) {
  LaneMask votes = 0;
  for_each_lane(group, [&](unsigned lane) { votes |= LaneMask{warp.value[lane] != 0} << lane; });
  for_each_lane(group, [&](unsigned lane) { warp.result[lane] = votes; });
}

}  // namespace

void combine(Warp& warp, LaneMask group, WarpOp op, const std::uint64_t* outside) {
  switch (op) {
    case WarpOp::Sync: break;
    case WarpOp::Shuffle:
    case WarpOp::ShuffleUp:
    case WarpOp::ShuffleDown:
    case WarpOp::ShuffleXor: shuffle(warp, group, op, outside); break;
    case WarpOp::Ballot: ballot(warp, group); break;
    case WarpOp::MatchAny:
    case WarpOp::MatchAll: match(warp, group, op == WarpOp::MatchAll); break;
    default: reduce(warp, group, op); break;
  }
}

const char* name_of(WarpOp op) {
  constexpr const char* kNames[] = {"__syncwarp",        "__shfl_sync",       "__shfl_up_sync",    "__shfl_down_sync",
                                    "__shfl_xor_sync",   "__ballot_sync",     "__match_any_sync",  "__match_all_sync",
                                    "__reduce_add_sync", "__reduce_min_sync", "__reduce_max_sync", "__reduce_min_sync",
                                    "__reduce_max_sync", "__reduce_and_sync", "__reduce_or_sync",  "__reduce_xor_sync"};
  return kNames[static_cast<unsigned>(op)];
}

}  // namespace tidemark::softgpu
