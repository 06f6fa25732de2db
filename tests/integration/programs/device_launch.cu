// SPDX-License-Identifier: Apache-2.0
// A kernel that launches a kernel; built with -rdc=true and linked with the device runtime.
#include "tests/integration/programs/check.h"

__global__ void child(int* data) {
  data[threadIdx.x] += 1;
}
__global__ void parent(int* data) {
  child<<<1, 32>>>(data);
}

int main() {
  int* data = nullptr;
  CHECK(cudaMalloc(&data, 32 * sizeof(int)));
  CHECK(cudaMemset(data, 0, 32 * sizeof(int)));
  parent<<<1, 1>>>(data);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(data));
  std::printf("parent was launched\n");
  return 0;
}
