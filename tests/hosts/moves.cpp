// SPDX-License-Identifier: Apache-2.0
// Changes its folder, its name, its environment and its mask of file modes between CUDA calls.
#include <sys/prctl.h>
#include <sys/stat.h>

#include <string>

#include "tests/hosts/host.h"

int main(int, char** argv) {
  umask(0);
  host::work();
  REQUIRE(mkdir("elsewhere", 0700) == 0 && chdir("elsewhere") == 0);
  prctl(PR_SET_NAME, "another name");
  std::memset(argv[0], 'x', std::strlen(argv[0]));
  const char* const account = std::getenv("HOST_ACCOUNT");
  std::string const kept = account == nullptr ? "" : account;
  clearenv();
  for (int i = 0; i < 40'000; ++i) host::account.free(host::account.allocate(4096), 4096);
  setenv("HOST_ACCOUNT", kept.c_str(), 1);
  host::account.write();
  std::puts("done");
  return 0;
}
