// SPDX-License-Identifier: Apache-2.0
// Is linked to the driver itself and calls nothing else.
#include <cuda.h>

#include "tests/hosts/host.h"

#define DRIVER(...) REQUIRE((__VA_ARGS__) == CUDA_SUCCESS)

int main() {
  CUdevice device = 0;
  CUcontext context = nullptr;
  DRIVER(cuInit(0));
  DRIVER(cuDeviceGet(&device, 0));
  DRIVER(cuDevicePrimaryCtxRetain(&context, device));
  DRIVER(cuCtxSetCurrent(context));
  for (std::size_t i = 1; i <= 20; ++i) {
    CUdeviceptr block = 0;
    DRIVER(cuMemAlloc(&block, 5'000 * i));
    host::account.add(5'000 * i);
    if (i % 3 == 0) continue;
    DRIVER(cuMemFree(block));
    host::account.remove(5'000 * i);
  }
  std::printf("done\n");
  host::account.write();
  return 0;
}
