// SPDX-License-Identifier: Apache-2.0
// The kernels of the program that CUPTI watches.
#pragma once
#include "softgpu/kernel/portable.h"

namespace watched {

__global__ inline void fill(int* x, int value, int n) {
  int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) x[i] = value;
}

__global__ inline void add(int* x, int value, int n) {
  int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) x[i] += value;
}

}  // namespace watched
