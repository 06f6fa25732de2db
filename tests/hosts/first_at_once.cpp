// SPDX-License-Identifier: Apache-2.0
// The first CUDA call of many threads, all at the same moment.
#include <barrier>
#include <thread>
#include <vector>

#include "tests/hosts/host.h"

int main() {
  constexpr int kThreads = 32;
  std::barrier start(kThreads);
  std::vector<std::thread> threads;
  for (int i = 1; i <= kThreads; ++i)
    threads.emplace_back([&, i] {
      std::size_t const bytes = static_cast<std::size_t>(i) << 20;
      start.arrive_and_wait();
      void* const block = host::account.allocate(bytes);
      start.arrive_and_wait();
      host::account.free(block, bytes);
    });
  for (std::thread& thread : threads) thread.join();
  host::account.write();
  std::puts("done");
  return 0;
}
