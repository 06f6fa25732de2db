// SPDX-License-Identifier: Apache-2.0
// Traces of runs that never were, the same bytes every time: for goldens, tests of the command line and damage.
#pragma once
#include <string_view>
#include <vector>

#include "tests/support/trace_maker.h"

namespace tidemark::trace {

struct Sample {
  std::string_view name;
  TraceMaker (*make)();
};

// "training": a small network with marks, cache mode, the driver's word. "unmarked": an observed program that says
// nothing about itself and was killed. "oom": one that ran out of memory. "served": one that
// ran out in cache mode, with what its cache says of itself. "framework": tensors inside segments.
// "ringed": a run of days, of which the last steps are there and the rest is sums.
const std::vector<Sample>& samples();

}  // namespace tidemark::trace
