// SPDX-License-Identifier: Apache-2.0
// What is kept per thread. It is plain data in static thread-local storage: no constructor, no destructor, no call into
// the linker, so that it may be touched before main, in other libraries' thread-local destructors and in signal
// handlers.
#pragma once
#include <cstdint>

#include "interpose/stack/window.h"

namespace tidemark::trace {
class Lane;
}

namespace tidemark::interpose {

class Marks;

struct Thread {
  bool inside = false;          // in our own code: whoever comes again, came by a signal
  bool at_gate = false;         // holds a pass of the limit's gate
  const char* call = nullptr;   // the runtime function on whose behalf the driver is being called
  trace::Lane* lane = nullptr;  // null: none yet, or given back
  Marks* marks = nullptr;       // null: nothing was ever marked
  Window window;                // of the stack, as far as it is known
};

namespace detail {
extern constinit thread_local Thread this_thread __attribute__((tls_model("initial-exec")));
}
inline Thread& this_thread() {
  return detail::this_thread;
}

}  // namespace tidemark::interpose
