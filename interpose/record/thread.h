// SPDX-License-Identifier: Apache-2.0
// What is kept per thread. It is plain data in static thread-local storage: no constructor, no destructor, no call into
// the linker, so that it may be touched before main, in other libraries' thread-local destructors and in signal
// handlers.
#pragma once
#include <cstddef>
#include <cstdint>

#include "interpose/stack/window.h"

namespace tidemark::trace {
class Lane;
}

namespace tidemark::interpose {

class Marks;

namespace serve {
struct Cache;
struct KnownStream;
// Where this thread's calls take effect, as far as it is known; `epoch` 0: not.
struct Here {
  std::uint64_t epoch = 0;
  std::uint64_t context = 0;
  std::uint32_t context_number = 0;
  Cache* cache = nullptr;
  // The stream that was used last, and how it was called.
  KnownStream* stream = nullptr;
  std::uint64_t called = 0;
  KnownStream* submitting = nullptr;  // the call is on its way to the driver, or was when it was last heard of
  std::size_t submitting_to = 0;      // of the caches, the first so many were told
};
}  // namespace serve

struct Thread {
  bool inside = false;          // in our own code: whoever comes again, came by a signal
  bool at_gate = false;         // holds a pass of the limit's gate
  bool not_served = false;      // what is asked for now was looked for already
  bool samples_later = false;   // what the device has given is asked at the end of what goes on
  bool sample_due = false;      // and has changed
  const char* call = nullptr;   // the runtime function on whose behalf the driver is being called
  trace::Lane* lane = nullptr;  // null: none yet, or given back
  Marks* marks = nullptr;       // null: nothing was ever marked
  Window window;                // of the stack, as far as it is known
  serve::Here here;
};

namespace detail {
extern constinit thread_local Thread this_thread __attribute__((tls_model("initial-exec")));
}
inline Thread& this_thread() {
  return detail::this_thread;
}

}  // namespace tidemark::interpose
