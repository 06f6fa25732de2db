// SPDX-License-Identifier: Apache-2.0
// Nothing special; for hazards that lie outside of the program: a full disk, a folder that cannot be written to, an
// endless command line, other preloaded libraries.
#include "tests/hosts/host.h"

int main(int argc, char** argv) {
  int const pairs = argc > 1 ? std::atoi(argv[1]) : 0;
  host::work(20);
  for (int i = 0; i < pairs; ++i) host::account.free(host::account.allocate(4096), 4096);
  host::account.write();
  std::printf("%d arguments\n", argc);
  return 0;
}
