// SPDX-License-Identifier: Apache-2.0
// More shared memory than a kernel gets by default, asked for with cudaFuncSetAttribute; launch bounds.
#include "tests/integration/programs/check.h"

extern __shared__ float tile[];

__global__ void __launch_bounds__(256) reverse(float* data) {
  tile[threadIdx.x] = data[threadIdx.x];
  __syncthreads();
  data[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

__global__ void rows(const float* in, float* out) {
  __shared__ float row[32][33];
  row[threadIdx.y][threadIdx.x] = in[threadIdx.y * 32 + threadIdx.x];
  __syncthreads();
  out[threadIdx.y * 32 + threadIdx.x] = row[threadIdx.x][threadIdx.y];
}

int main() {
  int most = 0;
  CHECK(cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0));
  float *data = nullptr, *out = nullptr;
  CHECK(cudaMalloc(&data, 1024 * sizeof(float)));
  CHECK(cudaMalloc(&out, 1024 * sizeof(float)));
  CHECK(cudaMemset(data, 0, 1024 * sizeof(float)));
  reverse<<<1, 256, 256 * sizeof(float)>>>(data);
  CHECK(cudaGetLastError());
  reverse<<<1, 256, most>>>(data);  // not asked for yet
  REQUIRE(cudaGetLastError() == cudaErrorInvalidValue);
  CHECK(cudaFuncSetAttribute(reverse, cudaFuncAttributeMaxDynamicSharedMemorySize, most));
  CHECK(cudaFuncSetAttribute(reverse, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared));
  reverse<<<1, 256, most>>>(data);
  CHECK(cudaGetLastError());
  reverse<<<1, 288, 288 * sizeof(float)>>>(data);  // beyond its launch bounds
  REQUIRE(cudaGetLastError() == cudaErrorLaunchOutOfResources);
  rows<<<1, dim3(32, 32)>>>(data, out);
  CHECK(cudaGetLastError());
  cudaFuncAttributes a;
  CHECK(cudaFuncGetAttributes(&a, reverse));
  std::printf("reverse: %zu static, %d dynamic, at most %d threads\n", a.sharedSizeBytes, a.maxDynamicSharedSizeBytes,
              a.maxThreadsPerBlock);
  REQUIRE(a.maxThreadsPerBlock == 256 && a.sharedSizeBytes == 0 && a.maxDynamicSharedSizeBytes == most);
  CHECK(cudaFuncGetAttributes(&a, rows));
  std::printf("rows: %zu static, %d dynamic, at most %d threads\n", a.sharedSizeBytes, a.maxDynamicSharedSizeBytes,
              a.maxThreadsPerBlock);
  REQUIRE(a.sharedSizeBytes == 32 * 33 * sizeof(float) && a.maxThreadsPerBlock == 1024);
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(data));
  CHECK(cudaFree(out));
  return 0;
}
