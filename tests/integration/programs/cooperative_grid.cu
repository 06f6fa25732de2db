// SPDX-License-Identifier: Apache-2.0
// Cooperative groups: the whole grid meets in the middle of a kernel; tiles of a block reduce by shuffles.
#include <cooperative_groups.h>

#include "tests/integration/programs/check.h"

namespace cg = cooperative_groups;

__global__ void total(const int* in, int* partial, int* out, int n) {
  cg::grid_group grid = cg::this_grid();
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
  int mine = 0;
  for (unsigned long long i = grid.thread_rank(); i < n; i += grid.size()) mine += in[i];
  for (unsigned step = tile.size() / 2; step > 0; step /= 2) mine += tile.shfl_down(mine, step);
  if (tile.thread_rank() == 0) atomicAdd(&partial[blockIdx.x], mine);
  grid.sync();
  if (grid.thread_rank() == 0)
    for (unsigned b = 0; b < gridDim.x; ++b) *out += partial[b];
}

int main(int argc, char** argv) {
  int device = 0, supported = 0, per_sm = 0, n = 1 << 20, result = 0;
  cudaDeviceProp properties;
  CHECK(cudaGetDevice(&device));
  CHECK(cudaGetDeviceProperties(&properties, device));
  CHECK(cudaDeviceGetAttribute(&supported, cudaDevAttrCooperativeLaunch, device));
  REQUIRE(supported == 1);
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per_sm, total, 256, 0));
  dim3 grid(static_cast<unsigned>(per_sm * properties.multiProcessorCount)), block(256);
  int *in = nullptr, *partial = nullptr, *out = nullptr;
  CHECK(cudaMalloc(&in, n * sizeof(int)));
  CHECK(cudaMalloc(&partial, grid.x * sizeof(int)));
  CHECK(cudaMalloc(&out, sizeof(int)));
  CHECK(cudaMemset(in, 1, n * sizeof(int)));
  CHECK(cudaMemset(partial, 0, grid.x * sizeof(int)));
  CHECK(cudaMemset(out, 0, sizeof(int)));
  void* arguments[] = {&in, &partial, &out, &n};
  CHECK(cudaLaunchCooperativeKernel(total, grid, block, arguments, 0, nullptr));
  CHECK(cudaDeviceSynchronize());
  // One block more cannot be resident with the others.
  dim3 const too_large(grid.x + 1);
  cudaError_t const refused = cudaLaunchCooperativeKernel(total, too_large, block, arguments, 0, nullptr);
  REQUIRE(refused == cudaErrorCooperativeLaunchTooLarge);
  REQUIRE(cudaGetLastError() == cudaErrorCooperativeLaunchTooLarge);
  CHECK(cudaMemcpy(&result, out, sizeof result, cudaMemcpyDeviceToHost));
  std::printf("%u blocks met; the sum is %d\n", grid.x, result);
  if (values_count(argc, argv)) REQUIRE(static_cast<unsigned>(result) == 0x01010101u * static_cast<unsigned>(n));
  CHECK(cudaFree(in));
  CHECK(cudaFree(partial));
  CHECK(cudaFree(out));
  return 0;
}
