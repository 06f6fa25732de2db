// SPDX-License-Identifier: Apache-2.0
// The main thread ends before the others do; the process ends with the last of them.
#include <pthread.h>

#include <thread>

#include "tests/hosts/host.h"

int main() {
  host::work();
  std::thread([] {
    host::work();
    host::account.write();
    std::puts("last");
  }).detach();
  pthread_exit(nullptr);
}
