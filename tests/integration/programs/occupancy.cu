// SPDX-License-Identifier: Apache-2.0
// Launch configuration from the occupancy calculator.
#include "tests/integration/programs/check.h"

__global__ void saxpy(int n, float a, const float* x, float* y) {
  int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) y[i] = a * x[i] + y[i];
}
__global__ void with_tile(float* y) {
  extern __shared__ float tile[];
  tile[threadIdx.x] = y[threadIdx.x];
}

struct TileBytes {
  __host__ __device__ std::size_t operator()(int threads) const { return threads * sizeof(float); }
};

int main(int argc, char** argv) {
  int n = 1 << 20, grid = 0, block = 0, active = 0;
  float *x = nullptr, *y = nullptr, first = 0;
  CHECK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, saxpy, 0, 0));
  CHECK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&active, saxpy, block, 0));
  std::printf("grid %d, block %d, %d blocks at a time\n", grid, block, active);
  REQUIRE(grid > 0 && block > 0 && block <= 1024 && block % 32 == 0 && active > 0);
  int tiled = 0;
  std::size_t free_shared = 0;
  CHECK(cudaOccupancyMaxPotentialBlockSizeVariableSMem(&grid, &tiled, with_tile, TileBytes{}));
  CHECK(cudaOccupancyAvailableDynamicSMemPerBlock(&free_shared, with_tile, 2, 128));
  REQUIRE(tiled > 0 && free_shared > 0);
  CHECK(cudaMalloc(&x, n * sizeof(float)));
  CHECK(cudaMalloc(&y, n * sizeof(float)));
  CHECK(cudaMemset(x, 0, n * sizeof(float)));
  CHECK(cudaMemset(y, 0, n * sizeof(float)));
  saxpy<<<(n + block - 1) / block, block>>>(n, 2, x, y);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(&first, y, sizeof first, cudaMemcpyDeviceToHost));
  if (values_count(argc, argv)) REQUIRE(first == 0);
  CHECK(cudaFree(x));
  CHECK(cudaFree(y));
  return 0;
}
