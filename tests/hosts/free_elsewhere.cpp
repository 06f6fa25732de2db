// SPDX-License-Identifier: Apache-2.0
// One thread allocates, others free.
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/hosts/host.h"

int main() {
  std::mutex mutex;
  std::condition_variable arrived;
  std::deque<void*> blocks;
  bool done = false;
  std::vector<std::thread> consumers;
  for (int i = 0; i < 3; ++i)
    consumers.emplace_back([&] {
      for (;;) {
        std::unique_lock lock(mutex);
        arrived.wait(lock, [&] { return done || !blocks.empty(); });
        if (blocks.empty()) return;
        void* const block = blocks.front();
        blocks.pop_front();
        lock.unlock();
        host::account.free(block, 6000);
      }
    });
  for (int i = 0; i < 3000; ++i) {
    void* const block = host::account.allocate(6000);
    std::lock_guard const lock(mutex);
    blocks.push_back(block);
    arrived.notify_one();
  }
  {
    std::lock_guard const lock(mutex);
    done = true;
    arrived.notify_all();
  }
  for (std::thread& consumer : consumers) consumer.join();
  host::account.write();
  std::puts("done");
  return 0;
}
