// SPDX-License-Identifier: Apache-2.0
// Call stacks in words. Looking into the files that ran takes time, so only those that will be shown are named.
#pragma once
#include "analysis/summary.h"
#include "trace/read/trace.h"
#include "trace/symbols/symbols.h"

namespace tidemark::analysis {

// A stack's calls, innermost first: without CUDA's own at the inner end, its inline wrappers included, and without
// those by which the system starts a program or a thread at the outer end.
std::vector<std::string> frames_of(const trace::Trace& trace, trace::Symbols& symbols, std::uint32_t stack);

// Gives the first `count` rows of Anatomy::by_stack their frames, and the first of them as a name.
void name_stacks(const trace::Trace& trace, trace::Symbols& symbols, Anatomy& anatomy, std::size_t count);

}  // namespace tidemark::analysis
