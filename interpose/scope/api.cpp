// SPDX-License-Identifier: Apache-2.0
// The marks of tidemark.h. They never start a trace: a program that only marks leaves nothing behind.
#define TIDEMARK_IMPLEMENTATION
#include <tidemark/tidemark.h>

#include "interpose/process/shield.h"
#include "interpose/record/recorder.h"
#include "interpose/scope/marks.h"
#include "interpose/scope/nvtx_ranges.h"
#include "interpose/serve/serve.h"

using namespace tidemark;
using namespace tidemark::interpose;

namespace {

void push_phase(Marks& marks, const char* name) {
  // What is not a phase of ours is still a place in the stack.
  marks.push_phase(trace::find_phase(name).value_or(trace::Phase::Other));
  if (recording()) recorder().phase_changed();
}

void push_layer(Marks& marks, const char* name) {
  marks.push_layer(name);
  if (recording()) recorder().enter_layer();
}

}  // namespace

#define TIDEMARK_API extern "C" __attribute__((visibility("default")))

TIDEMARK_API void tidemark_push(int what, const char* name) {
  if (name == nullptr) return;
  shield([&] {
    Marks* const marks = Marks::mine();
    if (marks == nullptr) return;
    if (what == TIDEMARK_LAYER) push_layer(*marks, name);
    if (what == TIDEMARK_PHASE) push_phase(*marks, name);
  });
}

TIDEMARK_API void tidemark_pop(int what) {
  shield([&] {
    Marks* const marks = this_thread().marks;
    if (marks == nullptr) return;
    if (what == TIDEMARK_LAYER) {
      marks->pop_layer();
      if (recording()) recorder().leave_layer();
    }
    if (what == TIDEMARK_PHASE) {
      marks->pop_phase();
      if (recording()) recorder().phase_changed();
    }
  });
}

TIDEMARK_API void tidemark_step(uint64_t step) {
  ignore_nvtx_steps();
  recorder().step(step);
}

TIDEMARK_API void tidemark_tag(const void* block, int kind, const char* name) {
  if (block == nullptr || kind < 0 || static_cast<std::size_t>(kind) >= trace::kKindNames.size() || !recording())
    return;
  shield([&] {
    recorder().tag(reinterpret_cast<std::uint64_t>(block), static_cast<trace::Kind>(kind),
                   name == nullptr ? std::string_view() : name);
  });
}

TIDEMARK_API void tidemark_empty_cache(void) {
  shield([] { serve::empty_caches(); });
}
