// SPDX-License-Identifier: Apache-2.0
// The sums of a ring, read for a history.
#pragma once
#include <functional>
#include <set>

#include "analysis/folded.h"
#include "trace/read/trace.h"

namespace tidemark::analysis {

// The number in History::layers of a path of the trace.
using LayerOf = std::function<std::uint32_t(std::uint32_t)>;

// Fills in all but the window's own place. `steps_in_window`: those that began in it.
void read_folded(const trace::Trace& trace, const std::set<std::uint64_t>& steps_in_window, const LayerOf& layer,
                 Folded& out);

}  // namespace tidemark::analysis
