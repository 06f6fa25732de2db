// SPDX-License-Identifier: Apache-2.0
// The kernels of a program that runs on a card and, with these bodies compiled once more, on the CPU.
#pragma once
#include "softgpu/kernel/cooperative.h"
#include "softgpu/kernel/portable.h"

struct Polynomial {
  float c[3];
};

__constant__ Polynomial polynomial = {{1, 2, 3}};
__managed__ int rounds = 2;

template <class T>
__global__ void evaluate(const T* x, T* y, int n) {
  int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  float const at = static_cast<float>(x[i]);
  y[i] = static_cast<T>(polynomial.c[0] + at * (polynomial.c[1] + at * polynomial.c[2]));
}

// The sum of all, `rounds` times: tiles, then the block, then the whole grid.
__global__ void total(const int* in, int* partial, int* out, int n) {
  namespace cg = cooperative_groups;
  auto const grid = cg::this_grid();
  auto const block = cg::this_thread_block();
  auto const tile = cg::tiled_partition<32>(block);
  __shared__ int of_block;
  for (int round = 0; round < rounds; ++round) {
    if (block.thread_rank() == 0) of_block = 0;
    block.sync();
    int mine = 0;
    for (unsigned long long i = grid.thread_rank(); i < static_cast<unsigned long long>(n); i += grid.size())
      mine += in[i];
    for (unsigned step = tile.size() / 2; step > 0; step /= 2) mine += tile.shfl_down(mine, step);
    if (tile.thread_rank() == 0) atomicAdd(&of_block, mine);
    grid.sync();
    if (block.thread_rank() == 0) partial[blockIdx.x] = of_block;
    grid.sync();
    if (grid.thread_rank() == 0)
      for (unsigned b = 0; b < gridDim.x; ++b) *out += partial[b];
    grid.sync();
  }
}
