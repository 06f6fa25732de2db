// SPDX-License-Identifier: Apache-2.0
// Forks before its first CUDA call: parent and child are two programs with a trace each.
#include <sys/wait.h>

#include "tests/hosts/host.h"

int main() {
  pid_t const child = fork();
  if (child == 0) {
    host::work(5);
    host::account.write();
    std::puts("child");
    std::exit(3);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  host::work(8);
  host::account.write();
  std::printf("parent: child gave %d\n", WEXITSTATUS(status));
  return 4;
}
