// SPDX-License-Identifier: Apache-2.0
// Linked with the vendor's static runtime, nvcc's default: it cannot run on softgpu, and must say so.
#include <cuda_runtime.h>

#include <cstdio>

__global__ void nothing() {}

int main() {
  void* p = nullptr;
  cudaError_t const error = cudaMalloc(&p, 1 << 20);
  if (error == cudaSuccess) {
    nothing<<<1, 1>>>();
    return cudaDeviceSynchronize() == cudaSuccess ? 0 : 1;
  }
  std::printf("%s\n", cudaGetErrorName(error));
  return 1;
}
