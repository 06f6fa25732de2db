// SPDX-License-Identifier: Apache-2.0
// cudaMallocAsync with the device's pool and one of the program's own.
#include <cstdint>

#include "tests/integration/programs/check.h"

__global__ void touch(char* data, std::size_t n) {
  for (std::size_t i = threadIdx.x; i < n; i += blockDim.x) data[i] = 1;
}

int main() {
  int supported = 0;
  CHECK(cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, 0));
  REQUIRE(supported == 1);
  cudaStream_t stream;
  cudaMemPool_t shared_pool, own;
  CHECK(cudaStreamCreate(&stream));
  CHECK(cudaDeviceGetDefaultMemPool(&shared_pool, 0));
  std::uint64_t keep = ~std::uint64_t{0}, reserved = 0, used = 1;
  CHECK(cudaMemPoolSetAttribute(shared_pool, cudaMemPoolAttrReleaseThreshold, &keep));
  for (int i = 0; i < 100; ++i) {
    char* p = nullptr;
    std::size_t const bytes = (std::size_t{1} + static_cast<std::size_t>(i) % 7) << 20;
    CHECK(cudaMallocAsync(&p, bytes, stream));
    touch<<<1, 256, 0, stream>>>(p, bytes);
    CHECK(cudaGetLastError());
    CHECK(cudaFreeAsync(p, stream));
  }
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaMemPoolGetAttribute(shared_pool, cudaMemPoolAttrReservedMemCurrent, &reserved));
  CHECK(cudaMemPoolGetAttribute(shared_pool, cudaMemPoolAttrUsedMemCurrent, &used));
  REQUIRE(used == 0 && reserved >= 7 << 20 && reserved < 100 << 20);
  CHECK(cudaMemPoolTrimTo(shared_pool, 0));
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {cudaMemLocationTypeDevice, 0};
  CHECK(cudaMemPoolCreate(&own, &properties));
  void* p = nullptr;
  CHECK(cudaMallocFromPoolAsync(&p, 1 << 20, own, stream));
  CHECK(cudaFreeAsync(p, stream));
  CHECK(cudaStreamSynchronize(stream));
  CHECK(cudaMemPoolDestroy(own));
  CHECK(cudaStreamDestroy(stream));
  return 0;
}
