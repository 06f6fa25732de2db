// SPDX-License-Identifier: Apache-2.0
// What a ring keeps of events that are no longer there: sums, and the checkpoint that the rest begins with. Untrusted,
// as everything in a trace.
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "trace/format/summing.h"
#include "trace/read/event.h"

namespace tidemark::trace {

// All blocks that were alive, seen one after the other between two moments. From the later one on the events that are
// still there tell everything.
struct Base {
  std::uint64_t begin_ticks = 0, end_ticks = 0;
  std::uint64_t step = kNoStep;
  std::vector<Live> blocks;  // by the time of their allocation
};

class Past {
 public:
  // Of the chunks that count, in their order.
  void add_checkpoint(std::uint64_t number, const Slot* begin, const Slot* end);
  void add_sums(const Slot* begin, const Slot* end);
  void finish();

  // Null: the events begin with the trace.
  const Base* base() const { return base_ ? &*base_ : nullptr; }
  // Whether a chunk's events are in the sums.
  bool folded(std::uint64_t chunk, std::uint64_t sequence) const { return folded_.contains({chunk, sequence}); }
  const std::vector<SumRow>& sums() const { return rows_.sums; }
  const std::vector<StepSum>& steps() const { return rows_.steps; }
  // Allocations that failed (the first ones; StepSum has their number), and what was last said of each device.
  const std::vector<Event>& events() const { return rows_.events; }

 private:
  struct Rows {
    std::vector<SumRow> sums;
    std::vector<StepSum> steps;
    std::vector<Event> events;
    void take(Rows& from);
  };
  void apply(const Slot* at, unsigned slots);

  std::optional<Base> base_;
  std::vector<Live> blocks_;  // of a checkpoint whose head has not come yet
  std::set<std::pair<std::uint64_t, std::uint64_t>> folded_;
  Rows rows_, open_;  // those of a group count when its end has come
  ChunkHeader at_;    // time and context of the next event
};

}  // namespace tidemark::trace
