// SPDX-License-Identifier: Apache-2.0
// What has to be done for a plan between two allocations, by the thread whose allocation is next: layouts are made and
// taken up at the cut, and what is left over goes back to the driver.
#include <algorithm>
#include <mutex>
#include <utility>

#include "allocator/core/allocator.h"

namespace tidemark::allocator {

namespace {
// A plan is worth its trouble from this part of what is reserved.
constexpr std::uint64_t kWorthPart = 256;
// Iterations in a row in which the driver was called: a plan would end that.
constexpr unsigned kRestless = 3;
constexpr std::uint64_t kCarriedPart = 16;
constexpr Granules kLeastStrip = (16 << 10) / kGranuleBytes;  // smaller holes hold nothing that matters
constexpr std::size_t kMostStrips = 128;
constexpr unsigned kMostSearches = 3;  // where strips were taken meanwhile
}  // namespace

void Allocator::tend(std::unique_lock<FutexLock>& guard, Loop& loop, Chore chore) {
  loop.is_tended = true;
  switch (chore) {
    case Chore::Solve: begin_solving(guard, loop); break;
    case Chore::Work:
      guard.unlock();
      loop.solving->work();
      guard.lock();
      break;
    case Chore::Search: search_better(guard, loop); break;
    case Chore::Adopt: adopt(guard, loop); break;
    case Chore::Improve: improve(guard, loop); break;
    case Chore::Discard: pilot_.discard_solving(loop); break;
    case Chore::Trim: trim_beside(guard, loop); break;
    case Chore::None: break;
  }
  loop.is_tended = false;
  set_pilot_mode();
}

void Allocator::give_up_solving() {
  std::lock_guard const guard(pilot_.lock());
  pilot_.for_each([](Loop& loop) {
    if (loop.solving) loop.solving->cancel();
  });
}

void Allocator::begin_solving(std::unique_lock<FutexLock>& guard, Loop& loop) {
  loop.has_iteration = false;
  if (!loop.learner.can_take()) return;
  plan::Recorded iteration = loop.learner.take();
  loop.extensions = extensions_.load(std::memory_order_relaxed);
  loop.restless_iterations = 0;
  guard.unlock();
  SearchBudget const budget{.seconds = options_.plan_search_seconds, .looks = options_.plan_search_looks};
  auto solving = Solving::start(std::move(iteration), budget, !options_.plan_in_foreground);
  guard.lock();
  loop.solving = std::move(solving);
  loop.adopted = nullptr;
}

// What would be reserved with the plan: what is live outside of it, and its frames. Where that saves nothing and the
// loop runs without the driver as it is, blocks by size are faster.
Allocator::Worth Allocator::worth_of(Loop& loop, std::uint64_t planned_live_bytes) const {
  Statistics const now = statistics();
  std::uint64_t const outside = now.live_bytes - std::min(now.live_bytes, planned_live_bytes);
  std::uint64_t const height = round_up(loop.solving->first().layout.height, kFrameBytes);
  // A loop that is a small part of the program cannot be what keeps the rest of its memory apart.
  std::uint64_t const gain = std::min(now.reserved_bytes - std::min(now.reserved_bytes, outside + height), height / 4);
  if (gain >= std::max(kFrameBytes, now.reserved_bytes / kWorthPart)) return Worth::Yes;
  std::uint64_t const extensions = extensions_.load(std::memory_order_relaxed);
  if (std::exchange(loop.extensions, extensions) == extensions) return Worth::No;
  return ++loop.restless_iterations >= kRestless ? Worth::Yes : Worth::PerhapsLater;
}

void Allocator::adopt(std::unique_lock<FutexLock>& guard, Loop& loop) {
  const Solved& first = loop.solving->first();
  bool const goes_on = loop.learner.goes_on(loop.solving->iteration());
  bool const first_plan = loop.replay.plans() == 0;
  std::uint64_t const live = goes_on ? first.layout.cut_bytes : loop.learner.live_granules() * kGranuleBytes;
  guard.unlock();
  Worth worth = first_plan ? worth_of(loop, live) : Worth::Yes;
  if (!has_room_to_switch(first.layout.cut_bytes)) worth = Worth::No;
  if (worth == Worth::Yes && goes_on) gather_frames();
  guard.lock();
  if (worth == Worth::PerhapsLater && goes_on) return;
  loop.unworthy = worth != Worth::Yes;
  if (loop.unworthy) {
    ++pilot_.counts.unworthy;
    pilot_.discard_solving(loop);
    return;
  }
  bool const at_cut = loop.learner.is_at(loop.solving->iteration(), first.layout.cut_block);
  loop.adopted = first.plan.get();
  ++pilot_.counts.plans;
  take_up(loop, first.plan, at_cut);
}

// The first layout is served and what it does not need has gone back: holes that are left now lie in frames that blocks
// outside of the plan hold on to.
void Allocator::search_better(std::unique_lock<FutexLock>& guard, Loop& loop) {
  guard.unlock();
  std::vector<plan::Strip> strips;
  plan::Strip lead;
  Granules const height = to_granules(loop.solving->first().layout.height);
  for (const Arena::Stretch& s : arena_.stretches({.domain = loop.domain, .granules = kLeastStrip}, now_passed())) {
    plan::Strip const strip{.offset = plan::kBeside + to_bytes(s.offset),
                            .size_bytes = to_bytes(s.granules),
                            .least_bytes = to_bytes(s.least)};
    // The largest behind which there is address space for the region, and for others as much again.
    if (lead.size_bytes == 0 && s.least == 1 && s.room / 2 >= height)
      lead = strip;
    else if (strips.size() < kMostStrips)
      strips.push_back(strip);
  }
  loop.solving->search(std::move(strips), lead);
  bool const here = !loop.solving->has_thread();
  if (here) loop.solving->work();
  guard.lock();
  if (here && loop.solving->better().plan) improve(guard, loop);
}

GrowthLimit Allocator::now_passed() const {
  return {.sole_passed = streams_.passed(sole_.load(std::memory_order_acquire))};
}

// Something may have come to lie in a strip since.
bool Allocator::are_free(std::vector<plan::Strip> strips, const plan::Strip& lead, DomainId domain) const {
  if (lead.size_bytes != 0) strips.push_back(lead);
  auto const free = arena_.stretches({.domain = domain, .granules = kLeastStrip}, now_passed());
  return std::all_of(strips.begin(), strips.end(), [&](const plan::Strip& s) {
    Granules const begin = to_granules(s.offset - plan::kBeside), end = begin + to_granules(s.size_bytes);
    return std::any_of(free.begin(), free.end(),
                       [&](const auto& f) { return f.offset <= begin && end <= f.offset + f.granules; });
  });
}

void Allocator::improve(std::unique_lock<FutexLock>& guard, Loop& loop) {
  const Solved& better = loop.solving->better();
  guard.unlock();
  bool const room = has_room_to_switch(better.layout.cut_bytes);
  bool const free = are_free(better.layout.strips, better.layout.lead, loop.domain);
  guard.lock();
  if (room && (!loop.is_at_cut() || &loop.replay.current()->plan() != loop.adopted)) return;
  if (room && !free && loop.solving->searches() < kMostSearches) {
    search_better(guard, loop);
    return;
  }
  // What is carried over the cut lies where the new layout has others: their places are served elsewhere as long as
  // that lives. So the old region is left, and its frames come over as they become free.
  if (room && free && end_lease(loop)) {
    ++pilot_.counts.improved;
    take_up(loop, better.plan, true);
  }
  pilot_.discard_solving(loop);
}

// While a layout takes over from what was before, frames are filled in part on both sides: measured on recorded runs,
// up to a twenty-fifth of what is carried over. A program that would fail for want of that is better off as it is.
bool Allocator::has_room_to_switch(std::uint64_t carried_bytes) const {
  std::uint64_t const needed = carried_bytes / kCarriedPart;
  if (needed < kFrameBytes) return true;
  std::uint64_t const reserved = arena_.pool().reserved_frames();
  if (reserved + needed / kFrameBytes > limit_frames_) return false;
  DeviceMemory memory;
  return arena_.pool().upstream().memory(&memory) == Status::Ok && memory.free_bytes >= needed;
}

void Allocator::take_up(Loop& loop, const std::shared_ptr<const plan::ServingPlan>& plan, bool at_cut) {
  loop.replay.add(plan, at_cut);
  if (at_cut) loop.missed = loop.probation = 0;
  loop.wants_trim = loop.trimmed = false;
  loop.strays = loop.occupied = 0;
  loop.good_iterations = loop.bad_iterations = 0;
  if (loop.lease && !loop.lease->allow(loop.replay, now_passed())) end_lease(loop);
}

// Caches and magazines become holes whose frames can move.
void Allocator::gather_frames() {
  if ((mode_.load(std::memory_order_acquire) & kCapture) != 0) return;
  if (DomainId const sole = sole_.load(std::memory_order_acquire); sole != DomainId::Shared && may_wait())
    streams_.wait_for_end(sole);
  harvest();
  empty_magazines();
  merge_everything();
}

// A round of the plan has shown what it needs.
void Allocator::trim_beside(std::unique_lock<FutexLock>& guard, Loop& loop) {
  loop.wants_trim = false;
  loop.trimmed = true;
  Lease* const lease = loop.lease.get();
  if (lease == nullptr || (mode_.load(std::memory_order_acquire) & kCapture) != 0) return;
  Granules const top = lease->top();
  ++loop.mappings;
  guard.unlock();
  gather_frames();
  std::uint64_t const passed = streams_.passed(sole_.load(std::memory_order_acquire));
  arena_.trim(~0ull >> 1, {.sole_passed = passed});
  // Work that used what is above the plan was over before the plan was changed, or is waited for here.
  if (may_wait() && (loop.domain == DomainId::Shared || streams_.wait_for_end(loop.domain) == Status::Ok))
    lease->trim(top);
  guard.lock();
  --loop.mappings;
  lease->complete(loop.replay, now_passed());
}

}  // namespace tidemark::allocator
