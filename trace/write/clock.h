// SPDX-License-Identifier: Apache-2.0
// The clock of a trace: the processor's time stamp counter where it runs at one rate on all cores, else
// CLOCK_MONOTONIC. Any thread, any time; no system call with the counter.
#pragma once
#include <time.h>

#include <cstdint>

#include "trace/format/layout.h"

namespace tidemark::trace {

inline std::uint64_t monotonic_now_ns() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(t.tv_nsec);
}

class Clock {
 public:
  constexpr Clock() = default;
  // The best this machine has.
  static Clock pick();
  static constexpr Clock monotonic() { return Clock(); }

  ClockKind kind() const { return kind_; }
  // For events whose order something else tells: one thread's own, and a served block's by its generation.
  std::uint64_t now() const { return kind_ == ClockKind::Tsc ? __builtin_ia32_rdtsc() : monotonic_now_ns(); }
  // What the program did before is done, so that stamps of two threads that met are in the order of their meeting.
  std::uint64_t now_ordered() const {
    unsigned core;
    return kind_ == ClockKind::Tsc ? __builtin_ia32_rdtscp(&core) : monotonic_now_ns();
  }
  ClockPair pair() const;
  // An estimate from a short measurement; a trace's own two pairs are better once they are far apart.
  std::uint64_t ticks_per_second() const;

 private:
  ClockKind kind_ = ClockKind::Monotonic;
};

}  // namespace tidemark::trace
