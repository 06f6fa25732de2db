// SPDX-License-Identifier: Apache-2.0
// Of a trace that was kept at a size: sums over the whole run, and what is known of the time before its window, in
// which every event is there.
//
// Allocations and their bytes are exact, by layer, kind, phase, class and device; what was freed is what was allocated
// less what is alive. Peaks of the time before the window are known of the run and of each step, not of layers.
#pragma once
#include <cstdint>
#include <vector>

#include "trace/format/words.h"

namespace tidemark::analysis {

// Allocations of one key, of the whole run.
struct SummedRow {
  std::uint32_t layer = 0;  // in History::layers
  std::uint64_t step = 0;   // the first of 2^width; trace::kNoStep: before the first step
  unsigned width = 0;
  trace::Class block_class = trace::Class::Device;
  trace::Phase phase = trace::Phase::Other;
  trace::Kind kind = trace::Kind::Other;
  std::uint8_t device = 0;
  bool observed = false;
  std::uint64_t allocations = 0;
  std::uint64_t requested_bytes = 0;
};

// Steps that began before the window.
struct EarlierSteps {
  std::uint64_t first = 0, last = 0;
  std::uint64_t begin_ns = 0, end_ns = 0;
  std::uint64_t peak_live_bytes = 0;
  std::uint64_t end_live_bytes = 0;
  std::uint64_t allocations = 0;
};

struct Folded {
  std::uint64_t begin_ns = 0;  // where the events begin
  std::uint64_t whole_ns = 0;  // from here on nothing is missing
  std::uint64_t changes = 0;   // of the history, before its window: births of what was alive
  std::size_t steps = 0;       // its marks before the window
  std::vector<SummedRow> sums;
  std::vector<EarlierSteps> earlier;
  std::uint64_t failures = 0;  // of the whole run; not all of them are kept
  // Of the whole run, whatever is selected.
  std::uint64_t peak_live_bytes = 0, peak_requested_bytes = 0, peak_reserved_bytes = 0;
};

}  // namespace tidemark::analysis
