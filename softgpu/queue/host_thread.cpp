// SPDX-License-Identifier: Apache-2.0
#include "softgpu/queue/host_thread.h"

#include <pthread.h>
#include <signal.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

namespace tidemark::softgpu {
namespace {

thread_local bool t_on_host_thread = false;

class HostThread {
 public:
  void post(std::function<void()> job) {
    std::lock_guard const lock(mutex_);
    if (!started_) start();
    jobs_.push_back(std::move(job));
    wake_.notify_one();
  }

 private:
  void start() {
    started_ = true;
    // The program's signals are for the program's own threads.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    std::thread([this] { loop(); }).detach();
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
  }
  void loop() {
    t_on_host_thread = true;
    std::unique_lock lock(mutex_);
    for (;;) {
      wake_.wait(lock, [this] { return !jobs_.empty(); });
      auto job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      job();
      job = nullptr;
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> jobs_;
  bool started_ = false;
};

}  // namespace

void run_on_host_thread(std::function<void()> job) {
  // Leaked: work may still be queued while the process is being torn down.
  static auto& thread = *new HostThread;
  thread.post(std::move(job));
}

bool on_host_thread() {
  return t_on_host_thread;
}

}  // namespace tidemark::softgpu
