// SPDX-License-Identifier: Apache-2.0
#include "interpose/watch/watcher.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

#include "allocator/core/solving.h"

namespace tidemark::interpose {
namespace {

constinit std::atomic<unsigned> watchers{0};

void* run(void* body) {
  reinterpret_cast<void (*)()>(body)();
  if (program_has_left()) {
    // As the last thread it ends the process, and what the program wants done then may count on signals.
    sigset_t none;
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, nullptr);
  }
  watchers.fetch_sub(1);
  return nullptr;
}

}  // namespace

void Notice::give() {
  word_.store(1, std::memory_order_release);
  syscall(SYS_futex, &word_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

void Notice::wait_for(std::uint64_t ns) {
  timespec const timeout{.tv_sec = static_cast<time_t>(ns / 1'000'000'000),
                         .tv_nsec = static_cast<long>(ns % 1'000'000'000)};
  if (!is_given()) syscall(SYS_futex, &word_, FUTEX_WAIT_PRIVATE, 0, &timeout, nullptr, 0);
}

bool start_watcher(void (*body)()) {
  // The new thread inherits the mask.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread{};
  watchers.fetch_add(1);
  bool const made = pthread_create(&thread, &attributes, run, reinterpret_cast<void*>(body)) == 0;
  if (!made) watchers.fetch_sub(1);
  pthread_attr_destroy(&attributes);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return made;
}

// Asked without opening a file: the program may be counting on the lowest free number at this very moment.
bool program_has_left() {
  constexpr unsigned kDots = 2;  // the folder's links count "." and ".." too
  struct stat threads {};
  // A main thread that has ended stays among the others until the last of them ends, but has no program any more.
  if (stat("/proc/self/task", &threads) != 0 ||
      threads.st_nlink > kDots + 1 + watchers.load() + allocator::solving_threads())
    return false;
  char main[64], nowhere[1];
  snprintf(main, sizeof main, "/proc/self/task/%d/exe", getpid());
  return readlink(main, nowhere, sizeof nowhere) < 0 && errno == ENOENT;
}

}  // namespace tidemark::interpose
