// SPDX-License-Identifier: Apache-2.0
#include "allocator/core/solving.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "allocator/core/units.h"

namespace tidemark::allocator {

namespace {

constexpr int kNiceness = 10;
constinit std::atomic<unsigned> g_threads{0};

std::uint64_t frames_of(std::uint64_t bytes) {
  return (bytes + kFrameBytes - 1) / kFrameBytes;
}

Solved solved(const plan::Recorded& iteration, plan::CircularPlan layout) {
  auto made = std::make_shared<const plan::ServingPlan>(iteration, layout);
  return {.plan = std::move(made), .layout = std::move(layout)};
}

}  // namespace

unsigned solving_threads() {
  return g_threads.load();
}

void Solving::solve_first(Work& work) {
  auto layout = plan::plan_circular(work.iteration.iteration, {.cancel = &work.cancel, .grain_bytes = kFrameBytes});
  if (!layout.ok()) {
    work.stage.store(Stage::Ended, std::memory_order_release);
    return;
  }
  work.seconds.store(layout->seconds, std::memory_order_relaxed);
  work.first = solved(work.iteration, std::move(layout).value());
  work.stage.store(work.budget.is_none() ? Stage::Ended : Stage::HasFirst, std::memory_order_release);
}

// What is reserved comes in whole frames: where none can be saved, there is nothing to search for. With strips a layout
// may be harder to find, so the first one is compared as well: what it begins in alone may save a frame.
void Solving::solve_better(Work& work) {
  plan::Options options{.cancel = &work.cancel, .grain_bytes = kFrameBytes, .given_bytes = work.lead.size_bytes};
  std::uint64_t fewest = frames_of(work.first.layout.height);
  work.better = {};
  auto const consider = [&](plan::CircularPlan layout) {
    if (grains(layout.height, options) >= fewest) return;
    fewest = grains(layout.height, options);
    layout.lead = work.lead;
    work.better = solved(work.iteration, std::move(layout));
  };
  auto const solve = [&](std::span<const plan::Strip> strips) {
    auto layout = plan::plan_circular(work.iteration.iteration, options, strips);
    if (!layout.ok()) return false;
    work.seconds.store(work.seconds.load(std::memory_order_relaxed) + layout->seconds, std::memory_order_relaxed);
    std::uint64_t const bound = layout->bound;
    consider(std::move(layout).value());
    return grains(bound, options) < fewest;
  };
  consider(work.first.layout);
  bool const worth_it = solve(work.strips);
  options.budget_seconds = work.budget.seconds;
  options.budget_looks = work.budget.looks;
  if (worth_it) solve(work.strips);
  work.stage.store(Stage::Ended, std::memory_order_release);
}

void Solving::step(Work& work) {
  try {
    if (work.stage.load() == Stage::Begun)
      solve_first(work);
    else if (work.stage.load() == Stage::Searching)
      solve_better(work);
  } catch (...) {  // there is no memory for it: then there is no plan
    work.stage.store(Stage::Ended, std::memory_order_release);
  }
}

void* Solving::run(void* given) {
  std::unique_ptr<std::shared_ptr<Work>> const work(static_cast<std::shared_ptr<Work>*>(given));
  setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), kNiceness);  // of this thread alone, on Linux
  pthread_setname_np(pthread_self(), "tidemark-plan");
  step(**work);
  g_threads.fetch_sub(1);
  (*work)->over.store(true, std::memory_order_release);
  return nullptr;
}

std::unique_ptr<Solving> Solving::start(plan::Recorded iteration, SearchBudget budget, bool own_thread) {
  std::unique_ptr<Solving> solving(new Solving);
  solving->work_ = std::make_shared<Work>();
  solving->work_->iteration = std::move(iteration);
  solving->work_->budget = budget;
  solving->own_threads_ = own_thread;
  solving->process_ = getpid();
  if (own_thread && !solving->start_thread()) return nullptr;
  return solving;
}

bool Solving::start_thread() {
  auto given = std::make_unique<std::shared_ptr<Work>>(work_);
  work_->over.store(false);
  // The new thread inherits the mask.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  g_threads.fetch_add(1);
  has_thread_ = pthread_create(&thread_, nullptr, &run, given.get()) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!has_thread_) {
    g_threads.fetch_sub(1);
    work_->over.store(true);
    return false;
  }
  static_cast<void>(given.release());
  return true;
}

void Solving::search(std::vector<plan::Strip> strips, plan::Strip lead) {
  ++searches_;
  // After a fork the thread that was is the parent's, and there is none to come.
  if (process_ != getpid()) own_threads_ = has_thread_ = false;
  if (has_thread_) pthread_join(thread_, nullptr);  // it has set the stage, and has nothing else to do
  has_thread_ = false;
  work_->strips = std::move(strips);
  work_->lead = lead;
  work_->stage.store(Stage::Searching, std::memory_order_release);
  if (own_threads_ && !start_thread()) work_->stage.store(Stage::Ended, std::memory_order_release);
}

Solving::~Solving() {
  cancel();
  // After a fork the thread is the parent's.
  if (has_thread_ && process_ == getpid()) pthread_join(thread_, nullptr);
}

}  // namespace tidemark::allocator
