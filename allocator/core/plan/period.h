// SPDX-License-Identifier: Apache-2.0
// Finds the iteration in a stream of allocations: a stretch of events that has been repeated exactly, once. What came
// before (set-up, first iterations, autotuning) may differ.
//
// A candidate is the distance to the last time the same few events were seen; it holds as long as each event equals the
// one that far back, looked back on from where it was found too, and is accepted when it has held for its own length.
// Loops within an iteration (equal layers) are candidates too and break where the loop ends: what has held no longer
// than such runs of late is not accepted, so that inner loops are hardly believed more than once. Marks of steps, where
// there are any, name the candidate outright. O(1) per event, amortised; memory is fixed by the longest period, and
// touched as events come. One thread at a time.
#pragma once
#include <cstdint>
#include <optional>

#include "base/reserved.h"

namespace tidemark::plan {

struct AllocEvent {
  std::uint64_t size_bytes = 0;
  std::uint32_t domain = 0;  // in whose order the block may be reused
  std::uint32_t role = 0;    // of the thread: main, autograd, loader...
  bool operator==(const AllocEvent&) const = default;
};

class PeriodFinder {
 public:
  explicit PeriodFinder(std::size_t longest_period = std::size_t{1} << 15);
  // False: the system has no memory for it, and nothing may be asked of it.
  explicit operator bool() const { return static_cast<bool>(ring_) && static_cast<bool>(seen_); }

  // True: with this event a period has been accepted.
  bool on_alloc(const AllocEvent& event);
  // A step of the program begins: the next event is its first.
  void on_mark();

  // Events of the accepted period, while it goes on.
  std::optional<std::size_t> period() const;
  std::uint64_t events() const { return count_; }
  std::size_t longest_period() const { return longest_; }
  // The last 2 * longest_period() ones are known.
  bool known(std::uint64_t event) const { return event < count_ && count_ - event <= ring_.size(); }
  const AllocEvent& event(std::uint64_t number) const { return ring_[number % ring_.size()]; }

 private:
  static constexpr std::size_t kWindow = 8;    // events that name a candidate
  static constexpr std::size_t kShortest = 8;  // below, exact-size reuse does as well as any plan
  void seek();
  void broken();
  bool marked_repeat() const;

  std::size_t longest_;
  ReservedArray<AllocEvent> ring_;
  ReservedArray<std::uint64_t> seen_;  // by hash of a window: the event after it, 0 if none
  std::uint64_t count_ = 0;
  std::uint64_t window_ = 0;   // hash of the last kWindow events
  std::size_t candidate_ = 0;  // 0: none
  std::uint64_t run_ = 0;      // events for which the candidate has held
  std::uint64_t longest_broken_ = 0;
  std::uint64_t credit_ = 0;  // events that may be looked back on: a few for each that came
  bool accepted_ = false;
  std::uint64_t last_mark_ = UINT64_MAX;
};

}  // namespace tidemark::plan
