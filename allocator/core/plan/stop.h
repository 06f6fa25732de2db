// SPDX-License-Identifier: Apache-2.0
// When long work has to end: at an instant, or because somebody asks. Cheap enough to be asked every few microseconds.
#pragma once
#include <atomic>
#include <chrono>

namespace tidemark::plan {

using Clock = std::chrono::steady_clock;

struct Stop {
  Clock::time_point deadline = Clock::time_point::max();
  const std::atomic<bool>* cancel = nullptr;

  bool cancelled() const { return cancel != nullptr && cancel->load(std::memory_order_relaxed); }
  bool now() const { return cancelled() || Clock::now() >= deadline; }
  // The same, but no later than `seconds` from now.
  Stop within(double seconds) const {
    auto const then =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    return {.deadline = then < deadline ? then : deadline, .cancel = cancel};
  }
};

}  // namespace tidemark::plan
