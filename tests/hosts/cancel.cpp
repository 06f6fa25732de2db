// SPDX-License-Identifier: Apache-2.0
// Threads that are cancelled: with the wish already there at the very first CUDA call, between calls, and at any
// instruction of the thread's own.
#include <pthread.h>

#include <string_view>

#include "tests/hosts/host.h"

namespace {

std::atomic<int> at_work{0};
bool asynchronous = false;

// The first CUDA call of the process, with a cancellation that nothing has acted upon yet.
void* first_call(void*) {
  pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
  ++at_work;
  while (at_work != 2) sched_yield();
  pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, nullptr);
  void* const block = host::account.allocate(1000);
  host::account.free(block, 1000);
  pthread_testcancel();
  return nullptr;
}

void* loop(void*) {
  ++at_work;
  for (;;) {
    host::account.free(host::account.allocate(2000), 2000);
    pthread_testcancel();
    if (!asynchronous) continue;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, nullptr);
    for (int i = 0; i < 1000; ++i) asm volatile("" : : : "memory");
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, nullptr);
  }
}

bool was_cancelled(pthread_t thread) {
  void* result = nullptr;
  return pthread_join(thread, &result) == 0 && result == PTHREAD_CANCELED;
}

}  // namespace

int main(int, char** argv) {
  std::string_view const how = argv[1];
  asynchronous = how == "asynchronous";
  if (how == "first") {
    pthread_t thread;
    pthread_create(&thread, nullptr, first_call, nullptr);
    while (at_work != 1) sched_yield();
    pthread_cancel(thread);
    ++at_work;
    std::printf("cancelled %d\n", was_cancelled(thread));
    // Nobody was left waiting for it.
    host::account.free(host::account.allocate(3000), 3000);
  } else {
    pthread_t threads[8];
    for (int round = 0; round < 10; ++round) {
      at_work = 0;
      for (pthread_t& thread : threads) pthread_create(&thread, nullptr, loop, nullptr);
      while (at_work != 8) sched_yield();
      int cancelled = 0;
      for (pthread_t const thread : threads) pthread_cancel(thread);
      for (pthread_t const thread : threads) cancelled += was_cancelled(thread);
      std::printf("cancelled %d\n", cancelled);
    }
  }
  host::account.write();
  return 0;
}
