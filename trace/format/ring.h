// SPDX-License-Identifier: Apache-2.0
// The records of a ring (docs/decisions/0010-ring.md): a trace that is kept at a size. Chunks of events are used again;
// before that their events become sums, and what is alive is written down from time to time, so that whoever reads the
// rest knows what it begins with.
//
// Sums of all allocations = rows of Sum + records of Alloc, AllocLong and Relabel that are still there. So they say
// nothing of frees: what was freed is what was allocated less what is alive. Steps of records may be kNoStep.
#pragma once
#include "trace/format/record.h"

namespace tidemark::trace {

// A block that is alive, with all that is known of it. In a checkpoint; in a chunk of events, behind a TimeBase, it
// says that a free failed: the block is there after all, though a checkpoint meanwhile may have missed it.
struct Live {
  static constexpr Tag kTag = Tag::Live;
  std::uint64_t tag : 8 = static_cast<std::uint64_t>(kTag), slots : 8 = 4, block_class : 4 = 0, generation : 8 = 0,
                      phase : 4 = 0, kind : 8 = 0, device : 8 = 0, reserved : 16 = 0;
  std::uint64_t address = 0;
  std::uint64_t size_bytes = 0;
  std::uint64_t ticks = 0;  // of its allocation, as its Alloc has it
  std::uint64_t step = 0;
  std::uint64_t path : 32 = 0, stack : 32 = 0;
  std::uint64_t name : 32 = 0, stream : 32 = 0;
  std::uint64_t parent = 0;
};

// The blocks were looked at one after the other: each that was allocated before `begin_ticks` and freed after
// `end_ticks` is there, none that was freed before `begin_ticks` or allocated after `end_ticks`.
struct CheckpointHead {
  static constexpr Tag kTag = Tag::CheckpointHead;
  std::uint64_t tag : 8 = static_cast<std::uint64_t>(kTag), slots : 8 = 3, reserved : 48 = 0;
  std::uint64_t number = 0;
  std::uint64_t begin_ticks = 0, end_ticks = 0;
  std::uint64_t step = kNoStep;  // the one that ran
  std::uint64_t blocks = 0;
};

// A Label in a ring, with what is known of its block: so that sums of kinds can be put right when the block's
// allocation is no longer there.
struct Relabel {
  static constexpr Tag kTag = Tag::Relabel;
  std::uint64_t tag : 8 = static_cast<std::uint64_t>(kTag), slots : 8 = 3, block_class : 4 = 0, time : 28 = 0,
                      kind : 8 = 0, kind_before : 8 = 0;
  std::uint64_t address = 0;
  std::uint64_t size_bytes = 0;
  std::uint64_t path : 32 = 0, name : 32 = 0;
  std::uint64_t step = 0;
  std::uint64_t generation : 8 = 0, phase : 4 = 0, device : 8 = 0, reserved44 : 44 = 0;
};

// Allocations of which only this is left. Rows of the same key add up, modulo 2^64.
struct Sum {
  static constexpr Tag kTag = Tag::Sum;
  std::uint64_t tag : 8 = static_cast<std::uint64_t>(kTag), slots : 8 = 3, block_class : 4 = 0, phase : 4 = 0,
                      kind : 8 = 0, device : 8 = 0, width : 8 = 0, served : 1 = 0, reserved15 : 15 = 0;
  std::uint64_t path : 32 = 0, reserved32 : 32 = 0;
  std::uint64_t step = 0;  // the first of 2^width steps
  std::uint64_t allocations = 0;
  std::uint64_t requested_bytes = 0;
  std::uint64_t live_bytes = 0;  // rounded
};

// Steps of which events are no longer there: all of its 2^width that were seen, the first and the last of which stand
// here. Rows of the same steps add up; of times and peaks they are the union.
struct StepSum {
  static constexpr Tag kTag = Tag::StepSum;
  std::uint64_t tag : 8 = static_cast<std::uint64_t>(kTag), slots : 8 = 6, width : 8 = 0, reserved : 40 = 0;
  std::uint64_t first = 0, last = 0;
  std::uint64_t begin_ticks = 0, end_ticks = 0;  // 0: this row does not say
  std::uint64_t peak_live_bytes = 0;
  std::uint64_t end_live_bytes = 0;                   // at end_ticks
  std::uint64_t allocations = 0, frees = 0;           // of device blocks, by the step that their thread was in
  std::uint64_t requested_bytes = 0, live_bytes = 0;  // of those allocations
  std::uint64_t failures = 0;
};

// The end of a group of sums: it counts as a whole, from here on, or not at all. A chunk of events with this sequence
// at this place is in the sums.
struct Folded {
  static constexpr Tag kTag = Tag::Folded;
  std::uint64_t tag : 8 = static_cast<std::uint64_t>(kTag), slots : 8 = 2, reserved : 48 = 0;
  std::uint64_t chunk = 0;  // 0: none
  std::uint64_t sequence = 0;
  std::uint64_t reserved64 = 0;
};

template <Record R>
inline constexpr bool kCountsItself = kSlots<R> == static_cast<unsigned>(R{}.slots);
static_assert(kCountsItself<Live> && kCountsItself<CheckpointHead> && kCountsItself<Relabel> && kCountsItself<Sum> &&
              kCountsItself<StepSum> && kCountsItself<Folded>);

// The first of the 2^width steps that a step is one of. What is before the first step stays by itself.
constexpr std::uint64_t first_of_steps(std::uint64_t step, unsigned width) {
  if (step == kNoStep) return kNoStep;
  return width >= 64 ? 0 : step >> width << width;
}

// Live bytes are sizes rounded up to this, in every mode.
inline constexpr std::uint64_t kLiveGranule = 512;
constexpr std::uint64_t live_bytes_of(std::uint64_t size_bytes) {
  return (size_bytes + kLiveGranule - 1) & ~(kLiveGranule - 1);
}

// Two rows about the same steps become one.
inline void merge(StepSum& into, const StepSum& row) {
  into.first = row.first < into.first ? row.first : into.first;
  into.last = row.last > into.last ? row.last : into.last;
  if (row.begin_ticks != 0 && (into.begin_ticks == 0 || row.begin_ticks < into.begin_ticks))
    into.begin_ticks = row.begin_ticks;
  if (row.end_ticks > into.end_ticks) {
    into.end_ticks = row.end_ticks;
    into.end_live_bytes = row.end_live_bytes;
  }
  into.peak_live_bytes = row.peak_live_bytes > into.peak_live_bytes ? row.peak_live_bytes : into.peak_live_bytes;
  into.allocations += row.allocations;
  into.frees += row.frees;
  into.requested_bytes += row.requested_bytes;
  into.live_bytes += row.live_bytes;
  into.failures += row.failures;
}

}  // namespace tidemark::trace
