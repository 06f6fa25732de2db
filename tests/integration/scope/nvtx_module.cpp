// SPDX-License-Identifier: Apache-2.0
// A library with a copy of NVTX of its own.
#include <nvtx3/nvToolsExt.h>

extern "C" __attribute__((visibility("default"))) void in_module(void (*call)()) {
  nvtxRangePushA("in the module");
  call();
  nvtxRangePop();
}
