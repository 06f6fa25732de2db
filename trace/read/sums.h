// SPDX-License-Identifier: Apache-2.0
// All that was ever allocated, added up by step, layer, kind, phase, class and device: of a ring what was folded and
// what is still there, to the byte what a trace that keeps everything would give. (Kinds are in it where the program
// gives them to a ring: a trace that keeps everything has them with its blocks.)
#pragma once
#include <vector>

#include "trace/read/trace.h"

namespace tidemark::trace {

struct Sums {
  unsigned width = 0;     // rows are of 2^width steps each
  std::vector<Sum> rows;  // each key once; without rows of nothing
  // Steps: what a ring says of them, in rows of up to 2^step_width, and by number what the events come to that are
  // still there. Their sum is all there is. What is before the first step is of kNoStep.
  unsigned step_width = 0;
  std::vector<StepSum> said, counted;
};

// Reads all events.
Sums sum_up(const Trace& trace);

}  // namespace tidemark::trace
