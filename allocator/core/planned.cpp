// SPDX-License-Identifier: Apache-2.0
// Blocks at places that a plan has chosen. Its region is a zone of address space of its own; frames move there, from
// holes of the general arena, when a place is used for the first time. So switching to a plan needs no second copy of
// the memory, and after one round of it no call of the driver.
#include <mutex>

#include "allocator/core/allocator.h"

namespace tidemark::allocator {

Status Arena::take_planned(Granules place, const Want& want, const GrowthLimit& limit, Record** block) {
  Growth growth;
  {
    std::lock_guard const guard(lock_);
    Zone& zone = zones_[kPlanZone];
    Granules const room = zone.tiling.end() - zone.tiling.begin();
    if (!pool_.can_map() || place > room || want.granules > room - place) return Status::Failed;
    if (records_.in_use() + kSpareRecords > RecordTable::kCapacity) return Status::OutOfMemory;
    Granules const start = zone.tiling.begin() + place;
    Record& first = *zone.tiling.at(start);
    for (const Record* r = &first;; r = zone.tiling.after(*r)) {
      if (!usable(*r, want, limit)) return Status::NotReady;
      if (r->end() >= start + want.granules) break;  // at the zone's end at the latest
    }
    if (first.state.load(std::memory_order_relaxed) == State::Hole && start + want.granules <= first.end()) {
      *block = deliver(*isolate(zone, first, start, start + want.granules), want);
      (*block)->planned = true;
      return Status::Ok;
    }
    growth = {.want = want, .start = start, .zone = &zone};
    surround(growth, {.first = &first, .start = start});
    plan_fillings(growth, limit);
  }
  Status const status = carry_out(growth, limit);
  *block = finish(growth, status);
  if (*block != nullptr) (*block)->planned = true;
  return *block != nullptr ? Status::Ok : status;
}

bool Allocator::allocate_planned(const Request& request, std::uint64_t* address) {
  std::uint32_t const mode = mode_.load(std::memory_order_acquire);
  if ((mode & kCapture) != 0 || request.whole || request.bytes == 0) return false;
  Want const want{.domain = effective(request.domain, mode), .granules = granules_of(request.bytes)};
  std::optional<Granules> place;
  {
    std::lock_guard const guard(plan_lock_);
    if (plan_ != nullptr) place = plan_->next(request.domain, want.granules);
  }
  if (!place) return false;
  DomainId const sole = sole_.load(std::memory_order_acquire);
  GrowthLimit limit{.frames = limit_frames_, .sole_passed = streams_.passed(sole), .stitch = options_.stitch};
  Record* block = nullptr;
  Status status = arena_.take_planned(*place, want, limit, &block);
  if (status == Status::NotReady && harvest()) status = arena_.take_planned(*place, want, limit, &block);
  if (status != Status::Ok) {
    plan_misses_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  plan_hits_.fetch_add(1, std::memory_order_relaxed);
  hand_out(*block, request.bytes);
  count_behind(*block, true);
  *address = block->address.load(std::memory_order_relaxed);
  return true;
}

// A place is free for the next allocation of the plan at once: no cache keeps it.
void Allocator::free_planned(Record& block, DomainId domain) {
  if (block.leased.load(std::memory_order_acquire) && release_leased(block, domain)) return;
  {
    // As for other frees, the mode is read where a change of it waits for us.
    std::lock_guard const guard(cache(DomainId::Shared).lock());
    if ((mode_.load(std::memory_order_acquire) & kMulti) == 0) {
      arena_.release(block, DomainId::Shared, stamp_single(shared_stamp_));
      return;
    }
  }
  if (domain == DomainId::Shared)
    pending_.add(block);
  else
    arena_.release(block, domain, streams_.stamp(domain));
}

// Every stream has passed its free.
void Allocator::free_passed_plan(Record& block) {
  {
    std::lock_guard const guard(pilot_.lock());
    if (block.leased.load(std::memory_order_acquire)) {
      pilot_.holder_of(block)->lease->release(block);
      return;
    }
  }
  arena_.release(block, DomainId::Shared, 0);
}

void Allocator::use_plan(PlanSource& plan) {
  // What the caches keep is what the plan's region will be made of, as far as the streams are past it.
  if (DomainId const sole = sole_.load(std::memory_order_acquire); sole != DomainId::Shared)
    streams_.wait_for_end(sole);
  harvest();
  empty_magazines();
  merge_everything();
  {
    std::lock_guard const guard(plan_lock_);
    plan_ = &plan;
  }
  arena_.keep_planned(true);
  mode_.fetch_or(kPlan, std::memory_order_seq_cst);
}

void Allocator::drop_plan() {
  mode_.fetch_and(~kPlan, std::memory_order_seq_cst);
  arena_.keep_planned(false);
  std::lock_guard const guard(plan_lock_);
  plan_ = nullptr;
}

}  // namespace tidemark::allocator
