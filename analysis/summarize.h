// SPDX-License-Identifier: Apache-2.0
// From a trace and a question to a Summary: the way in for reports, the command line and tests.
#pragma once
#include <cstdint>
#include <optional>

#include "analysis/filter.h"
#include "analysis/summary.h"
#include "base/result.h"
#include "trace/read/trace.h"

namespace tidemark::analysis {

struct Question {
  Filter filter;
  // Another instant than the peak: a time, or the peak of a step.
  std::optional<std::uint64_t> at_ns;
  std::optional<std::uint64_t> at_step;
  std::size_t timeline_points = 0;  // at most kMostPoints
  bool layer_timelines = false;     // of activations, with as many points
  std::size_t largest_blocks = 0;
  std::size_t named_stacks = 0;    // how many rows of by_stack get their frames
  std::size_t named_failures = 0;  // how many stacks of failures, that of the failure to show first
};

// Fails only on what the question asks for and the trace does not have.
Result<Summary> summarize(const trace::Trace& trace, const Question& question);

}  // namespace tidemark::analysis
