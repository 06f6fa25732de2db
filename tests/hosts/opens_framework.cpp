// SPDX-License-Identifier: Apache-2.0
// opens_framework before|after LIBRARY: opens a library before or after its first allocations.
#include <dlfcn.h>

#include "tests/hosts/host.h"

int main(int, char** argv) {
  bool const before = std::strcmp(argv[1], "before") == 0;
  if (!before) host::work();
  REQUIRE(dlopen(argv[2], RTLD_NOW) != nullptr);
  // Whoever looks for libraries does it now and then: a program that goes on is seen.
  if (!before) usleep(20'000);
  host::work();
  host::work();
  host::account.write();
  return 0;
}
