// SPDX-License-Identifier: Apache-2.0
// Holds twelve megabytes of device memory until a line comes in.
#include <cuda_runtime.h>

#include <cstdio>

int main() {
  void* block = nullptr;
  if (cudaMalloc(&block, 12 << 20) != cudaSuccess) return 1;
  std::puts("waiting");
  std::fflush(stdout);
  std::getchar();
  return cudaFree(block) == cudaSuccess ? 0 : 1;
}
