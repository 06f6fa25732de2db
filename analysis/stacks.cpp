// SPDX-License-Identifier: Apache-2.0
#include "analysis/stacks.h"

#include <algorithm>
#include <iterator>

namespace tidemark::analysis {
namespace {

std::string_view file_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

// Code of CUDA itself, and of the recorder: it says how memory was asked for, not by whom. The toolkit's headers have
// wrappers of their own, which are in the program.
bool between(const trace::SymbolFrame& frame) {
  std::string_view const object = file_name(frame.object), source = file_name(frame.file);
  return object.starts_with("libcuda.so") || object.starts_with("libcudart.so") || object.starts_with("libtidemark") ||
         source == "cuda_runtime.h" || source == "cuda_runtime_api.h";
}

// What runs before main, and before a thread's function: the same below every stack.
bool starts(const trace::SymbolFrame& frame) {
  constexpr std::string_view kNames[] = {"_start",
                                         "__libc_start_main",
                                         "__libc_start_main_impl",
                                         "start_thread",
                                         "__libc_start_call_main",
                                         "clone",
                                         "__clone",
                                         "clone3",
                                         "__clone3"};
  std::string_view const object = file_name(frame.object);
  std::string_view const name = std::string_view(frame.function).substr(0, frame.function.find('@'));
  if (std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames)) return true;
  // Without the C library's symbols its exported names are all there is.
  return frame.function.empty() && (object.starts_with("libc.so") || object.starts_with("libc-"));
}

}  // namespace

std::vector<std::string> frames_of(const trace::Trace& trace, trace::Symbols& symbols, std::uint32_t stack) {
  auto const frames = symbols.resolve(stack);
  auto first = std::find_if_not(frames.begin(), frames.end(), between);
  auto const last = std::find_if_not(frames.rbegin(), std::make_reverse_iterator(first), starts).base();
  std::vector<std::string> texts;
  std::transform(first, last, std::back_inserter(texts), trace::text);
  if (texts.empty()) std::transform(frames.begin(), frames.end(), std::back_inserter(texts), trace::text);
  switch (trace.names().stack_end(stack)) {
    case trace::StackEnd::Cut: texts.emplace_back("(deeper than what is kept)"); break;
    case trace::StackEnd::NoTable: texts.emplace_back("(code that does not say who called it)"); break;
    default: break;
  }
  return texts;
}

void name_stacks(const trace::Trace& trace, trace::Symbols& symbols, Anatomy& anatomy, std::size_t count) {
  for (std::size_t i = 0; i < std::min(count, anatomy.by_stack.size()); ++i) {
    Row& row = anatomy.by_stack[i];
    if (row.stack == 0) continue;
    row.frames = frames_of(trace, symbols, row.stack);
    if (!row.frames.empty()) row.name = row.frames.front();
  }
}

}  // namespace tidemark::analysis
