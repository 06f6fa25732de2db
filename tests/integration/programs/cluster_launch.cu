// SPDX-License-Identifier: Apache-2.0
// Thread block clusters, where the device has them; launch attributes of cudaLaunchKernelEx.
#include "tests/integration/programs/check.h"

__global__ void work(int* data) {
  data[blockIdx.x] = static_cast<int>(blockDim.x);
}

int main() {
  int clusters = 0;
  int* data = nullptr;
  CHECK(cudaDeviceGetAttribute(&clusters, cudaDevAttrClusterLaunch, 0));
  CHECK(cudaMalloc(&data, 64 * sizeof(int)));
  cudaLaunchAttribute attributes[2] = {};
  attributes[0].id = cudaLaunchAttributePriority;
  attributes[0].val.priority = 0;
  attributes[1].id = cudaLaunchAttributeClusterDimension;
  attributes[1].val.clusterDim.x = 4;
  attributes[1].val.clusterDim.y = attributes[1].val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = 64;
  config.blockDim = 128;
  config.attrs = attributes;
  config.numAttrs = 1;
  CHECK(cudaLaunchKernelEx(&config, work, data));
  config.numAttrs = 2;
  if (clusters) {
    int most = 0, active = 0;
    CHECK(cudaOccupancyMaxPotentialClusterSize(&most, work, &config));
    CHECK(cudaOccupancyMaxActiveClusters(&active, work, &config));
    std::printf("clusters of up to %d blocks, %d at a time\n", most, active);
    REQUIRE(most >= 8 && active > 0);
    CHECK(cudaLaunchKernelEx(&config, work, data));
    config.gridDim = 63;  // not a multiple
    REQUIRE(cudaLaunchKernelEx(&config, work, data) != cudaSuccess);
    (void)cudaGetLastError();
  } else {
    std::printf("no clusters on this device\n");
    REQUIRE(cudaLaunchKernelEx(&config, work, data) != cudaSuccess);
    (void)cudaGetLastError();
  }
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(data));
  return 0;
}
