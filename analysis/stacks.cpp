// SPDX-License-Identifier: Apache-2.0
#include "analysis/stacks.h"

#include <algorithm>

namespace tidemark::analysis {

void name_stacks(const trace::Trace& trace, trace::Symbols& symbols, Anatomy& anatomy, std::size_t count) {
  for (std::size_t i = 0; i < std::min(count, anatomy.by_stack.size()); ++i) {
    Row& row = anatomy.by_stack[i];
    if (row.stack == 0) continue;
    for (trace::SymbolFrame const& frame : symbols.resolve(row.stack)) row.frames.push_back(trace::text(frame));
    switch (trace.names().stack_end(row.stack)) {
      case trace::StackEnd::Cut: row.frames.emplace_back("(deeper than what is kept)"); break;
      case trace::StackEnd::NoTable: row.frames.emplace_back("(code that does not say who called it)"); break;
      default: break;
    }
    if (!row.frames.empty()) row.name = row.frames.front();
  }
}

}  // namespace tidemark::analysis
