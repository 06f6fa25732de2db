// SPDX-License-Identifier: Apache-2.0
// Watches allocations and frees, and says when an iteration can be planned, and what it consists of. Lifetimes are told
// in a clock that ticks with each event, so that only their order counts. Memory is fixed. One thread at a time.
#pragma once
#include <optional>
#include <vector>

#include "allocator/core/plan/circular.h"
#include "allocator/core/plan/period.h"

namespace tidemark::plan {

// An iteration as it was recorded: the events that announce it, and their lifetimes.
struct Recorded {
  std::vector<AllocEvent> events;
  Iteration iteration;
  std::uint64_t first = 0;  // the number of the first event
};

class Recorder {
 public:
  explicit Recorder(std::size_t longest_period = std::size_t{1} << 15);
  // False: the system has no memory for it, and nothing may be asked of it.
  explicit operator bool() const { return static_cast<bool>(finder_) && static_cast<bool>(lifetimes_); }

  // The number to be given back with the free.
  std::uint64_t on_alloc(const AllocEvent& event);
  void on_free(std::uint64_t allocation);
  void on_mark() { finder_.on_mark(); }

  const PeriodFinder& finder() const { return finder_; }
  // A period has been accepted, and a third of one has gone by since: most blocks that outlive an iteration have ended
  // by then. What has not ended counts as persistent.
  bool ready() const;
  // The iteration before its exact repeat. Only when ready; then not again until another period is accepted.
  Recorded take(std::uint64_t alignment);
  // The period that goes on, as if it had been accepted just now: after a third of one more it is ready again, with the
  // lifetimes of later iterations.
  void look_again();

 private:
  struct Lifetime {
    std::uint64_t begin = 0, end = kNever;
  };
  const Lifetime& lifetime(std::uint64_t n) const { return lifetimes_[n % lifetimes_.size()]; }

  PeriodFinder finder_;
  ReservedArray<Lifetime> lifetimes_;
  std::uint64_t clock_ = 0;
  struct Accepted {
    std::uint64_t at, period;
  };
  std::optional<Accepted> accepted_;
};

}  // namespace tidemark::plan
