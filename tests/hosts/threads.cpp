// SPDX-License-Identifier: Apache-2.0
// Many threads at once, and many one after the other.
#include <string_view>
#include <thread>
#include <vector>

#include "tests/hosts/host.h"

namespace {

void work(std::size_t number) {
  std::vector<void*> blocks;
  for (std::size_t i = 0; i < 50; ++i) {
    blocks.push_back(host::account.allocate(number * 1000 + i));
    if (i % 3 != 0) continue;
    host::account.free(blocks.back(), number * 1000 + i);
    blocks.pop_back();
  }
}

void mark(std::size_t number) {
  tidemark_push(TIDEMARK_LAYER, "short");
  std::size_t const bytes = 1 + number % 7000;
  host::account.free(host::account.allocate(bytes), bytes);
}

}  // namespace

int main(int, char** argv) {
  if (std::string_view(argv[1]) == "64") {
    std::vector<std::thread> threads;
    for (std::size_t i = 1; i <= 64; ++i) threads.emplace_back(work, i);
    for (std::thread& thread : threads) thread.join();
  } else {
    for (std::size_t i = 0; i < 3000; ++i) std::thread(mark, i).join();
  }
  host::account.write();
  std::puts("done");
  return 0;
}
