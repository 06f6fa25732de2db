// SPDX-License-Identifier: Apache-2.0
// printf and assert in kernels, and the limits that go with them.
#include <cassert>
#include <cstdio>

#include "tests/integration/programs/check.h"

__global__ void speak(int n) {
  assert(n > 0);
  if (threadIdx.x == 0) printf("block %u of %u\n", blockIdx.x, gridDim.x);
}

int main() {
  std::size_t bytes = 0;
  CHECK(cudaDeviceSetLimit(cudaLimitPrintfFifoSize, 8 << 20));
  CHECK(cudaDeviceGetLimit(&bytes, cudaLimitPrintfFifoSize));
  REQUIRE(bytes >= 8 << 20);
  CHECK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 16 << 20));
  CHECK(cudaDeviceSetLimit(cudaLimitStackSize, 4096));
  speak<<<4, 64>>>(1);
  CHECK(cudaPeekAtLastError());
  CHECK(cudaDeviceSynchronize());
  return 0;
}
