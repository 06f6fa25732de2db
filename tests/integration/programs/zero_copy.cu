// SPDX-License-Identifier: Apache-2.0
// Pinned host memory that a kernel reads and writes in place; memory of the program's own, registered.
#include <vector>

#include "tests/integration/programs/check.h"

__global__ void add(const float* a, float* b, int n) {
  int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) b[i] += a[i];
}

int main(int argc, char** argv) {
  constexpr int kCount = 1 << 16;
  CHECK(cudaSetDeviceFlags(cudaDeviceMapHost));
  float *a = nullptr, *on_device = nullptr, *b_on_device = nullptr;
  CHECK(cudaHostAlloc(&a, kCount * sizeof(float), cudaHostAllocMapped | cudaHostAllocWriteCombined));
  std::vector<float> b(kCount, 1);
  CHECK(cudaHostRegister(b.data(), kCount * sizeof(float), cudaHostRegisterMapped));
  for (int i = 0; i < kCount; ++i) a[i] = static_cast<float>(i);
  CHECK(cudaHostGetDevicePointer(&on_device, a, 0));
  CHECK(cudaHostGetDevicePointer(&b_on_device, b.data(), 0));
  add<<<kCount / 256, 256>>>(on_device, b_on_device, kCount);
  CHECK(cudaGetLastError());
  CHECK(cudaDeviceSynchronize());
  if (values_count(argc, argv)) REQUIRE(b[100] == 101);
  CHECK(cudaHostUnregister(b.data()));
  CHECK(cudaFreeHost(a));
  return 0;
}
