// SPDX-License-Identifier: Apache-2.0
// Holds twelve megabytes of device memory until a line comes in; one that begins with c is its end.
#include <cuda_runtime.h>

#include <csignal>
#include <cstdio>

int main() {
  void* block = nullptr;
  if (cudaMalloc(&block, 12 << 20) != cudaSuccess) return 1;
  std::puts("waiting");
  std::fflush(stdout);
  if (std::getchar() == 'c') std::raise(SIGSEGV);
  return cudaFree(block) == cudaSuccess ? 0 : 1;
}
