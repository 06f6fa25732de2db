// SPDX-License-Identifier: Apache-2.0
#include "softgpu/queue/workers.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

namespace tidemark::softgpu {
namespace {

struct Job {
  std::atomic<std::uint64_t> next{0};
  std::uint64_t count = 0;
  std::uint64_t piece = 1;
  const std::function<void(std::uint64_t, std::uint64_t)>* body = nullptr;
  std::mutex mutex;
  std::condition_variable finished;
  int helpers = 0;  // threads inside work(), the caller apart

  void work() {
    for (;;) {
      std::uint64_t const first = next.fetch_add(piece, std::memory_order_relaxed);
      if (first >= count) return;
      (*body)(first, std::min(count, first + piece));
    }
  }
};

class Workers {
 public:
  void offer(const std::shared_ptr<Job>& job, int helpers) {
    std::lock_guard const lock(mutex_);
    for (; started_ < helpers; ++started_) start();
    for (int i = 0; i < helpers; ++i) jobs_.push_back(job);
    wake_.notify_all();
  }
  // Helpers that have not begun are not needed any more.
  void withdraw(const std::shared_ptr<Job>& job) {
    std::lock_guard const lock(mutex_);
    std::erase(jobs_, job);
  }

 private:
  void start() {
    sigset_t all, before;
    sigfillset(&all);
    // Faults inside a kernel body are the device's to handle, on the thread where they happen.
    for (int const fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP}) sigdelset(&all, fault);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread([this] { loop(); }).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  void loop() {
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return !jobs_.empty(); });
      std::shared_ptr<Job> const job = std::move(jobs_.front());
      jobs_.pop_front();
      {
        std::lock_guard const entered(job->mutex);
        ++job->helpers;
      }
      lock.unlock();
      job->work();
      {
        std::lock_guard const left(job->mutex);
        --job->helpers;
      }
      job->finished.notify_one();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::shared_ptr<Job>> jobs_;
  int started_ = 0;
};

}  // namespace

void parallel_for(std::uint64_t count, std::uint64_t grain, int workers,
                  const std::function<void(std::uint64_t, std::uint64_t)>& body) {
  if (count == 0) return;
  std::uint64_t const pieces =
      std::min<std::uint64_t>(static_cast<std::uint64_t>(workers), (count + grain - 1) / grain);
  if (pieces <= 1) {
    body(0, count);
    return;
  }
  static auto& pool = *new Workers;  // leaked: its threads never end
  auto const job = std::make_shared<Job>();
  job->count = count;
  // Four pieces per thread even out blocks of unequal cost.
  job->piece = std::max(grain, count / (pieces * 4));
  job->body = &body;
  pool.offer(job, static_cast<int>(pieces) - 1);
  job->work();
  pool.withdraw(job);
  std::unique_lock lock(job->mutex);
  job->finished.wait(lock, [&] { return job->helpers == 0; });
}

}  // namespace tidemark::softgpu
