// SPDX-License-Identifier: Apache-2.0
// Starts other programs in every way there is. They have nothing to do with CUDA and leave nothing behind.
#include <spawn.h>
#include <sys/wait.h>

#include "tests/hosts/host.h"

namespace {

void wait_for(pid_t child) {
  int status = 0;
  REQUIRE(child > 0 && waitpid(child, &status, 0) == child);
  std::printf("gave %d\n", WEXITSTATUS(status));
}

}  // namespace

int main() {
  host::work();
  char name[] = "sh", flag[] = "-c", text[] = "exit 21";
  char* const arguments[] = {name, flag, text, nullptr};
  pid_t child = -1;
  REQUIRE(posix_spawnp(&child, "sh", nullptr, nullptr, arguments, environ) == 0);
  wait_for(child);
  child = vfork();
  if (child == 0) {
    execlp("sh", "sh", "-c", "exit 22", nullptr);
    _exit(1);
  }
  wait_for(child);
  child = vfork();
  if (child == 0) _exit(23);
  wait_for(child);
  std::printf("gave %d\n", WEXITSTATUS(system("exit 24")));
  FILE* const pipe = popen("echo from a pipe", "r");
  char line[64] = {};
  REQUIRE(pipe != nullptr && std::fgets(line, sizeof line, pipe) != nullptr);
  std::printf("%s", line);
  pclose(pipe);
  host::work();
  host::account.write();
  return 0;
}
