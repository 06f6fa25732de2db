// SPDX-License-Identifier: Apache-2.0
// Managed memory with advice and prefetches in both directions.
#include "tests/integration/programs/check.h"

__global__ void increment(int* data, int n) {
  int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) data[i] += 1;
}

int main(int argc, char** argv) {
  constexpr int kCount = 1 << 20;
  int* data = nullptr;
  cudaMemLocation const device{cudaMemLocationTypeDevice, 0}, host{cudaMemLocationTypeHost, 0};
  CHECK(cudaMallocManaged(&data, kCount * sizeof(int)));
  for (int i = 0; i < kCount; ++i) data[i] = i;
  CHECK(cudaMemAdvise(data, kCount * sizeof(int), cudaMemAdviseSetPreferredLocation, device));
  CHECK(cudaMemAdvise(data, kCount * sizeof(int), cudaMemAdviseSetAccessedBy, host));
  CHECK(cudaMemPrefetchAsync(data, kCount * sizeof(int), device, 0, nullptr));
  increment<<<kCount / 256, 256>>>(data, kCount);
  CHECK(cudaGetLastError());
  CHECK(cudaMemPrefetchAsync(data, kCount * sizeof(int), host, 0, nullptr));
  CHECK(cudaDeviceSynchronize());
  int preferred = -7;
  CHECK(cudaMemRangeGetAttribute(&preferred, sizeof preferred, cudaMemRangeAttributePreferredLocation, data,
                                 kCount * sizeof(int)));
  REQUIRE(preferred == 0);
  cudaPointerAttributes attributes;
  CHECK(cudaPointerGetAttributes(&attributes, data));
  REQUIRE(attributes.type == cudaMemoryTypeManaged);
  if (values_count(argc, argv)) REQUIRE(data[77] == 78);
  CHECK(cudaFree(data));
  return 0;
}
