// SPDX-License-Identifier: Apache-2.0
// Where a program is in a planned iteration. The cursor follows the allocations: each is compared with the one that the
// plan expects next. An allocation that the plan does not know is passed over; where the program has left some out, the
// cursor finds them up to kAhead entries later, and returns if that was a mistake. After a longer surprise it looks the
// last few events up in the whole plan. Nothing here decides about memory: see PlanSlots. One thread at a time.
#pragma once
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "allocator/core/plan/circular.h"
#include "allocator/core/plan/recorder.h"
#include "allocator/core/plan/slots.h"

namespace tidemark::plan {

// A layout with the events it was made for: from the cut on, as many iterations as are laid out side by side.
// Immutable.
class ServingPlan {
 public:
  ServingPlan(const Recorded& recorded, const CircularPlan& layout);

  // Entries of one iteration, and of all that are laid out.
  std::size_t iteration() const { return events_.size(); }
  std::size_t entries() const { return places_.size(); }
  const AllocEvent& event(std::size_t entry) const { return events_[entry % events_.size()]; }
  const AllocEvent& event_within(std::size_t entry) const { return events_[entry]; }  // entry < iteration()
  // Empty: not planned (persistent).
  const Extent& place(std::size_t entry) const { return places_[entry]; }
  const std::vector<Extent>& places() const { return places_; }
  std::uint64_t height() const { return height_; }
  // The block is alive at the next cut.
  bool is_carried(std::size_t entry) const { return carried_[entry % carried_.size()]; }
  // Beside the arena, where some of the places are; and what the arena begins in, if there is something.
  const std::vector<Strip>& strips() const { return strips_; }
  const Strip& lead() const { return lead_; }
  // The entry after the only place where these four events follow one another; none if there are several or none.
  std::optional<std::size_t> find(const AllocEvent (&last)[4]) const;

 private:
  std::vector<AllocEvent> events_;
  std::vector<Extent> places_;
  std::vector<bool> carried_;                             // by event
  std::unordered_map<std::uint64_t, std::size_t> after_;  // by hash of four events; kAmbiguous where there are several
  std::uint64_t height_ = 0;
  std::vector<Strip> strips_;
  Strip lead_;
};

class PlanCursor {
 public:
  static constexpr std::size_t kAhead = 64;
  static constexpr unsigned kLost = 8;  // misses in a row before the whole plan is searched
  static constexpr unsigned kSure = 4;  // events in order after a jump until it is believed

  // The next event may be the first of the plan, or any other: the program need not be at the cut.
  explicit PlanCursor(std::shared_ptr<const ServingPlan> plan) : plan_(std::move(plan)) {}

  // The entry that this allocation is, if it is one.
  std::optional<std::size_t> next(const AllocEvent& event) {
    if (expects(event)) [[likely]]
      return advance();
    return search(event);
  }
  bool expects(const AllocEvent& event) const {
    return within_ < plan_->iteration() && plan_->event_within(within_) == event;
  }
  // After expects().
  std::size_t advance() {
    ++run_;
    std::size_t const entry = at_;
    step();
    return entry;
  }
  // An iteration has begun, and so many of its events have been seen elsewhere.
  void restart(std::size_t seen);
  // The program is at the cut, surely.
  void begin();
  // Looks for the events that another cursor has seen last, and goes there. The entry of the last one.
  std::optional<std::size_t> join(const PlanCursor& lost);

  std::size_t at() const { return at_; }
  std::size_t within_iteration() const { return within_; }
  // Whether the program has followed the plan from where it is believed to be.
  bool is_sure() const { return in_order_ + run_ >= kSure; }
  // The last event was not the one that was expected, nor were some before.
  bool is_astray() const { return run_ == 0 && !is_sure(); }
  const ServingPlan& plan() const { return *plan_; }

 private:
  std::optional<std::size_t> search(const AllocEvent& event);
  std::optional<std::size_t> take(std::size_t entry);
  std::optional<std::size_t> ahead(const AllocEvent& event) const;
  void catch_up(const AllocEvent& event);
  void go_to(std::size_t entry);
  void step() {
    if (++within_ == plan_->iteration()) within_ = 0;
    if (++at_ == plan_->entries()) at_ = 0;
  }

  std::shared_ptr<const ServingPlan> plan_;
  std::size_t at_ = 0;                 // the entry that is expected
  std::size_t within_ = 0;             // at_ % iteration
  std::uint64_t run_ = 0;              // events in order since the last that was not
  std::optional<std::size_t> before_;  // where it was before it jumped ahead
  AllocEvent last_[4] = {};            // before the run
  unsigned misses_ = kLost;
  std::uint64_t in_order_ = 0;  // since it jumped ahead, up to the run
};

}  // namespace tidemark::plan
