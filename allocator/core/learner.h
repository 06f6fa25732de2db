// SPDX-License-Identifier: Apache-2.0
// Learns the loop of one domain from its allocations and frees: records them for as long as there is something to find
// out, and knows when to give up. Numbers of blocks are told apart across recordings, so that a free of a block from
// before is never taken for another one's. One thread at a time.
#pragma once
#include <memory>
#include <optional>

#include "allocator/core/plan/recorder.h"
#include "allocator/core/units.h"

namespace tidemark::allocator {

class Learner {
 public:
  // Without a period for so many events, it is not looked for any more; a period that has held for so many is no loop
  // within a longer one that could be found.
  static constexpr std::uint64_t kPatience = 1 << 18;
  static constexpr std::uint64_t kSettled = 1 << 16;
  static constexpr unsigned kNumberBits = 30;  // what a block keeps of its number

  bool is_recording() const { return recorder_ != nullptr; }
  void start();  // unless the system has no memory for it
  void stop();

  // The number to be given back with the free; 0: none.
  std::uint32_t on_alloc(Granules granules);
  void on_free(std::uint32_t number, Granules granules);
  void on_mark();

  // An iteration has been repeated, and it is the program's: nothing of it piles up, as much is live as one period ago;
  // and it reaches what has been live before. A loop over layers does the one or the other, one over parameters is far
  // from the peak.
  bool has_iteration();  // asked right after an allocation
  bool can_take() const { return recorder_ != nullptr && recorder_->ready(); }
  plan::Recorded take();
  // The program does something else now: what it needed before is no measure.
  void forget_peak() { peak_ = live_; }
  // The same period, with the lifetimes of a later iteration, when it has gone on for a while.
  void look_again();

  std::size_t period() const { return recorder_->finder().period().value_or(0); }
  // Since the period that goes on was accepted; 0: there is none.
  std::uint64_t held_events() const;
  bool is_exhausted() const { return held_events() == 0 && events_without_period_ > kPatience; }
  bool is_settled() const { return held_events() > kSettled; }
  // Whether the loop still goes on, and whether its next event is this one of its iteration.
  bool goes_on(const plan::Recorded& iteration) const;
  bool is_at(const plan::Recorded& iteration, std::size_t event) const;
  std::uint64_t live_granules() const { return live_ > 0 ? static_cast<std::uint64_t>(live_) : 0; }

 private:
  static constexpr std::int64_t kLeak = 128;  // granules per iteration that may pile up: some scalars
  static constexpr std::int64_t kPeakPercent = 97;
  static constexpr std::uint64_t kFewest = 2048;  // events of a loop before it is believed: layers are fewer
  bool reaches_peak(std::size_t period) const;

  std::unique_ptr<plan::Recorder> recorder_;
  ReservedArray<std::int64_t> live_at_;  // by event
  std::int64_t live_ = 0;                // since the recording began
  std::int64_t peak_ = 0;                // of that
  std::uint64_t numbers_ = 1;            // of all recordings
  std::uint64_t first_number_ = 1;       // of this one
  std::uint64_t accepted_at_ = 0;
  std::uint64_t events_without_period_ = 0;
};

}  // namespace tidemark::allocator
