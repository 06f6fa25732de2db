// SPDX-License-Identifier: Apache-2.0
// The way of an allocation that the pilot watches: from its place in a plan, else as any other. Cheap where a plan is
// followed: one lock, a comparison, some bits.
#include <mutex>

#include "allocator/core/allocator.h"

namespace tidemark::allocator {

namespace {
constexpr std::uint64_t kLongLost = 1024;      // allocations after which a lease is given up, at least
constexpr std::uint64_t kForgotten = 1 << 16;  // allocations of others after which it is, too
constexpr std::uint64_t kLookAround = 4096;
constexpr std::uint64_t kFirstBar = 1 << 12;  // allocations without a lease after one had to be given up
constexpr std::uint64_t kLongestBar = 1 << 24;
}  // namespace

Status Allocator::allocate_seen(const Request& request, std::uint64_t* address) {
  std::uint32_t const mode = mode_.load(std::memory_order_acquire);
  if ((mode & (kCapture | kPlan)) != 0 || request.whole || !options_.sub_allocate)
    return allocate_behind(request, address);
  ThreadCache* const thread = attach_thread();
  DomainId const domain = effective(request.domain, mode);
  Granules const granules = granules_of(request.bytes);
  if (Record* const block = serve(domain, request, granules)) {
    *address = block->address.load(std::memory_order_relaxed);
    if (thread != nullptr)
      count_allocation(thread->counts, *block);
    else
      count_behind(*block, true);
    return Status::Ok;
  }
  Record* block = nullptr;
  if (thread != nullptr && thread->enter()) {
    block = allocate_from_magazine(*thread, request, granules, kCapture | kPlan);
    if (block != nullptr) *address = block->address.load(std::memory_order_relaxed);
    thread->leave();
  }
  if (block == nullptr) {
    if (Status const status = allocate_behind(request, address); status != Status::Ok) return status;
    block = arena_.find(*address);
  }
  // Nobody knows the block yet but this thread.
  std::lock_guard const guard(pilot_.lock());
  Loop* const loop = pilot_.loop_of(domain);
  if (loop != nullptr && loop->learner.is_recording()) {
    block->left = pilot_.record(*loop, granules);
    if (!loop->learner.is_recording()) set_pilot_mode();
  }
  return Status::Ok;
}

Record* Allocator::serve(DomainId domain, const Request& request, Granules granules) {
  std::unique_lock guard(pilot_.lock());
  pilot_.count_event();
  Loop* loop = pilot_.loop_of(domain);
  if (loop == nullptr) [[unlikely]] {
    loop = pilot_.add(domain);
    if (loop == nullptr) return nullptr;
    loop->learner.start();
    set_pilot_mode();
  }
  if (Chore const chore = pilot_.due(*loop); chore != Chore::None) [[unlikely]]
    tend(guard, *loop, chore);
  if (pilot_.events() % kLookAround == 0) [[unlikely]]
    look_around();
  auto const step = pilot_.follow(*loop, granules);
  if (!step) {
    if (loop->is_lost() && loop->missed != 0) on_lost(*loop);
    return nullptr;
  }
  if (!loop->lease && !open_lease(*loop)) return nullptr;
  std::uint32_t const place = loop->lease->find(step->plan, step->entry);
  if (place == Lease::kNone) return nullptr;
  Record& block = loop->lease->record(place);
  if (!take_place(guard, *loop, *step)) {
    ++loop->occupied;
    ++pilot_.counts.misses;
    return nullptr;
  }
  Record* served = &block;
  if (!loop->lease->is_mapped(block.right))
    served = map_place(guard, *loop, block, request, step->plan->is_carried(step->entry));
  ++(served == &block ? pilot_.counts.hits : pilot_.counts.misses);
  if (served == nullptr) return nullptr;
  if (served == &block) loop->lease->show(block.right);
  hand_out(*served, request.bytes);
  if (loop->learner.is_recording()) {
    served->left = pilot_.record(*loop, granules);
    if (!loop->learner.is_recording()) set_pilot_mode();
  }
  return served;
}

// Where streams have to pass first, some may have done so since they were asked last.
bool Allocator::take_place(std::unique_lock<FutexLock>& guard, Loop& loop, const plan::Replay::Step& step) {
  if (loop.lease->take(loop.lease->find(step.plan, step.entry))) return true;
  if ((mode_.load(std::memory_order_relaxed) & kMulti) == 0) return false;
  Lease* const lease = loop.lease.get();
  guard.unlock();
  bool const more = harvest();
  guard.lock();
  if (!more || loop.lease.get() != lease) return false;
  std::uint32_t const place = lease->find(step.plan, step.entry);
  return place != Lease::kNone && lease->take(place);
}

bool Allocator::open_lease(Loop& loop) {
  if (loop.barred != 0) {
    --loop.barred;
    return false;
  }
  loop.lease = Lease::make(arena_, loop.domain, loop.replay, now_passed());
  loop.trimmed = loop.wants_trim = false;
  loop.good_iterations = 0;
  if (!loop.lease) loop.barred = kFirstBar;
  return loop.lease != nullptr;
}

// The place is taken and gets frames from holes. In the first round, what the program had before the plan is in the way
// and holds frames in part. So in its first iteration only what will be alive at the next cut comes here, and the rest
// goes into holes once more; and later, where there are not enough frames, a hole will do before the device gives more.
Record* Allocator::map_place(std::unique_lock<FutexLock>& guard, Loop& loop, Record& block, const Request& request,
                             bool carried) {
  Lease& lease = *loop.lease;
  block.state.store(State::Busy, std::memory_order_relaxed);
  bool const first_round = !loop.trimmed;
  bool const stays_outside = first_round && loop.good_iterations == 0 && !carried;
  Want const want{.domain = loop.domain, .granules = block.granules, .lifetime = request.lifetime, .anywhere = true};
  Record* elsewhere = nullptr;
  ++loop.mappings;  // so that nobody ends the lease
  guard.unlock();
  if (lease.lacks_frames(block)) {
    empty_own_magazines();
    harvest();
    merge_everything();
    if (may_wait()) wait_for_frames();
    if (stays_outside) elsewhere = arena_.take(want);
  }
  GrowthLimit limit{.frames = limit_frames_,
                    .sole_passed = streams_.passed(sole_.load(std::memory_order_acquire)),
                    .stitch = options_.stitch && (mode_.load(std::memory_order_acquire) & kCapture) == 0,
                    .grow = !first_round};
  Status status = elsewhere != nullptr ? Status::NotReady : lease.map(block, limit);
  if (status == Status::OutOfMemory && first_round) {
    elsewhere = arena_.take(want);
    limit.grow = true;
    if (elsewhere == nullptr) status = lease.map(block, limit);
  }
  guard.lock();
  --loop.mappings;
  if (status == Status::Ok) {
    lease.set_mapped(block.right);
    return &block;
  }
  lease.release(block);
  return elsewhere;
}

void Allocator::on_lost(Loop& loop) {
  if (loop.missed == Loop::kGone && loop.learner.is_recording()) {
    loop.learner.forget_peak();
  } else if (loop.missed == Loop::kGone) {
    loop.learner.start();
    set_pilot_mode();
  }
  if (!loop.lease) return;
  lost_leases_.store(true, std::memory_order_relaxed);
  const plan::PlanCursor* const cursor = loop.replay.current();
  if (cursor == nullptr || loop.missed >= std::max<std::uint64_t>(kLongLost, 2 * cursor->plan().entries()))
    end_lease(loop);
}

// Loops that nobody asks any more keep nothing; the mode follows what there is to watch.
void Allocator::look_around() {
  pilot_.for_each([&](Loop& loop) {
    if (loop.lease && pilot_.is_idle(loop)) lost_leases_.store(true, std::memory_order_relaxed);
    if (pilot_.events() - loop.last_event < kForgotten) return;
    end_lease(loop);
    if (!loop.lease && !loop.is_tended) pilot_.forget(loop);
    if (loop.learner.is_recording() && !loop.is_tended) pilot_.stop_recording(loop, kForgotten);
  });
  set_pilot_mode();
}

bool Allocator::end_lease(Loop& loop) {
  if (!loop.lease) return true;
  if (loop.mappings != 0) return false;
  // Work that used what is free was submitted before this: the next event of the stream stands behind it.
  DomainId const stream = loop.domain == DomainId::Shared ? sole_.load(std::memory_order_acquire) : loop.domain;
  loop.lease->finish(loop.domain, streams_.stamp(stream));
  loop.lease.reset();
  loop.good_iterations = 0;
  ++pilot_.counts.leases_ended;
  return true;
}

void Allocator::end_leases(bool only_lost) {
  std::lock_guard const guard(pilot_.lock());
  lost_leases_.store(false, std::memory_order_relaxed);
  pilot_.for_each([&](Loop& loop) {
    if (!loop.lease || (only_lost && !loop.is_lost() && !pilot_.is_idle(loop))) return;
    if (!end_lease(loop) || only_lost) return;
    loop.bar = std::min(std::max(2 * loop.bar, kFirstBar), kLongestBar);
    loop.barred = loop.bar;
  });
}

bool Allocator::has_leases() {
  std::lock_guard const guard(pilot_.lock());
  bool has = false;
  pilot_.for_each([&](const Loop& loop) { has = has || loop.lease != nullptr; });
  return has;
}

// --- frees ---

// False: its lease has ended meanwhile, and it is a block like others.
bool Allocator::release_leased(Record& block, DomainId domain) {
  {
    std::lock_guard const guard(pilot_.lock());
    if (!block.leased.load(std::memory_order_acquire)) return false;
    // As for other frees, the mode is read where a change of it waits for us.
    bool const multi = (mode_.load(std::memory_order_acquire) & kMulti) != 0;
    Loop* const loop = pilot_.holder_of(block);
    if (!multi || (domain == loop->domain && domain != DomainId::Shared)) {
      if (!multi) stamp_single(leased_stamp_);
      loop->lease->release(block);
      return true;
    }
  }
  pending_.add(block);
  return true;
}

bool Allocator::free_leased(Record& block, DomainId domain) {
  if ((mode_.load(std::memory_order_acquire) & (kCapture | kRecord)) != 0 || block.capture != 0) return false;
  Record const& r = block;
  Granules const granules = r.granules;
  std::uint32_t const slack = r.slack_bytes;
  if (!release_leased(block, domain)) return false;
  if (ThreadCache* const thread = own_cache()) {
    count_free(thread->counts, granules, slack);
  } else {
    std::lock_guard const guard(counts_lock_);
    count_free(behind_, granules, slack);
  }
  return true;
}

void Allocator::record_free(const Record& block) {
  if (block.left == 0) return;
  std::lock_guard const guard(pilot_.lock());
  pilot_.record_free(block.left, block.granules);
}

// --- whether there is anything to watch ---

// Under the pilot's lock.
void Allocator::set_pilot_mode() {
  bool const records = pilot_.is_recording();
  std::uint32_t const bits = (records || pilot_.has_plans() ? kSeen : 0) | (records ? kRecord : 0);
  std::uint32_t mode = mode_.load(std::memory_order_relaxed);
  while (!mode_.compare_exchange_weak(mode, (mode & ~(kSeen | kRecord)) | bits, std::memory_order_seq_cst)) {
  }
}

void Allocator::start_pilot() {
  std::lock_guard const guard(pilot_.lock());
  if (pilot_started_.exchange(true)) return;
  mode_.fetch_or(kSeen | kRecord, std::memory_order_seq_cst);
}

void Allocator::rest(std::uint64_t allocations) {
  if (!pilot_started_.load(std::memory_order_relaxed)) return;
  std::lock_guard const guard(pilot_.lock());
  if (pilot_.on_rest(allocations, extensions_.load(std::memory_order_relaxed))) set_pilot_mode();
}

void Allocator::mark_step() {
  std::lock_guard const guard(pilot_.lock());
  pilot_.for_each([](Loop& loop) {
    if (loop.learner.is_recording()) loop.learner.on_mark();
  });
}

void Allocator::leave_loop_of(DomainId stream) {
  std::lock_guard const guard(pilot_.lock());
  Loop* const loop = pilot_.loop_of(stream);
  if (loop == nullptr || stream == DomainId::Shared) return;
  end_lease(*loop);
  if (!loop->is_tended) pilot_.forget(*loop);
  if (loop->learner.is_recording()) pilot_.stop_recording(*loop, kForgotten);
  set_pilot_mode();
}

}  // namespace tidemark::allocator
