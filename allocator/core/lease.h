// SPDX-License-Identifier: Apache-2.0
// The places of a domain's plans as blocks that are handed out by testing and setting a few bits.
//
// In the arena's tiling records share no byte; places of a plan do, at different times. So the region of a plan is
// leased from the arena as one range, and each place has a record of its own beside the tiling. Which of them may be
// handed out is decided by what is taken (plan/slots.h), whatever the plan says: a wrong plan wastes memory and never
// hands a byte out twice. Frames come when a place is first used. A lease may end at any time: blocks live on in the
// tiling at their addresses.
//
// Beside the region a plan may use strips: holes in frames that blocks outside of the plan hold on to. Each is leased
// as it is. One that is not free, because something else came to lie there, has no places until it is free again.
//
// Under the holder's lock (the pilot's), except where something else is said.
#pragma once
#include <optional>
#include <vector>

#include "allocator/core/arena.h"
#include "allocator/core/plan/replay.h"

namespace tidemark::allocator {

class Lease {
 public:
  static constexpr std::uint32_t kNone = UINT32_MAX;

  // Null: the arena has no room, or no records.
  static std::unique_ptr<Lease> make(Arena& arena, DomainId domain, const plan::Replay& plans,
                                     const GrowthLimit& limit);

  // The plans have changed. False: there is no room for them; the lease stays as it was.
  bool allow(const plan::Replay& plans, const GrowthLimit& limit);
  // Strips of these plans that could not be had before may be free by now.
  void complete(const plan::Replay& plans, const GrowthLimit& limit);

  // The place of a plan's entry; kNone: it has none, because the block is persistent or the plan is not known here.
  std::uint32_t find(const plan::ServingPlan* plan, std::size_t entry) {
    if (plan != current_->plan) [[unlikely]]
      if (!turn_to(plan)) return kNone;
    return current_->places[entry];
  }
  // False: a byte of it is taken.
  bool take(std::uint32_t place) { return slots_.take_cells(places_[place].cells); }
  Record& record(std::uint32_t place) { return *places_[place].record; }
  // The record is the one that is found at its address.
  void show(std::uint32_t place) { arena_.turn_to(*places_[place].record); }
  void release(Record& block) {
    block.state.store(State::Idle, std::memory_order_relaxed);
    slots_.release_cells(places_[block.right].cells);
  }
  // Frames are needed only in the region, and so is everything that follows about them.
  bool is_mapped(std::uint32_t place) const { return places_[place].mapped; }
  void set_mapped(std::uint32_t place) { places_[place].mapped = true; }
  // Without the lock: the arena knows about several threads.
  bool lacks_frames(const Record& block) const { return arena_.lacks_frames(*leased_, begin(block), end(block)); }
  Status map(const Record& block, const GrowthLimit& limit) {
    return arena_.map_leased(*leased_, begin(block), end(block), limit);
  }
  // Where the highest place or block ends, and what is mapped above that: the caller has waited in between.
  Granules top() const;
  std::uint64_t trim(Granules top) { return arena_.trim_lease(*leased_, top); }

  // What is free becomes a hole of this domain with this stamp. No map() or trim() may be under way.
  void finish(DomainId domain, std::uint64_t stamp);
  std::uint64_t taken_bytes() const { return slots_.taken_bytes(); }

 private:
  struct Place {
    Record* record = nullptr;
    plan::PlanSlots::Cells cells;
    bool mapped = false;
  };
  struct Table {
    const plan::ServingPlan* plan = nullptr;
    std::vector<std::uint32_t> places;  // by entry
  };
  Arena::Leased* take_region(const plan::Replay& plans, const GrowthLimit& limit);
  struct Held {
    plan::Strip strip;
    Arena::Leased* leased = nullptr;
  };
  Lease(Arena& arena, DomainId domain) : arena_(arena), domain_(domain) {}
  bool hold_strips(const plan::Replay& plans, const GrowthLimit& limit);  // true: there is a new one
  Arena::Leased* part_of(const plan::Extent& extent) const;               // null: a strip that could not be had
  std::vector<plan::Extent> all_places(const plan::Replay& plans) const;
  void give_up();  // nothing was used: what was free is so behind the work that it was free behind before
  void end(Arena::Leased& part, DomainId domain, std::uint64_t stamp);
  void make_tables(const plan::Replay& plans);
  bool turn_to(const plan::ServingPlan* plan);
  Granules begin(const Record& block) const { return block.offset - leased_->range->offset; }
  Granules end(const Record& block) const { return block.end() - leased_->range->offset; }

  Arena& arena_;
  DomainId domain_;
  Arena::Leased* leased_ = nullptr;
  std::vector<Held> strips_;  // also of plans that are gone, until the lease ends
  bool lacks_strips_ = false;
  plan::PlanSlots slots_;
  std::vector<plan::Extent> extents_;  // of places_, in order
  std::vector<Place> places_;
  std::vector<Table> tables_;
  Table none_;
  Table* current_ = &none_;
};

}  // namespace tidemark::allocator
