// SPDX-License-Identifier: Apache-2.0
// The layout of a recorded iteration, made beside the program: the first answer of the portfolio within a second, then
// a better one if the search finds it within its budget. By a thread of its own, which lives as long as there is
// something to solve, gets no signals and little priority; or, for results that do not depend on a schedule, by the
// caller.
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

class Solving {
 public:
  // Without a thread it waits for work(). Null: the system has no thread for it.
  static std::unique_ptr<Solving> start(plan::Recorded iteration, double search_seconds, bool own_thread);
  Solving(const Solving&) = delete;
  Solving& operator=(const Solving&) = delete;
  // Ends a search that is going on, in some milliseconds.
  ~Solving();

  enum class Stage : std::uint8_t { Begun, HasFirst, Ended };
  Stage stage() const { return work_->stage.load(std::memory_order_acquire); }
  // From HasFirst on; without a plan: there is no layout.
  const Solved& first() const { return work_->first; }
  // When Ended; without a plan: the first one is as good.
  const Solved& better() const { return work_->better; }
  const plan::Recorded& iteration() const { return work_->iteration; }
  double seconds() const { return work_->seconds.load(std::memory_order_relaxed); }
  bool has_thread() const { return has_thread_; }
  // The next stage, in this thread.
  void work() { step(*work_); }
  void cancel() { work_->cancel.store(true, std::memory_order_relaxed); }
  // Nothing of it runs any more: its end takes no time.
  bool is_over() const { return !has_thread_ || work_->over.load(std::memory_order_acquire); }

 private:
  struct Work {
    plan::Recorded iteration;
    double search_seconds = 0;
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

  std::shared_ptr<Work> work_;
  pthread_t thread_{};
  pid_t process_ = 0;
  bool has_thread_ = false;
};

// Threads that solve at this moment, in this process: whoever asks whether a program has threads of its own subtracts
// them.
unsigned solving_threads();

}  // namespace tidemark::allocator
