// SPDX-License-Identifier: Apache-2.0
// The layout of a recorded iteration, made beside the program: a first answer within a second; then, when it has been
// taken up and the memory between what stays for good is known, a better one if the search finds it within its budget.
// Each by a thread of its own, which gets no signals and little priority; or, for results that do not depend on a
// schedule, by the caller.
//
// One thread at a time. What the background thread needs is its own: a process may end or fork at any time.
#pragma once
#include <atomic>
#include <memory>

#include <pthread.h>
#include <sys/types.h>

#include "allocator/core/plan/cursor.h"

namespace tidemark::allocator {

struct Solved {
  std::shared_ptr<const plan::ServingPlan> plan;
  plan::CircularPlan layout;
};

// How long the search may last; none of both: there is none.
struct SearchBudget {
  double seconds = 0;
  std::uint64_t looks = 0;  // plan/stop.h
  bool is_none() const { return seconds <= 0 && looks == 0; }
};

class Solving {
 public:
  // Without a thread it waits for work(). Null: the system has no thread for it.
  static std::unique_ptr<Solving> start(plan::Recorded iteration, SearchBudget budget, bool own_thread);
  Solving(const Solving&) = delete;
  Solving& operator=(const Solving&) = delete;
  // Ends a search that is going on, in some milliseconds.
  ~Solving();

  // HasFirst waits for search(), Searching for work() or its thread.
  enum class Stage : std::uint8_t { Begun, HasFirst, Searching, Ended };
  Stage stage() const { return work_->stage.load(std::memory_order_acquire); }
  // From HasFirst on; without a plan: there is no layout.
  const Solved& first() const { return work_->first; }
  // When Ended; without a plan: the first one is as good.
  const Solved& better() const { return work_->better; }
  const plan::Recorded& iteration() const { return work_->iteration; }
  double seconds() const { return work_->seconds.load(std::memory_order_relaxed); }
  bool has_thread() const { return own_threads_; }
  // After HasFirst, or again after Ended: looks for a layout that needs fewer frames, with these strips beside it. It
  // may begin in the first part of its memory that is there anyway (size 0: there is none).
  void search(std::vector<plan::Strip> strips, plan::Strip lead);
  unsigned searches() const { return searches_; }
  // The next stage, in this thread.
  void work() { step(*work_); }
  void cancel() { work_->cancel.store(true, std::memory_order_relaxed); }
  // Nothing of it runs any more: its end takes no time.
  bool is_over() const { return !has_thread_ || work_->over.load(std::memory_order_acquire); }

 private:
  struct Work {
    plan::Recorded iteration;
    SearchBudget budget;
    std::vector<plan::Strip> strips;
    plan::Strip lead;
    std::atomic<bool> cancel{false};
    std::atomic<Stage> stage{Stage::Begun};
    std::atomic<bool> over{false};
    std::atomic<double> seconds{0};
    Solved first, better;
  };
  Solving() = default;
  static void step(Work& work);
  static void solve_first(Work& work);
  static void solve_better(Work& work);
  static void* run(void* work);
  bool start_thread();

  std::shared_ptr<Work> work_;
  pthread_t thread_{};
  pid_t process_ = 0;
  bool own_threads_ = false;
  bool has_thread_ = false;  // that is to be joined
  unsigned searches_ = 0;
};

// Threads that solve at this moment, in this process: whoever asks whether a program has threads of its own subtracts
// them.
unsigned solving_threads();

}  // namespace tidemark::allocator
