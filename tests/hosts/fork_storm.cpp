// SPDX-License-Identifier: Apache-2.0
// Forks forty times while three threads allocate: whatever locks are held at that instant, children come to their
// end.
#include <sys/wait.h>

#include <thread>
#include <vector>

#include "tests/hosts/host.h"

int main() {
  std::atomic<bool> done{false};
  void* const first = host::account.allocate(1);
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] {
      while (!done) {
        tidemark_push(TIDEMARK_LAYER, "layer");
        void* const block = host::account.allocate(4096);
        CHECK(cudaMemsetAsync(block, 0, 4096, cudaStreamPerThread));
        host::account.free(block, 4096);
        tidemark_pop(TIDEMARK_LAYER);
      }
    });
  int wrong = 0;
  for (int i = 0; i < 40; ++i) {
    pid_t const child = fork();
    if (child == 0) {
      void* block = nullptr;
      tidemark_push(TIDEMARK_LAYER, "child");
      bool const well = cudaMalloc(&block, 1) == cudaSuccess || cudaMemset(first, 0, 1) == cudaSuccess ||
                        cudaFree(first) == cudaSuccess || cudaDeviceSynchronize() == cudaSuccess;
      _exit(well ? 1 : 0);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    wrong += status != 0;
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
  host::account.free(first, 1);
  host::account.write();
  std::printf("%d children went wrong\n", wrong);
  return 0;
}
