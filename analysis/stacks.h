// SPDX-License-Identifier: Apache-2.0
// Call stacks in words. Looking into the files that ran takes time, so only those that will be shown are named.
#pragma once
#include "analysis/summary.h"
#include "trace/read/trace.h"
#include "trace/symbols/symbols.h"

namespace tidemark::analysis {

// Gives the first `count` rows of Anatomy::by_stack their frames, without those of CUDA's own libraries at the inner
// end, and the first of them as a name.
void name_stacks(const trace::Trace& trace, trace::Symbols& symbols, Anatomy& anatomy, std::size_t count);

}  // namespace tidemark::analysis
