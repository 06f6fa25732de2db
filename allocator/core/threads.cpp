// SPDX-License-Identifier: Apache-2.0
// Threads come, are stopped for a moment, and go.
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <mutex>
#include <new>

#include "allocator/core/allocator.h"

namespace tidemark::allocator {

namespace {

// Which allocator has which slot. Outlives everything: threads end after main.
struct Directory {
  FutexLock lock;
  std::array<Allocator*, kMostAllocators> allocators{};
  std::array<std::uint64_t, kMostAllocators> serials{};
  std::uint64_t next_serial = 1;
  pthread_key_t key = 0;
  bool has_key = false;
  pid_t process = 0;  // whose allocators these are
};
constinit Directory g_directory;

// Set when this thread's caches were taken down: what it still frees on its way out goes behind the magazines.
thread_local constinit bool t_ended __attribute__((tls_model("initial-exec"))) = false;

}  // namespace

std::unique_ptr<Allocator> Allocator::make(Upstream& upstream, const Options& options) {
  std::unique_ptr<Allocator> made(new Allocator(upstream, options));
  {
    std::lock_guard const guard(g_directory.lock);
    if (!g_directory.has_key) g_directory.has_key = pthread_key_create(&g_directory.key, &leave_thread) == 0;
    g_directory.process = getpid();
    std::size_t slot = 0;
    while (slot < kMostAllocators && g_directory.allocators[slot] != nullptr) ++slot;
    if (slot == kMostAllocators || !g_directory.has_key || !made->caches_) return nullptr;
    g_directory.allocators[slot] = made.get();
    g_directory.serials[slot] = made->serial_ = g_directory.next_serial++;
    made->slot_ = slot;
  }
  if (made->arena_.start() != Status::Ok) return nullptr;
  return made;
}

Allocator::~Allocator() {
  if (serial_ != 0) {
    std::lock_guard const guard(g_directory.lock);
    g_directory.allocators[slot_] = nullptr;
    g_directory.serials[slot_] = 0;
  }
  while (threads_ != nullptr) {
    ThreadCache* const next = threads_->next;
    delete threads_;
    threads_ = next;
  }
  if (caches_)
    for (std::size_t i = 0; i < Streams::kMost; ++i) delete caches_[i].load();
}

ThreadCache* Allocator::attach_thread() {
  if (ThreadCache* const there = own_cache()) return there;
  if (t_ended) return nullptr;
  auto* const made = new (std::nothrow) ThreadCache(shared_, sections_need_fences());
  if (made == nullptr) return nullptr;
  {
    std::lock_guard const guard(threads_lock_);
    made->next = threads_;
    threads_ = made;
  }
  t_slots[slot_] = {made, serial_};
  pthread_setspecific(g_directory.key, t_slots.data());
  return made;
}

void Allocator::leave_thread(void* /*slots*/) {
  t_ended = true;
  // In the child of a fork the lock may be held by a thread that it does not have.
  if (g_directory.process != getpid()) return;
  for (std::size_t slot = 0; slot < kMostAllocators; ++slot) {
    ThreadSlot const mine = t_slots[slot];
    t_slots[slot] = {};
    if (mine.cache == nullptr) continue;
    // Held until the cache is taken down: the allocator cannot go meanwhile.
    std::lock_guard const guard(g_directory.lock);
    if (g_directory.serials[slot] == mine.serial) g_directory.allocators[slot]->detach_thread(*mine.cache);
  }
}

void Allocator::detach_thread(ThreadCache& thread) {
  {
    std::lock_guard const guard(threads_lock_);
    ThreadCache** at = &threads_;
    while (*at != &thread) at = &(*at)->next;
    *at = thread.next;
    gone_stamp_ = std::max(gone_stamp_, thread.latest_stamp);
    // In the same section, so that no sum misses it or counts it twice.
    std::lock_guard const counting(counts_lock_);
    count(behind_.allocations, thread.counts.allocations);
    count(behind_.frees, thread.counts.frees);
    count(behind_.live_granules, thread.counts.live_granules);
    count(behind_.slack_bytes, thread.counts.slack_bytes);
  }
  empty(thread);
  delete &thread;
}

// f(ThreadCache&) for every thread's cache while no thread is inside of its own.
template <class F>
void Allocator::stop_threads(F f) {
  std::lock_guard const guard(threads_lock_);
  shared_.stop.store(true, std::memory_order_seq_cst);
  order_sections();
  for (ThreadCache* thread = threads_; thread != nullptr; thread = thread->next) {
    for (int spins = 0; thread->is_inside(); ++spins)
      if (spins > 100) sched_yield();
    f(*thread);
  }
  shared_.stop.store(false, std::memory_order_seq_cst);
}

void Allocator::empty(ThreadCache& thread) {
  thread.empty([&](Magazine& m) {
    for (std::uint32_t i = 0; i < m.count; ++i) put_in_cache(*m.blocks[i]);
  });
}

void Allocator::empty_magazines() {
  stop_threads([&](ThreadCache& thread) { empty(thread); });
}

bool Allocator::empty_own_magazines() {
  ThreadCache* const thread = own_cache();
  if (thread == nullptr || !thread->enter()) return false;
  // Inside a section nothing is asked of the system.
  std::array<Record*, ThreadCache::kMagazines * Magazine::kBlocks> blocks;
  std::size_t count = 0;
  thread->empty([&](Magazine& m) {
    for (std::uint32_t i = 0; i < m.count; ++i) blocks[count++] = m.blocks[i];
  });
  thread->leave();
  for (std::size_t i = 0; i < count; ++i) put_in_cache(*blocks[i]);
  return count != 0;
}

std::uint64_t Allocator::pass_threads() {
  std::uint64_t latest = 0;
  stop_threads([&](ThreadCache& thread) { latest = std::max(latest, thread.latest_stamp); });
  std::lock_guard const guard(threads_lock_);
  return std::max(latest, gone_stamp_);
}

std::uint64_t Allocator::magazine_bytes() {
  std::uint64_t granules = 0;
  stop_threads([&](ThreadCache& thread) { granules += thread.held_granules(); });
  return granules * kGranuleBytes;
}

Allocator::LiveSums Allocator::live_sums() const {
  LiveSums sums;
  auto const add = [&](const ThreadCounts& counts) {
    sums.allocations += counts.allocations.load(std::memory_order_relaxed);
    sums.frees += counts.frees.load(std::memory_order_relaxed);
    sums.granules += counts.live_granules.load(std::memory_order_relaxed);
    sums.slack_bytes += counts.slack_bytes.load(std::memory_order_relaxed);
  };
  std::lock_guard const guard(threads_lock_);
  std::lock_guard const counting(counts_lock_);
  add(behind_);
  for (const ThreadCache* thread = threads_; thread != nullptr; thread = thread->next) add(thread->counts);
  return sums;
}

Statistics Allocator::statistics() const {
  Statistics s;
  LiveSums const live = live_sums();
  ArenaUse const use = arena_.use();
  s.allocations = live.allocations;
  s.frees = live.frees;
  s.live_bytes = live.granules * kGranuleBytes;
  s.requested_bytes = s.live_bytes - live.slack_bytes;
  s.reserved_bytes = use.reserved_bytes + use.whole_bytes;
  s.cached_bytes = s.reserved_bytes - s.live_bytes;
  s.pending_bytes = pending_.pending_bytes();
  s.waits_avoided = pending_.blocks_waited_for();
  s.waits = streams_.waits();
  s.events_recorded = streams_.events_recorded();
  s.driver_calls = arena_.pool().calls().total();
  s.moved_bytes = use.moved_frames * kFrameBytes;
  s.extensions = extensions_.load(std::memory_order_relaxed);
  s.inserted_waits = inserted_waits_.load(std::memory_order_relaxed);
  {
    std::lock_guard const guard(pilot_.lock());
    const Pilot::Counts& plans = pilot_.counts;
    s.plan_hits = plan_hits_.load(std::memory_order_relaxed) + plans.hits;
    s.plan_misses = plan_misses_.load(std::memory_order_relaxed) + plans.misses;
    s.plans_made = plans.plans;
    s.plans_improved = plans.improved;
    s.plans_unneeded = plans.unworthy;
    s.plans_left = plans.leases_ended;
    s.plan_search_ns = static_cast<std::uint64_t>(plans.seconds * 1e9);
  }
  s.failures = failures_.load(std::memory_order_relaxed);
  s.given_back_bytes = given_back_bytes_.load(std::memory_order_relaxed);
  s.filled_bytes = filled_bytes_.load(std::memory_order_relaxed);
  return s;
}

}  // namespace tidemark::allocator
