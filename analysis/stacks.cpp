// SPDX-License-Identifier: Apache-2.0
#include "analysis/stacks.h"

#include <algorithm>
#include <iterator>

namespace tidemark::analysis {
namespace {

// Code of CUDA itself, and of the recorder: it says how memory was asked for, not by whom.
bool between(const trace::SymbolFrame& frame) {
  std::string_view const path = frame.object;
  std::string_view const file = path.substr(path.rfind('/') + 1);
  return file.starts_with("libcuda.so") || file.starts_with("libcudart.so") || file.starts_with("libtidemark");
}

}  // namespace

void name_stacks(const trace::Trace& trace, trace::Symbols& symbols, Anatomy& anatomy, std::size_t count) {
  for (std::size_t i = 0; i < std::min(count, anatomy.by_stack.size()); ++i) {
    Row& row = anatomy.by_stack[i];
    if (row.stack == 0) continue;
    auto const frames = symbols.resolve(row.stack);
    auto first = std::find_if_not(frames.begin(), frames.end(), between);
    if (first == frames.end()) first = frames.begin();
    std::transform(first, frames.end(), std::back_inserter(row.frames), trace::text);
    switch (trace.names().stack_end(row.stack)) {
      case trace::StackEnd::Cut: row.frames.emplace_back("(deeper than what is kept)"); break;
      case trace::StackEnd::NoTable: row.frames.emplace_back("(code that does not say who called it)"); break;
      default: break;
    }
    if (!row.frames.empty()) row.name = row.frames.front();
  }
}

}  // namespace tidemark::analysis
