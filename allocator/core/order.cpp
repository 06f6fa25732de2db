// SPDX-License-Identifier: Apache-2.0
// When the order of one stream is no longer everybody's.
#include <algorithm>
#include <mutex>

#include "allocator/core/allocator.h"

namespace tidemark::allocator {

void Allocator::use_first_time(DomainId stream) {
  std::lock_guard const guard(order_lock_);
  if (streams_.is_used(stream)) return;
  DomainId const sole = sole_.load(std::memory_order_relaxed);
  if (sole == DomainId::Shared) {
    sole_.store(stream, std::memory_order_release);
  } else {
    if ((mode_.load(std::memory_order_relaxed) & kMulti) == 0) {
      become_multi();
      if (options_.wait_at_second) streams_.wait_for_end(sole);
    }
    // What was freed while there was one stream may be in use at its end, and is everybody's. Later streams begin
    // behind it. If the order cannot be made on the device, this thread waits.
    if (streams_.put_behind({sole, switched_at_}, stream) != Status::Ok) streams_.synchronize();
  }
  streams_.set_used(stream);
}

// From here on a free says which streams it has to wait for. Frees that were decided before are all over when this
// returns: the latest of their stamps is behind every use of what they freed.
void Allocator::become_multi() {
  mode_.fetch_or(kMulti, std::memory_order_seq_cst);
  std::uint64_t latest = pass_threads();
  {
    std::lock_guard const guard(cache(DomainId::Shared).lock());
    latest = std::max(latest, shared_stamp_);
  }
  {
    std::lock_guard const guard(pilot_.lock());
    latest = std::max(latest, leased_stamp_);
    // Each stream's allocations are a loop of their own from now on.
    if (pilot_started_.load(std::memory_order_relaxed)) mode_.fetch_or(kSeen | kRecord, std::memory_order_seq_cst);
  }
  switched_at_ = latest;
}

// The event behind which later streams begin is recorded now.
void Allocator::end_single_order() {
  std::lock_guard const guard(order_lock_);
  if ((mode_.load(std::memory_order_relaxed) & kMulti) != 0) return;
  become_multi();
  mark_sole();
}

// Behind it stands what was freed in the first stream's order.
void Allocator::mark_sole() {
  DomainId const sole = sole_.load(std::memory_order_relaxed);
  Mark end;
  if (sole == DomainId::Shared) return;
  if (streams_.mark(sole, &end) != Status::Ok) streams_.synchronize();
  if (options_.wait_at_second) streams_.wait_for_end(sole);
}

void Allocator::expect_held_work() {
  // Who has to wait at the second stream cannot do so behind work that is held.
  if (options_.wait_at_second) end_single_order();
  std::lock_guard const guard(order_lock_);
  if ((mode_.load(std::memory_order_relaxed) & kMulti) == 0) mark_sole();
  host_holds_.store(true, std::memory_order_relaxed);
}

void Allocator::expect_unseen_submissions() {
  std::lock_guard const guard(order_lock_);
  bool const was_single = (mode_.load(std::memory_order_relaxed) & kMulti) == 0;
  if (was_single) become_multi();
  streams_.expect_unseen();
  // Unseen work may begin in any stream now, and there is no call of it before which a dependency could be placed.
  if (was_single && sole_.load() != DomainId::Shared) streams_.wait_for_end(sole_.load());
}

void Allocator::remove_stream(DomainId stream) {
  leave_loop_of(stream);
  streams_.retire(stream);
  merge_ended(stream);
}

void Allocator::stream_is_gone(DomainId stream) {
  leave_loop_of(stream);
  streams_.gone(stream);
  merge_ended(stream);
}

void Allocator::merge_ended(DomainId stream) {
  // Its number may serve another stream: blocks kept in its order go to the arena with their stamps.
  if ((mode_.load(std::memory_order_acquire) & kMulti) != 0) {
    empty_magazines();
    merge_cache(stream);
  }
}

}  // namespace tidemark::allocator
