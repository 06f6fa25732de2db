// SPDX-License-Identifier: Apache-2.0
// The sample's kernels, written once: nvcc compiles them for a device, and softgpu's CPU shim (included before this
// file) for the software device. No launch stands here, since only nvcc reads <<< >>>.
#pragma once
#include <cstddef>

namespace hello {

constexpr int kThreads = 256;
constexpr std::size_t kPeriod = 1000;

// x[i] = scale * (i mod 1000): small whole numbers, so that sums of them are exact in a float.
__global__ void fill(float* x, std::size_t n, float scale) {
  std::size_t const i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) x[i] = scale * static_cast<float>(i % kPeriod);
}

__global__ void add(const float* a, const float* b, float* c, std::size_t n) {
  std::size_t const i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}

// sums[block] = the sum of the block's elements, by halving through shared memory with a barrier between the steps.
__global__ void block_sum(const float* x, float* sums, std::size_t n) {
  __shared__ float part[kThreads];
  unsigned const t = threadIdx.x;
  std::size_t const i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + t;
  part[t] = i < n ? x[i] : 0.0f;
  __syncthreads();
  for (unsigned half = kThreads / 2; half > 0; half /= 2) {
    if (t < half) part[t] += part[t + half];
    __syncthreads();
  }
  if (t == 0) sums[blockIdx.x] = part[0];
}

}  // namespace hello
