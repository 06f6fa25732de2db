// SPDX-License-Identifier: Apache-2.0
// Whether the program's memory is served by the allocator, or is the driver's own and only observed. What was served
// stays served until it is freed. Any thread.
#pragma once
#include <string>

#include "interpose/process/options.h"
#include "interpose/process/stage.h"

namespace tidemark::interpose::serve {

// Before the program looks its first name up, and when the recording begins: from then on the doors of work that is
// submitted are wanted, if memory may come to be served.
void expect();
// When the recording begins, with the choice that was read: the mode that is taken, and why (empty: as it was chosen).
struct Decision {
  trace::Mode mode = trace::Mode::Observe;
  std::string why;
};
Decision decide(ModeChoice choice);

namespace detail {
extern constinit std::atomic<bool> serving;
}
// Whether new blocks are served.
inline bool serving() {
  return detail::serving.load(std::memory_order_relaxed) && recording();
}
// New blocks are the driver's own from here on. Told once, in the trace and on stderr.
void stop(const std::string& why);
// Libraries may have come since: where one of them caches by itself, or hands memory out, `auto` observes from here on,
// and `cache` says so.
void look_for_frameworks();

}  // namespace tidemark::interpose::serve
