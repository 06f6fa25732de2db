// SPDX-License-Identifier: Apache-2.0
// Finds the loops of a running program and keeps the plans that serve them: what is recorded, when a layout is made,
// when it is taken up, improved, left. One loop per domain, since memory goes from one domain to another only when
// streams have passed. It holds the books; the allocator (piloted.cpp) does what it says.
//
//   recording ──▶ an iteration was repeated ──▶ solving ──▶ at its cut: following ──▶ after a round: what is left over
//       ▲                                          │                    │             goes back to the driver
//       └── surprise ◀── lost ◀────────────────────┴── nothing to gain  ┘
//
// Everything under lock(), which is never held while the driver is called or a layout is made.
#pragma once
#include <array>
#include <memory>
#include <vector>

#include "allocator/core/futex_lock.h"
#include "allocator/core/learner.h"
#include "allocator/core/lease.h"
#include "allocator/core/solving.h"

namespace tidemark::allocator {

// What is to be done for a loop before its next allocation.
enum class Chore : std::uint8_t {
  None,
  Solve,    // an iteration is known
  Work,     // the caller's own thread makes the first layout
  Adopt,    // it is there, and the program is at its cut, or has left the loop
  Search,   // what is left beside it is known: a better one is searched for, by the caller's own thread or another
  Improve,  // it is there, and the program is at its cut
  Discard,  // there is none
  Trim,     // a round was served: what the loop does not need goes back
};

struct Loop {
  explicit Loop(DomainId d) : domain(d) {}

  DomainId domain;
  Learner learner;
  plan::Replay replay;
  std::unique_ptr<Lease> lease;
  std::unique_ptr<Solving> solving;
  unsigned mappings = 0;       // of the lease, under way
  bool has_iteration = false;  // that is to be solved
  bool wants_trim = false;
  bool trimmed = false;                        // since plans or lease changed
  bool is_tended = false;                      // a thread is at its chores
  bool unworthy = false;                       // a plan would have saved nothing
  const plan::ServingPlan* adopted = nullptr;  // of what is being solved
  std::uint64_t extensions = 0;                // of the arena when the iteration was known
  unsigned restless_iterations = 0;            // in which there were some
  std::uint64_t last_event = 0;                // of all loops
  std::uint64_t rest = 0;                      // allocations since it stopped recording
  std::uint64_t pause = 0;                     // so many until it begins again
  std::uint64_t barred = 0;                    // events until it may have a lease again
  std::uint64_t bar = 0;
  // While it follows plans:
  std::uint64_t missed = 0;      // in a row
  std::uint64_t probation = 0;   // events that have to come in order before it is served again
  std::uint64_t strays = 0;      // in this iteration
  std::uint64_t occupied = 0;    // in this iteration
  unsigned good_iterations = 0;  // in a row
  unsigned bad_iterations = 0;

  // Long enough for the cursor to find a place in another plan, and for the place to be believed.
  static constexpr std::uint64_t kGone = 16;
  bool is_lost() const { return missed >= kGone || probation != 0; }
  bool is_at_cut() const { return replay.current() != nullptr && replay.current()->within_iteration() == 0; }
};

class Pilot {
 public:
  static constexpr std::size_t kMostLoops = 4;

  struct Counts {
    std::uint64_t hits = 0, misses = 0;
    std::uint64_t plans = 0, improved = 0, unworthy = 0, leases_ended = 0;
    double seconds = 0;  // of solving
  };

  FutexLock& lock() { return lock_; }
  // Null: not known, and there are too many.
  Loop* loop_of(DomainId domain) {
    for (std::size_t i = 0; i < count_; ++i)
      if (loops_[i]->domain == domain) return loops_[i].get();
    return nullptr;
  }
  Loop* add(DomainId domain);
  // Of whose lease this block is.
  Loop* holder_of(const Record& block) { return loop_of(block.domain); }
  template <class F>
  void for_each(F f) {
    for (std::size_t i = 0; i < count_; ++i) f(*loops_[i]);
  }

  // --- once per allocation ---
  void count_event() { ++events_; }
  Chore due(Loop& loop) {
    loop.last_event = events_;
    bool const nothing = loop.solving == nullptr && !loop.has_iteration && !loop.wants_trim;
    return nothing || loop.is_tended ? Chore::None : find_chore(loop);
  }
  std::uint64_t events() const { return events_; }
  // Others have allocated for a while, and this one has not.
  bool is_idle(const Loop& loop) const { return events_ - loop.last_event > kIdle; }
  // The entry that this allocation is and that may be served; none: it is served elsewhere.
  std::optional<plan::Replay::Step> follow(Loop& loop, Granules granules) {
    if (loop.replay.plans() == 0) return std::nullopt;
    auto const step = loop.replay.follow({.size_bytes = to_bytes(granules)});
    if (!step || !step->sure) [[unlikely]] {
      ++loop.strays;
      // What comes after something else may only look like the loop: it has to be followed for an iteration.
      if (++loop.missed >= Loop::kGone || loop.probation != 0) {
        loop.probation = loop.replay.current()->plan().iteration();
        loop.good_iterations = 0;
      }
      return std::nullopt;
    }
    loop.missed = 0;
    if (loop.is_at_cut()) end_iteration(loop);
    if (loop.probation != 0) [[unlikely]] {
      --loop.probation;
      return std::nullopt;
    }
    return step;
  }
  // The number of the block. The loop records.
  std::uint32_t record(Loop& loop, Granules granules);
  void record_free(std::uint32_t number, Granules granules);

  void stop_recording(Loop& loop, std::uint64_t pause);
  // Allocations that nobody recorded: loops that rest may begin again. True: one does.
  bool on_rest(std::uint64_t allocations, std::uint64_t extensions);
  // Plans are forgotten; the lease is the caller's to end.
  void forget(Loop& loop);
  void discard_solving(Loop& loop);

  bool is_recording() const;
  bool has_plans() const;
  Counts counts;

 private:
  static constexpr std::uint64_t kIdle = 4096;
  static constexpr std::uint64_t kFirstPause = 1 << 20;
  static constexpr std::uint64_t kLongestPause = 1 << 26;
  static constexpr unsigned kIndexShift = Learner::kNumberBits;
  static_assert(kMostLoops <= std::size_t{1} << (32 - kIndexShift));

  Chore find_chore(Loop& loop) const;
  void end_iteration(Loop& loop);
  void after_record(Loop& loop);
  std::uint32_t index_of(const Loop& loop) const;

  FutexLock lock_;
  std::array<std::unique_ptr<Loop>, kMostLoops> loops_;
  std::size_t count_ = 0;
  std::uint64_t events_ = 0;
  std::vector<std::unique_ptr<Solving>> ending_;  // cancelled, and not over yet
};

}  // namespace tidemark::allocator
