// SPDX-License-Identifier: Apache-2.0
// Ends in every way but a normal one; what it has done until then is in the trace.
#include <pthread.h>
#include <signal.h>

#include <stdexcept>
#include <string_view>

#include "tests/hosts/host.h"

int main(int, char** argv) {
  std::string_view const how = argv[1];
  host::work(500);
  host::account.write();
  std::puts("dying");
  std::fflush(stdout);
  if (how == "_exit") _exit(12);
  if (how == "quick_exit") std::quick_exit(13);
  if (how == "abort") std::abort();
  if (how == "throw") throw std::runtime_error("nobody catches this");
  if (how == "segv") raise(SIGSEGV);
  if (how == "term") raise(SIGTERM);
  if (how == "kill") raise(SIGKILL);
  return host::kFailed;
}
