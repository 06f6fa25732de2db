// SPDX-License-Identifier: Apache-2.0
#include "tests/integration/programs/check.h"

static __device__ int number = 1;
namespace {
__global__ void hidden(int* out) {
  *out = number;
}
}  // namespace
static __global__ void kernel(int* out) {
  *out += 1;
}

int run_one(int* data) {
  int out = 0;
  hidden<<<1, 1>>>(data);
  CHECK(cudaGetLastError());
  kernel<<<1, 1>>>(data);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(&out, data, sizeof out, cudaMemcpyDeviceToHost));
  return out;
}

void set_one(int value) {
  CHECK(cudaMemcpyToSymbol(number, &value, sizeof value));
}

int get_one() {
  int value = 0;
  CHECK(cudaMemcpyFromSymbol(&value, number, sizeof value));
  return value;
}
