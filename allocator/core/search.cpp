// SPDX-License-Identifier: Apache-2.0
// The order in which memory is looked for when the magazines have none, from what costs nothing to what makes the
// program wait. After every step that may have freed something, everything before it is tried again.
#include <array>
#include <mutex>

#include "allocator/core/allocator.h"

namespace tidemark::allocator {

Record* Allocator::search(const Want& want) {
  using Step = Record* (Allocator::*)(const Want&);
  static constexpr std::array<Step, 11> kSteps = {
      &Allocator::reuse,
      &Allocator::harvest_and_take,
      &Allocator::merge_and_take,
      &Allocator::take_finished_of_others,
      &Allocator::take_from_own_magazines,
      &Allocator::extend,
      &Allocator::take_from_magazines,
      &Allocator::take_behind_a_wait,
      &Allocator::wait_and_take,
      &Allocator::rob_plan_and_take,
      &Allocator::synchronize_and_take,
  };
  for (auto const step : kSteps)
    if (Record* const block = (this->*step)(want)) return block;
  remember_failure(want);
  return nullptr;
}

Record* Allocator::reuse(const Want& want) {
  if (Record* const block = pop_cached(want.domain, want.granules)) return block;
  if (want.domain != DomainId::Shared)
    if (Record* const block = pop_cached(DomainId::Shared, want.granules)) return block;
  if (is_growing()) {
    empty_own_magazines();
    merge_cache(DomainId::Shared);
    if (want.domain != DomainId::Shared) merge_cache(want.domain);
  }
  return arena_.take(want);
}

// While a program still finds its size, free blocks are merged at every miss: where blocks lie then decides how much
// will ever be reserved. When nothing has been added for a while, they stay as they are until no hole fits.
bool Allocator::is_growing() {
  constexpr std::uint64_t kCalm = 4096;
  return misses_.fetch_add(1, std::memory_order_relaxed) - last_extension_.load(std::memory_order_relaxed) < kCalm;
}

bool Allocator::harvest() {
  return harvest(true);
}

bool Allocator::harvest(bool close_batch) {
  std::uint32_t const mode = mode_.load(std::memory_order_acquire);
  if ((mode & kCapture) != 0 || ((mode & kMulti) == 0 && pending_.pending_bytes() == 0)) return false;
  if (close_batch) pending_.close_batch();
  streams_.poll();
  std::vector<Record*> const ready = pending_.collect();
  for (Record* const block : ready) {
    if (block->planned) {
      free_passed_plan(*block);
      continue;
    }
    block->domain = DomainId::Shared;
    put_in_cache(*block);
  }
  return !ready.empty();
}

Record* Allocator::harvest_and_take(const Want& want) {
  return harvest() ? reuse(want) : nullptr;
}

// The blocks of a cache become holes: a domain's own ones, or everybody's where its stream has passed.
void Allocator::merge_cache(DomainId domain) {
  ExactCache* const c = caches_[static_cast<std::size_t>(domain)].load(std::memory_order_acquire);
  if (c == nullptr) return;
  for (Record* const block : c->take_all()) {
    bool const passed = domain != DomainId::Shared && streams_.passed({domain, block->stamp});
    arena_.release(*block, passed ? DomainId::Shared : domain, passed ? 0 : block->stamp);
  }
}

Record* Allocator::merge_and_take(const Want& want) {
  merge_cache(DomainId::Shared);
  if (want.domain != DomainId::Shared) merge_cache(want.domain);
  return arena_.take(want);
}

Record* Allocator::take_finished_of_others(const Want& want) {
  if ((mode_.load(std::memory_order_acquire) & kMulti) == 0) return nullptr;
  streams_.for_each([&](DomainId domain) {
    merge_cache(domain);
    arena_.promote(domain, streams_.passed(domain));
  });
  return arena_.take(want);
}

// What this thread keeps for itself must not make the device give more. Other threads are stopped only later.
Record* Allocator::take_from_own_magazines(const Want& want) {
  if (!empty_own_magazines()) return nullptr;
  merge_everything();
  return arena_.take(want);
}

Record* Allocator::extend(const Want& want) {
  return extend(want, false);
}

// A plan's region keeps its frames for its next round, but not against a failure.
Record* Allocator::rob_plan_and_take(const Want& want) {
  bool const leases = has_leases();
  if (leases) end_leases(false);
  return leases || (mode_.load(std::memory_order_acquire) & kPlan) != 0 ? extend(want, true) : nullptr;
}

// A frame may move only when nothing uses it any more. Growing stops the device in most drivers anyway, so waiting for
// the stream costs little more, and it is over when the program has found its size.
void Allocator::wait_for_frames() {
  if (!options_.stitch || (mode_.load(std::memory_order_acquire) & kCapture) != 0) return;
  DomainId const sole = sole_.load(std::memory_order_acquire);
  if (!arena_.has_unpassed_frames(streams_.passed(sole))) return;
  Mark end;
  if (may_mark(sole)) streams_.mark(sole, &end);
  streams_.poll();
  if (may_wait() && arena_.has_unpassed_frames(streams_.passed(sole))) streams_.wait_for_end(sole);
}

Record* Allocator::extend(const Want& want, bool rob_plan) {
  bool const captures = (mode_.load(std::memory_order_acquire) & kCapture) != 0;
  DomainId const sole = sole_.load(std::memory_order_acquire);
  // What the program does not follow any more must not make the device give more.
  if (lost_leases_.load(std::memory_order_relaxed)) end_leases(true);
  wait_for_frames();
  GrowthLimit const limit{.frames = limit_frames_,
                          .sole_passed = streams_.passed(sole),
                          .stitch = options_.stitch && !captures,
                          .rob_plan = rob_plan};
  Record* block = nullptr;
  Status status = arena_.grow(want, limit, &block);
  // Segments cannot be joined: those that are idle make room for one that is large enough.
  if (status != Status::Ok && !arena_.pool().can_map() && !captures && arena_.trim(~0ull >> 1, limit) != 0)
    status = arena_.grow(want, limit, &block);
  if (status != Status::Ok) return nullptr;
  extensions_.fetch_add(1, std::memory_order_relaxed);
  if (options_.plan && !pilot_started_.load(std::memory_order_relaxed) &&
      arena_.pool().reserved_frames() * kFrameBytes >= options_.plan_from_bytes)
    start_pilot();
  last_extension_.store(misses_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  return block;
}

Record* Allocator::take_from_magazines(const Want& want) {
  empty_magazines();
  if (Record* const block = reuse(want)) return block;
  merge_everything();
  if (Record* const block = arena_.take(want)) return block;
  return extend(want);
}

// Memory of another stream, behind a dependency: the wanting stream waits on the device, the program does not.
Record* Allocator::take_behind_a_wait(const Want& want) {
  bool const captures = (mode_.load(std::memory_order_acquire) & kCapture) != 0;
  if (want.domain == DomainId::Shared || !options_.insert_waits || captures) return nullptr;
  Record* found = nullptr;
  streams_.for_each([&](DomainId other) {
    if (found != nullptr || other == want.domain) return;
    Record* const block = arena_.take_from(other, want);
    if (block == nullptr) return;
    if (streams_.put_before(other, want.domain) == Status::Ok) {
      inserted_waits_.fetch_add(1, std::memory_order_relaxed);
      found = block;
    } else {
      arena_.release(*block, other, streams_.stamp(other));
    }
  });
  return found;
}

Record* Allocator::wait_and_take(const Want& want) {
  if ((mode_.load(std::memory_order_acquire) & (kMulti | kCapture)) != kMulti) return nullptr;
  pending_.close_batch();
  std::vector<Mark> marks;
  streams_.mark_busy(marks);
  while (wait_for_some()) {
    harvest();
    merge_everything();
    if (Record* const block = arena_.take(want)) return block;
    if (Record* const block = extend(want)) return block;
  }
  return nullptr;
}

// A free of the cudaMalloc family would have waited for the streams that were busy, and whoever keeps them busy has to
// reckon with it. For other work that may hang on the host nobody can be made to wait: he may be the one to let it go.
bool Allocator::wait_for_some() {
  std::vector<Mark> const marks = pending_.oldest();
  for (const Mark& mark : marks)
    if (streams_.wait_for(mark) != Status::Ok) return false;
  if (!marks.empty()) return true;
  return !host_holds_.load(std::memory_order_relaxed) && streams_.wait_for_one();
}

bool Allocator::wait_for_all() {
  if (!host_holds_.load(std::memory_order_relaxed)) return streams_.synchronize() == Status::Ok;
  bool waited = false;
  pending_.close_batch();
  while (!pending_.oldest().empty() && wait_for_some()) {
    harvest();
    waited = true;
  }
  return waited;
}

Record* Allocator::synchronize_and_take(const Want& want) {
  if ((mode_.load(std::memory_order_acquire) & kCapture) != 0) return nullptr;
  if (!wait_for_all()) return nullptr;
  harvest();
  empty_magazines();
  merge_everything();
  if (Record* const block = arena_.take(want)) return block;
  return extend(want, true);
}

void Allocator::merge_everything() {
  merge_cache(DomainId::Shared);
  streams_.for_each([&](DomainId domain) {
    merge_cache(domain);
    arena_.promote(domain, streams_.passed(domain));
  });
}

std::uint64_t Allocator::give_back(std::uint64_t bytes, Patience patience) {
  if ((mode_.load(std::memory_order_acquire) & kCapture) != 0) return 0;
  if (patience == Patience::Never) return give_back_passed(bytes, true);
  std::uint64_t given = give_back_idle(bytes);
  if (given < bytes && wait_for_all()) given += give_back_passed(bytes - given, true);
  return given;
}

Status Allocator::memory_info(DeviceMemory* memory) {
  if (Status const s = arena_.pool().upstream().memory(memory); s != Status::Ok) return s;
  std::uint64_t const ours = arena_.use().reserved_bytes;
  std::uint64_t const returnable = arena_.returnable_bytes();
  memory->free_bytes += returnable;
  if (options_.limit_bytes != 0 && options_.limit_bytes < memory->total_bytes) {
    memory->total_bytes = options_.limit_bytes;
    std::uint64_t const needed = ours - std::min(ours, returnable);
    memory->free_bytes = std::min(memory->free_bytes, options_.limit_bytes - std::min(options_.limit_bytes, needed));
  }
  return Status::Ok;
}

void Allocator::remember_failure(const Want& want) {
  failures_.fetch_add(1, std::memory_order_relaxed);
  Statistics const s = statistics();
  ArenaUse const use = arena_.use();
  DeviceMemory memory;
  arena_.pool().upstream().memory(&memory);
  std::uint64_t held = 0;
  {
    std::lock_guard const guard(capture_lock_);
    for (const Held& h : held_) held += to_bytes(h.block->granules);
  }
  std::lock_guard const guard(failure_lock_);
  failure_ = {.wanted_bytes = to_bytes(want.granules),
              .live_bytes = s.live_bytes,
              .reserved_bytes = s.reserved_bytes,
              .limit_bytes = options_.limit_bytes,
              .driver_free_bytes = memory.free_bytes,
              .hole_bytes = use.hole_bytes,
              .largest_hole_bytes = use.largest_hole_bytes,
              .held_by_captures_bytes = held};
}

OutOfMemory Allocator::last_failure() const {
  std::lock_guard const guard(failure_lock_);
  return failure_;
}

}  // namespace tidemark::allocator
