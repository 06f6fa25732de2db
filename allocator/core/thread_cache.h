// SPDX-License-Identifier: Apache-2.0
// One thread's magazines of one allocator: at most 8 free blocks per (domain, size), taken and put back without a lock.
//
// The owner works inside a section of a few instructions (enter … leave). Whoever needs the contents of all threads
// (out of memory, the second stream, a plan's cut) raises the allocator's stop flag, runs membarrier and waits until no
// thread is inside; while the flag is up, owners find their section closed and use the caches behind. membarrier makes
// the owner's store of `inside` and its load of the flag ordered without a fence of its own; where the kernel refuses
// it, and under ThreadSanitizer, which does not know it, the owner pays for the fence.
//
// Invariant: the granules in the magazines of all threads are at most the allocator's allowance (1 % of its limit).
#pragma once
#include <array>
#include <atomic>
#include <cstdint>

#include "allocator/core/futex_lock.h"
#include "allocator/core/record.h"

namespace tidemark::allocator {

// Sums over what this thread did; differences may be negative, and only the sum over threads means something.
struct ThreadCounts {
  std::atomic<std::uint64_t> allocations{0}, frees{0}, hits{0};
  std::atomic<std::uint64_t> live_granules{0}, slack_bytes{0};
};

struct Magazine {
  static constexpr std::uint32_t kBlocks = 8;
  std::uint64_t key = 0;  // domain and size; 0: unused
  std::uint32_t count = 0;
  bool listed = false;  // in used_
  std::array<Record*, kBlocks> blocks{};

  static std::uint64_t key_of(DomainId domain, Granules granules) {
    return std::uint64_t{static_cast<std::uint16_t>(domain)} << 32 | granules;
  }
  Granules granules() const { return static_cast<Granules>(key); }
  DomainId domain() const { return static_cast<DomainId>(key >> 32); }
};

// What the threads of one allocator share.
struct ThreadShared {
  std::atomic<bool> stop{false};
  std::atomic<std::int64_t> allowance_granules{0};  // not yet given to a thread
};

class alignas(64) ThreadCache {
 public:
  static constexpr std::size_t kMagazines = 256;

  ThreadCache(ThreadShared& shared, bool needs_fence) : shared_(shared), needs_fence_(needs_fence) {}

  // False: the section is closed; the caller goes the way behind the magazines.
  bool enter() {
#ifdef __SANITIZE_THREAD__
    inside_.store(true, std::memory_order_seq_cst);
    if (!shared_.stop.load(std::memory_order_seq_cst)) return true;
#else
    inside_.store(true, std::memory_order_relaxed);
    if (needs_fence_) [[unlikely]]
      std::atomic_thread_fence(std::memory_order_seq_cst);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    if (!shared_.stop.load(std::memory_order_acquire)) [[likely]]
      return true;
#endif
    leave();
    return false;
  }
  void leave() {
    inside_.store(false, std::memory_order_release);
  }
  bool is_inside() const {
    return inside_.load(std::memory_order_seq_cst);
  }

  // --- inside, or with the section closed ---
  Record* pop(std::uint64_t key) {
    Magazine* const m = find(key);
    if (m == nullptr || m->count == 0) return nullptr;
    held_ -= static_cast<Granules>(key);
    return m->blocks[--m->count];
  }
  bool push(std::uint64_t key, Record& block) {
    Magazine* const m = find(key);
    if (m == nullptr || m->count == Magazine::kBlocks || held_ + static_cast<Granules>(key) > granted_) return false;
    held_ += static_cast<Granules>(key);
    m->blocks[m->count++] = &block;
    return true;
  }
  Magazine* find(std::uint64_t key) {
    std::size_t const at = home(key);
    if (magazines_[at].key == key) return &magazines_[at];
    return magazines_[at ^ 1].key == key ? &magazines_[at ^ 1] : nullptr;
  }
  // Room for a size: a magazine of this key, after whatever had to go was given to `spill(Magazine&)`, which empties
  // it.
  template <class F>
  Magazine* make(std::uint64_t key, F spill) {
    if (Magazine* const m = find(key)) return m;
    std::size_t const at = home(key);
    Magazine& m = magazines_[at].count <= magazines_[at ^ 1].count ? magazines_[at] : magazines_[at ^ 1];
    if (m.count != 0) spill(m);
    m.key = key;
    if (!m.listed) used_[used_count_++] = static_cast<std::uint16_t>(&m - magazines_.data());
    m.listed = true;
    return &m;
  }
  // Takes granules from the common allowance. False: it is used up.
  bool grant(Granules granules);
  void took_out(std::uint64_t granules) {
    held_ -= granules;
  }
  // f(Magazine&) takes all blocks out; then every magazine is without a size again.
  template <class F>
  void empty(F f) {
    for (std::size_t i = 0; i < used_count_; ++i) {
      Magazine& m = magazines_[used_[i]];
      if (m.count != 0) f(m);
      m.key = 0;
      m.count = 0;
      m.listed = false;
    }
    used_count_ = 0;
    give_up_grant();
  }
  std::uint64_t held_granules() const {
    return held_;
  }

  ThreadCounts counts;
  std::uint64_t latest_stamp = 0;  // of what it freed while there was one stream; inside, or with the section closed
  ThreadCache* next = nullptr;     // of the allocator's list

 private:
  static std::size_t home(std::uint64_t key) {
    return key * 0x9e3779b97f4a7c15 >> 56;
  }
  static_assert(kMagazines == 256);
  void give_up_grant();  // what this thread was granted is common again

  ThreadShared& shared_;
  std::atomic<bool> inside_{false};
  bool needs_fence_;
  std::uint64_t held_ = 0;
  std::uint64_t granted_ = 0;
  std::array<Magazine, kMagazines> magazines_{};
  std::array<std::uint16_t, kMagazines> used_{};  // magazines that have a size
  std::size_t used_count_ = 0;
};

// Whether threads need fences of their own; asks the kernel once.
bool sections_need_fences();
// After this, every thread that was inside before the stop flag went up is seen to be so.
void order_sections();

// Where a thread finds its cache: one slot per allocator that is there, so that contexts do not share magazines.
constexpr std::size_t kMostAllocators = 64;
struct ThreadSlot {
  ThreadCache* cache;
  std::uint64_t serial;  // of the allocator that it belongs to: slots are used again
};
extern thread_local constinit std::array<ThreadSlot, kMostAllocators> t_slots
    __attribute__((tls_model("initial-exec")));

}  // namespace tidemark::allocator
