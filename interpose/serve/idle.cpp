// SPDX-License-Identifier: Apache-2.0
#include "interpose/serve/idle.h"

#include <algorithm>
#include <array>
#include <atomic>

#include "interpose/process/process.h"
#include "interpose/record/recorder.h"
#include "interpose/serve/cache.h"
#include "interpose/serve/captures.h"
#include "interpose/serve/serve.h"
#include "interpose/serve/usage.h"
#include "interpose/watch/watcher.h"

namespace tidemark::interpose::serve {
namespace {

// So often within the time that was asked for; and for a program that ends, this is how long we may be under way.
constexpr std::uint64_t kLooks = 4, kLongestPause = 1'000'000'000;

struct Seen {
  std::uint64_t calls = 0;
  std::uint64_t since_ns = 0;
};

constinit std::atomic<bool> begun{false};
constinit Notice stopping, stopped;
constinit std::array<Seen, kMostCaches> before{};

// What is given back changes nothing that counts as a call; what streams still use is asked for again at the next look.
void look(std::uint64_t now_ns) {
  for_each_cache([&](Cache& cache) {
    allocator::Statistics const s = cache.allocator->statistics();
    Seen& seen = before[cache.number];
    if (seen.since_ns == 0 || s.allocations + s.frees != seen.calls) {
      seen = {.calls = s.allocations + s.frees, .since_ns = now_ns};
      return;
    }
    if (now_ns - seen.since_ns < options().cache.trim_after_ns || capturing() || cache.context == 0) return;
    if (s.cached_bytes != 0 && cache.allocator->arena().returnable_bytes() != 0)
      cache.allocator->give_back_idle(kEverything);
    note_use(cache);
  });
}

void run() {
  std::uint64_t const pause_ns = std::min(options().cache.trim_after_ns / kLooks, kLongestPause);
  while (!stopping.is_given() && recording() && !program_has_left()) {
    shield([] { look(trace::monotonic_now_ns()); });
    stopping.wait_for(pause_ns);
  }
  stopped.give();
}

}  // namespace

void start_idle_trim() {
  if (options().cache.trim_after_ns == 0 || begun.exchange(true)) return;
  if (!start_watcher(run)) stopped.give();
}

void stop_idle_trim() {
  if (!begun.load() || !recording()) return;
  stopping.give();
  stopped.wait_for(kLongestPause);
}

}  // namespace tidemark::interpose::serve
