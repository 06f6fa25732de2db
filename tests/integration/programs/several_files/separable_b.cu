// SPDX-License-Identifier: Apache-2.0
// Separable compilation: two files, linked as device code.
#include "tests/integration/programs/check.h"
#include "tests/integration/programs/several_files/separable.h"

__global__ void shift(float* data) {
  data[threadIdx.x] = shifted(data[threadIdx.x]);
}

int main(int argc, char** argv) {
  float *data = nullptr, value = 40, read_back = 0, back = 0;
  CHECK(cudaMalloc(&data, 32 * sizeof(float)));
  CHECK(cudaMemset(data, 0, 32 * sizeof(float)));
  CHECK(cudaMemcpyToSymbol(offset, &value, sizeof value));
  shift<<<1, 32>>>(data);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpyFromSymbol(&read_back, offset, sizeof read_back));
  CHECK(cudaMemcpy(&back, data + 5, sizeof back, cudaMemcpyDeviceToHost));
  REQUIRE(read_back == 40);
  if (values_count(argc, argv)) REQUIRE(back == 40);
  CHECK(cudaFree(data));
  return 0;
}
