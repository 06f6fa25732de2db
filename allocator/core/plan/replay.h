// SPDX-License-Identifier: Apache-2.0
// What the allocator asks: "the next allocation of this size in this domain: where in the plan's arena?" Knows several
// plans, one per shape of a program whose iterations come in a few kinds (bucketed lengths), tells them apart by their
// first allocations, and never hands out a byte that is taken (PlanSlots).
//
// Offsets are relative to one arena of arena_bytes(). A block is released when anybody may use its memory again: with
// several domains in one plan that is when all of them have passed its free. One thread at a time; plans are made
// elsewhere, and published by add() at a moment of the caller's choice, best where the fewest bytes are alive.
//
//   Recorder recorder;                      // feed it every allocation and free
//   if (recorder.ready()) {
//     Recorded const r = recorder.take(512);
//     auto const layout = plan_circular(r.iteration, {.budget_seconds = 30});  // on another thread
//     replay.add(std::make_shared<ServingPlan>(r, *layout));
//   }
//   if (auto const offset = replay.place(event)) ...           // else from the general arena
#pragma once
#include <list>
#include <memory>
#include <optional>

#include "allocator/core/plan/cursor.h"
#include "allocator/core/plan/slots.h"

namespace tidemark::plan {

class Replay {
 public:
  static constexpr std::size_t kMostPlans = 8;
  static constexpr std::size_t kPrefix = 32;  // events of an iteration within which its plan is chosen

  // Becomes the current plan; one for the same events is replaced, the one unused for longest is dropped. at_cut: the
  // next event is the plan's first.
  void add(std::shared_ptr<const ServingPlan> plan, bool at_cut = false);
  std::optional<std::uint64_t> place(const AllocEvent& event);
  // The same without a look at what is occupied, for a caller who checks that himself (replay_source.h).
  std::optional<Extent> next(const AllocEvent& event);
  // And for one who knows the plans: the entry of one of them that this event is.
  struct Step {
    const ServingPlan* plan;
    std::size_t entry;
    bool sure;  // the program has followed the plan for a while
  };
  std::optional<Step> follow(const AllocEvent& event) {
    if (cursors_.empty()) return std::nullopt;
    PlanCursor& current = cursors_.front();
    // What most events are: the next one, where no other plan has to be thought of.
    if (current.expects(event) && (current.within_iteration() >= kPrefix || cursors_.size() == 1)) [[likely]] {
      std::size_t const entry = current.advance();
      return Step{&current.plan(), entry, current.is_sure()};
    }
    return find(event);
  }
  bool release(std::uint64_t offset) { return slots_.release(offset); }

  // The arena has to be this large. Never falls while blocks are taken.
  std::uint64_t arena_bytes() const { return arena_bytes_; }
  std::size_t plans() const { return cursors_.size(); }
  // The one that is followed; null: there is none.
  const PlanCursor* current() const { return cursors_.empty() ? nullptr : &cursors_.front(); }
  template <class F>
  void for_each_plan(F f) const {
    for (const PlanCursor& c : cursors_) f(c.plan());
  }
  const PlanSlots& slots() const { return slots_; }

  struct Counts {
    std::uint64_t placed = 0;    // by place()
    std::uint64_t occupied = 0;  // expected, but its place was taken
    std::uint64_t unknown = 0;   // not expected, or persistent
    std::uint64_t switched = 0;  // from one plan to another
  };
  const Counts& counts() const { return counts_; }

 private:
  std::optional<Step> find(const AllocEvent& event);
  std::optional<Step> join_another();
  void choose(const AllocEvent& event);
  void allow();

  std::list<PlanCursor> cursors_;  // the current one first
  PlanSlots slots_;
  std::vector<AllocEvent> prefix_;  // of this iteration, up to kPrefix
  unsigned astray_ = 0;             // events in a row that were not where the current plan has them
  std::uint64_t arena_bytes_ = 0;
  Counts counts_;
};

}  // namespace tidemark::plan
