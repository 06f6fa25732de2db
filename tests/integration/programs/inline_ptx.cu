// SPDX-License-Identifier: Apache-2.0
// Assembly in a kernel.
#include "tests/integration/programs/check.h"

__global__ void lanes(unsigned* out) {
  unsigned lane = 0, sum = 0;
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane));
  asm("add.u32 %0, %1, %2;" : "=r"(sum) : "r"(lane), "r"(threadIdx.x));
  out[threadIdx.x] = sum;
}

int main(int argc, char** argv) {
  unsigned *out = nullptr, last = 0;
  CHECK(cudaMalloc(&out, 64 * sizeof(unsigned)));
  lanes<<<1, 64>>>(out);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(&last, out + 63, sizeof last, cudaMemcpyDeviceToHost));
  if (values_count(argc, argv)) REQUIRE(last == 94);
  CHECK(cudaFree(out));
  return 0;
}
