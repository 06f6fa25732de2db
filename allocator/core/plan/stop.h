// SPDX-License-Identifier: Apache-2.0
// When long work has to end: when so much of it has been done, at an instant, or because somebody asks. Work is counted
// in looks at one thing (an arc, a section, a node: some nanoseconds each), so that what is found within a number of
// them is the same on every machine, however busy it is. Cheap enough to be asked every few microseconds.
#pragma once
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

namespace tidemark::plan {

using Clock = std::chrono::steady_clock;

// What has been done so far, by everybody who works on one problem. One thread at a time.
struct Effort {
  std::uint64_t looks = 0;
};

struct Stop {
  Clock::time_point deadline = Clock::time_point::max();
  const std::atomic<bool>* cancel = nullptr;
  const Effort* effort = nullptr;
  std::uint64_t most_looks = UINT64_MAX;

  bool cancelled() const { return cancel != nullptr && cancel->load(std::memory_order_relaxed); }
  bool now() const {
    if (cancelled() || (effort != nullptr && effort->looks >= most_looks)) return true;
    return deadline != Clock::time_point::max() && Clock::now() >= deadline;
  }
  // The same, but no later than `seconds` from now.
  Stop within(double seconds) const {
    Stop stop = *this;
    auto const then =
        Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    stop.deadline = std::min(deadline, then);
    return stop;
  }
  // The same, but after so many more looks at the latest.
  Stop after(std::uint64_t looks) const {
    Stop stop = *this;
    stop.most_looks = std::min(most_looks, effort->looks > UINT64_MAX - looks ? UINT64_MAX : effort->looks + looks);
    return stop;
  }
};

}  // namespace tidemark::plan
