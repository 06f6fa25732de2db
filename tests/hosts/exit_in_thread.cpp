// SPDX-License-Identifier: Apache-2.0
// One thread ends the process while others allocate and go on allocating through its end.
#include <thread>

#include "tests/hosts/host.h"

int main() {
  host::work();
  std::atomic<int> running{0};
  for (int i = 0; i < 4; ++i)
    std::thread([&] {
      ++running;
      for (;;) {
        void* block = nullptr;
        // The driver goes down under its feet.
        if (cudaMalloc(&block, 10'000) == cudaSuccess) cudaFree(block);
      }
    }).detach();
  while (running < 4) std::this_thread::yield();
  std::thread([] {
    std::puts("exit");
    std::exit(11);
  }).join();
}
