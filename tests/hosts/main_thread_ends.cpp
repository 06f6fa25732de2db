// SPDX-License-Identifier: Apache-2.0
// The main thread ends before the others do; the process ends with the last of them. `planned`: after a loop that is
// worth a plan, for which somebody may still be looking.
#include <pthread.h>

#include <thread>
#include <vector>

#include "tests/hosts/host.h"

namespace {

// Iterations of blocks whose lives overlap, so that no order of them is best at once.
void loop() {
  constexpr std::size_t kBlocks = 200;
  std::vector<void*> blocks(kBlocks);
  auto const bytes = [](std::size_t i) {
    return (std::size_t{100'000} + 37'501 * (i * i * 31 % 97)) & ~std::size_t{511};
  };
  for (int iteration = 0; iteration < 60; ++iteration)
    for (std::size_t i = 0; i < kBlocks + 40; ++i) {
      if (i < kBlocks) blocks[i] = host::account.allocate(bytes(i));
      std::size_t const end = i - 20 - i % 7 * 3;
      for (std::size_t k = 0; k < kBlocks; ++k)
        if (blocks[k] != nullptr && (k == end || k + 40 <= i)) {
          host::account.free(blocks[k], bytes(k));
          blocks[k] = nullptr;
        }
    }
}

}  // namespace

int main(int, char** argv) {
  host::work();
  if (std::strcmp(argv[1], "planned") == 0) loop();
  std::thread([] {
    host::work();
    host::account.write();
    std::puts("last");
  }).detach();
  pthread_exit(nullptr);
}
