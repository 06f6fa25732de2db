// SPDX-License-Identifier: Apache-2.0
// Constant, device and managed variables, from host and kernel.
#include "tests/integration/programs/check.h"

__constant__ float coefficients[4];
__device__ int counter;
__managed__ int shared_with_host = 5;
__managed__ float history[8];

__global__ void use(float* out) {
  out[threadIdx.x] = coefficients[threadIdx.x % 4];
  atomicAdd(&counter, 1);
  atomicAdd(&shared_with_host, 1);
  history[threadIdx.x % 8] = coefficients[0];
}

int main(int argc, char** argv) {
  float const host[4] = {1, 2, 3, 4};
  float back[4] = {};
  int zero = 0, count = -1;
  float* out = nullptr;
  void* address = nullptr;
  std::size_t bytes = 0;
  CHECK(cudaMalloc(&out, 32 * sizeof(float)));
  CHECK(cudaMemcpyToSymbol(coefficients, host, sizeof host));
  CHECK(cudaMemcpyToSymbolAsync(counter, &zero, sizeof zero, 0, cudaMemcpyHostToDevice, nullptr));
  history[3] = 2.5f;
  use<<<1, 32>>>(out);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpyFromSymbol(back, coefficients, sizeof back));
  CHECK(cudaMemcpyFromSymbol(&count, counter, sizeof count));
  CHECK(cudaGetSymbolAddress(&address, history));
  CHECK(cudaGetSymbolSize(&bytes, history));
  REQUIRE(address == history && bytes == sizeof history);
  REQUIRE(back[3] == 4);
  std::printf("counter %d, managed %d, history %g\n", count, shared_with_host, history[3]);
  if (values_count(argc, argv)) REQUIRE(count == 32 && shared_with_host == 37 && history[3] == 1);
  CHECK(cudaFree(out));
  return 0;
}
