// SPDX-License-Identifier: Apache-2.0
// Is linked to the runtime and never calls it; marks, forks, makes threads. Nothing happens.
#include <sys/wait.h>

#include <thread>

#include "tests/hosts/host.h"

int main() {
  tidemark_push(TIDEMARK_PHASE, "forward");
  std::thread([] {
    tidemark_push(TIDEMARK_LAYER, "layer");
    tidemark_step(1);
    tidemark_tag(&host::account, TIDEMARK_PARAMETER, "no block");
  }).join();
  pid_t const child = fork();
  if (child == 0) std::exit(0);
  REQUIRE(waitpid(child, nullptr, 0) == child);
  std::puts("done");
  return 14;
}
