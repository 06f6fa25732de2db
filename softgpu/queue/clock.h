// SPDX-License-Identifier: Apache-2.0
// Device time. Real: the machine's monotonic clock. Simulated: a clock that only moves when the host waits or asks, by
// exactly what the items cost, so that tests can expect exact times. Used under the engine's lock.
#pragma once
#include <time.h>

#include <algorithm>
#include <cstdint>

#include "softgpu/model/config.h"

namespace tidemark::softgpu {

using Nanos = std::uint64_t;

inline Nanos monotonic_ns() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<Nanos>(t.tv_sec) * 1'000'000'000 + static_cast<Nanos>(t.tv_nsec);
}

class Clock {
 public:
  Clock(ClockKind kind, Nanos item_ns) : simulated_(kind == ClockKind::Simulated), item_ns_(item_ns) {}
  bool simulated() const { return simulated_; }
  Nanos now() const { return simulated_ ? simulated_now_ : monotonic_ns(); }
  // The host has waited until then.
  void advance_to(Nanos t) { simulated_now_ = std::max(simulated_now_, t); }
  // The host has asked "is it done?": a loop of questions must see time pass.
  void tick() {
    if (simulated_) simulated_now_ += item_ns_;
  }
  Nanos item_ns() const { return item_ns_; }

 private:
  bool simulated_;
  Nanos item_ns_;
  Nanos simulated_now_ = 0;
};

}  // namespace tidemark::softgpu
