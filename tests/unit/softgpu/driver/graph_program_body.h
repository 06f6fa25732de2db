// SPDX-License-Identifier: Apache-2.0
// The program's kernels, once for nvcc and once for the CPU.
#pragma once

namespace graph_program {

constexpr int kThreads = 128;

// y = scale * x + y
__global__ void axpy(float* y, const float* x, int n, float scale) {
  int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) y[i] = scale * x[i] + y[i];
}

template <class T>
__global__ void fill(T* x, int n, T value) {
  int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) x[i] = value;
}

// out[block] = sum of the block's elements.
__global__ void block_sum(const float* x, float* out, int n) {
  __shared__ float part[kThreads];
  int const t = static_cast<int>(threadIdx.x);
  int const i = static_cast<int>(blockIdx.x) * kThreads + t;
  part[t] = i < n ? x[i] : 0.0f;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (t < half) part[t] += part[t + half];
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = part[0];
}

}  // namespace graph_program
