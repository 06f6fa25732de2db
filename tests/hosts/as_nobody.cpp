// SPDX-License-Identifier: Apache-2.0
// as_nobody PROGRAM ARGUMENTS...: becomes a program of a user without rights.
#include <grp.h>
#include <unistd.h>

#include <cstdio>

int main(int, char** argv) {
  constexpr unsigned kNobody = 65534;
  if (setgroups(0, nullptr) != 0 || setresgid(kNobody, kNobody, kNobody) != 0 ||
      setresuid(kNobody, kNobody, kNobody) != 0) {
    std::perror("as_nobody");
    return 1;
  }
  execv(argv[1], argv + 1);
  std::perror(argv[1]);
  return 1;
}
