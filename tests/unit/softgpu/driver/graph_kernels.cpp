// SPDX-License-Identifier: Apache-2.0
// Kernels for the tests of graphs.
#include "softgpu/kernel/cuda_shim.h"
#include "softgpu/kernel/register.h"

extern "C" __global__ void graph_fill(int* x, int n, int value) {
  int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) x[i] = value;
}

extern "C" __global__ void graph_add(int* x, int n, int value) {
  int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) x[i] += value;
}

extern "C" __global__ void graph_scale_add(int* to, const int* from, int n, int factor) {
  int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) to[i] = to[i] * factor + from[i];
}

extern "C" __global__ void graph_fault(int* nowhere) {
  if (blockIdx.x == 0 && threadIdx.x == 0) *nowhere = 1;
}

SOFTGPU_KERNEL(graph_fill);
SOFTGPU_KERNEL(graph_add);
SOFTGPU_KERNEL(graph_scale_add);
SOFTGPU_KERNEL(graph_fault);
