// SPDX-License-Identifier: Apache-2.0
// The tests' kernels, for nvcc and for the CPU.
#pragma once
#include <cstddef>

namespace test {

__global__ void fill(unsigned* x, unsigned value, std::size_t n) {
  std::size_t const i = static_cast<std::size_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < n) x[i] = value;
}

__global__ void nothing() {}

}  // namespace test
