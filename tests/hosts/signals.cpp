// SPDX-License-Identifier: Apache-2.0
// A signal handler that allocates and marks, in a storm of signals. It never interrupts CUDA itself, which would not
// bear it, but everything else: also the marks, in the middle of whatever they do.
#include <pthread.h>
#include <signal.h>

#include <thread>

#include "tests/hosts/host.h"

namespace {

std::atomic<std::uint64_t> handled{0}, allocated{0}, progress{0};

void handler(int) {
  int const before = errno;
  ++handled;
  void* block = nullptr;
  tidemark_push(TIDEMARK_LAYER, "handler");
  if (cudaMalloc(&block, 3000) == cudaSuccess) {
    ++allocated;
    if (cudaFree(block) != cudaSuccess) _exit(host::kFailed);
  }
  tidemark_pop(TIDEMARK_LAYER);
  errno = before;
}

class WithoutSignals {
 public:
  WithoutSignals() {
    sigset_t storm;
    sigemptyset(&storm);
    sigaddset(&storm, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &storm, &before_);
  }
  ~WithoutSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

 private:
  sigset_t before_;
};

void mark_and_allocate(int i) {
  char name[32];
  std::snprintf(name, sizeof name, "layer%d", i % 300);
  tidemark_push(TIDEMARK_PHASE, i % 2 != 0 ? "forward" : "backward");
  for (int k = 0; k < 20; ++k, ++progress) {
    tidemark_push(TIDEMARK_LAYER, name);
    tidemark_pop(TIDEMARK_LAYER);
  }
  {
    WithoutSignals const quiet;
    host::account.free(host::account.allocate(5000), 5000);
  }
  tidemark_pop(TIDEMARK_PHASE);
}

}  // namespace

int main() {
  host::account.free(host::account.allocate(1), 1);
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(SIGUSR1, &action, nullptr);
  pthread_t const target = pthread_self();
  std::atomic<bool> done{false};
  std::thread storm([&] {
    WithoutSignals const quiet;
    // One signal for each step forward at most: the program comes to its end on a busy machine too.
    for (std::uint64_t seen = 0; !done;) {
      if (seen == progress) continue;
      seen = progress;
      pthread_kill(target, SIGUSR1);
    }
  });
  for (int i = 0; i < 1000 || handled < 10; ++i) mark_and_allocate(i);
  done = true;
  storm.join();
  // The handlers' own blocks: each is either in the trace or counted as lost, both its beginning and its end.
  for (std::uint64_t i = 0; i < allocated; ++i) {
    host::account.add(3000);
    host::account.remove(3000);
  }
  host::account.write(2 * allocated);
  std::printf("every handler got its block: %d\n", handled == allocated);
  return 0;
}
