// SPDX-License-Identifier: Apache-2.0
// A shared library with kernels, variables and launches of its own.
#include "tests/integration/programs/check.h"

__device__ float table[1024];
__managed__ int calls;

__global__ void plugin_kernel(float* data) {
  data[threadIdx.x] += table[threadIdx.x];
}

extern "C" __attribute__((visibility("default"))) int plugin_run(float* data) {
  CHECK(cudaMemcpyToSymbol(table, "abc", 4));
  ++calls;
  plugin_kernel<<<1, 32>>>(data);
  CHECK(cudaGetLastError());
  return calls;
}
