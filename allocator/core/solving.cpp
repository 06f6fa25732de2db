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
  auto layout = plan::plan_circular(work.iteration.iteration, {.cancel = &work.cancel});
  if (!layout.ok()) {
    work.stage.store(Stage::Ended, std::memory_order_release);
    return;
  }
  work.seconds.store(layout->seconds, std::memory_order_relaxed);
  work.first = solved(work.iteration, std::move(layout).value());
  // What is reserved comes in whole frames: where none can be saved, there is nothing to search for.
  const plan::CircularPlan& first = work.first.layout;
  bool const done = first.least || work.search_seconds <= 0 || frames_of(first.height) == frames_of(first.bound);
  work.stage.store(done ? Stage::Ended : Stage::HasFirst, std::memory_order_release);
}

void Solving::solve_better(Work& work) {
  auto layout =
      plan::plan_circular(work.iteration.iteration, {.budget_seconds = work.search_seconds, .cancel = &work.cancel});
  if (layout.ok()) {
    work.seconds.store(work.seconds.load(std::memory_order_relaxed) + layout->seconds, std::memory_order_relaxed);
    if (frames_of(layout->height) < frames_of(work.first.layout.height))
      work.better = solved(work.iteration, std::move(layout).value());
  }
  work.stage.store(Stage::Ended, std::memory_order_release);
}

void Solving::step(Work& work) {
  try {
    if (work.stage.load() == Stage::Begun)
      solve_first(work);
    else if (work.stage.load() == Stage::HasFirst)
      solve_better(work);
  } catch (...) {  // there is no memory for it: then there is no plan
    work.stage.store(Stage::Ended, std::memory_order_release);
  }
}

void* Solving::run(void* given) {
  std::unique_ptr<std::shared_ptr<Work>> const work(static_cast<std::shared_ptr<Work>*>(given));
  setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), kNiceness);  // of this thread alone, on Linux
  pthread_setname_np(pthread_self(), "tidemark-plan");
  while ((*work)->stage.load() != Stage::Ended && !(*work)->cancel.load(std::memory_order_relaxed)) step(**work);
  g_threads.fetch_sub(1);
  (*work)->over.store(true, std::memory_order_release);
  return nullptr;
}

std::unique_ptr<Solving> Solving::start(plan::Recorded iteration, double search_seconds, bool own_thread) {
  std::unique_ptr<Solving> solving(new Solving);
  solving->work_ = std::make_shared<Work>();
  solving->work_->iteration = std::move(iteration);
  solving->work_->search_seconds = search_seconds;
  if (!own_thread) return solving;
  auto given = std::make_unique<std::shared_ptr<Work>>(solving->work_);
  // The new thread inherits the mask.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  g_threads.fetch_add(1);
  solving->has_thread_ = pthread_create(&solving->thread_, nullptr, &run, given.get()) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (!solving->has_thread_) {
    g_threads.fetch_sub(1);
    return nullptr;
  }
  static_cast<void>(given.release());
  solving->process_ = getpid();
  return solving;
}

Solving::~Solving() {
  cancel();
  // After a fork the thread is the parent's.
  if (has_thread_ && process_ == getpid()) pthread_join(thread_, nullptr);
}

}  // namespace tidemark::allocator
