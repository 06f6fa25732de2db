// SPDX-License-Identifier: Apache-2.0
// A library that is linked to the runtime, for hosts that open it.
#include "tests/hosts/host.h"

extern "C" __attribute__((visibility("default"))) int plugin_work() {
  host::work(12);
  host::account.write();
  return 0;
}
