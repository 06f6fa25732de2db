// SPDX-License-Identifier: Apache-2.0
// Becomes another program, before and after the first CUDA call: same process number, three lives, two of them with a
// trace.
#include <string_view>

#include "tests/hosts/host.h"

int main(int argc, char** argv) {
  std::string_view const life = argc > 1 ? argv[1] : "first";
  std::printf("%.*s\n", static_cast<int>(life.size()), life.data());
  std::fflush(stdout);
  if (life == "first") {
    execl("/proc/self/exe", argv[0], "second", nullptr);
    return host::kFailed;
  }
  host::work(life == "second" ? 4 : 9);
  host::account.write();
  if (life == "second") {
    execl("/proc/self/exe", argv[0], "third", nullptr);
    return host::kFailed;
  }
  return 9;
}
