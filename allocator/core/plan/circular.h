// SPDX-License-Identifier: Apache-2.0
// The layout of a repeating iteration. Its blocks are allocated again in every iteration, in the same order, and freed
// at the same point, which may lie in a later iteration (a gradient that lives until the next backward pass). Where a
// lifetime is longer than the period, a block meets its own successor: then several periods are laid out side by side
// and iterations take turns, so that a layout of k periods repeats after k of them. Two suffice for every recorded
// training.
//
//   persistent   outlives every number of periods that is laid out: not planned, it stays where it is
//   carry-over   alive at the cut, where the iteration is taken to begin
//   transient    begins and ends between two cuts
// The cut is where the fewest bytes are alive: to switch to the plan there leaves the least outside of it.
#pragma once
#include <vector>

#include "allocator/core/plan/planner.h"
#include "allocator/core/plan/strips.h"

namespace tidemark::plan {

// The i-th allocation of the iteration happens at clock `begin` < period and its free at `end` > begin, where
// end - begin > period means a later iteration. Never freed: kNever.
inline constexpr std::uint64_t kNever = UINT64_MAX;
struct Block {
  std::uint64_t begin = 0;
  std::uint64_t end = kNever;
  std::uint64_t size_bytes = 0;
};

enum class Role : std::uint8_t { Persistent, CarryOver, Transient };

struct Iteration {
  std::vector<Block> blocks;  // in the order of their allocation
  std::uint64_t period = 0;   // of the clock: an event counter will do
  std::uint64_t alignment = 512;
};

inline constexpr unsigned kMostPeriods = 4;

struct CircularPlan {
  unsigned periods = 1;     // iterations that are laid out side by side
  std::vector<Role> roles;  // per block
  std::vector<std::uint64_t>
      offsets;                // of block i in iteration t: offsets[(t % periods) * blocks + i]; persistent: unused
  std::uint64_t height = 0;   // bytes of the arena
  std::uint64_t bound = 0;    // largest sum alive at once, of what lies in the arena
  Strip lead;                 // the arena begins in it, where it is free; empty: anywhere
  std::vector<Strip> strips;  // those beside the arena in which blocks lie
  std::uint64_t persistent_bytes = 0;  // rounded, outside of the plan
  std::uint64_t cut = 0;               // clock of the fewest bytes alive
  std::uint64_t cut_bytes = 0;         // so many, rounded
  std::size_t cut_block = 0;           // the first allocation at or after the cut
  bool least = false;
  double seconds = 0;
};

// Blocks may lie in strips as well as in the arena, at offsets that say so.
Result<CircularPlan> plan_circular(const Iteration& iteration, const Options& options,
                                   std::span<const Strip> strips = {});

}  // namespace tidemark::plan
