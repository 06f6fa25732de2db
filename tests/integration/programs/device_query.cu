// SPDX-License-Identifier: Apache-2.0
// Prints every property of every device, and every attribute there is a number for.
#include <initializer_list>

#include "tests/integration/programs/check.h"

struct Row {
  const char* name;
  long long values[3];
};
#define NUMBER(field)                         \
  Row {                                       \
#field, {                                 \
      static_cast<long long>(p.field), -1, -1 \
    }                                         \
  }
#define PAIR(field)              \
  Row {                          \
#field, {                    \
      p.field[0], p.field[1], -1 \
    }                            \
  }
#define TRIPLE(field)                    \
  Row {                                  \
#field, {                            \
      p.field[0], p.field[1], p.field[2] \
    }                                    \
  }

void print(std::initializer_list<Row> rows) {
  for (Row const& row : rows) {
    std::printf("  %-38s", row.name);
    for (long long const value : row.values)
      if (value >= 0) std::printf(" %lld", value);
    std::printf("\n");
  }
}

void print_limits(const cudaDeviceProp& p) {
  print({NUMBER(totalGlobalMem),
         NUMBER(sharedMemPerBlock),
         NUMBER(regsPerBlock),
         NUMBER(warpSize),
         NUMBER(memPitch),
         NUMBER(maxThreadsPerBlock),
         TRIPLE(maxThreadsDim),
         TRIPLE(maxGridSize),
         NUMBER(totalConstMem),
         NUMBER(major),
         NUMBER(minor),
         NUMBER(textureAlignment),
         NUMBER(texturePitchAlignment),
         NUMBER(multiProcessorCount),
         NUMBER(maxTexture1D),
         NUMBER(maxTexture1DMipmap),
         PAIR(maxTexture2D),
         PAIR(maxTexture2DMipmap),
         TRIPLE(maxTexture2DLinear),
         PAIR(maxTexture2DGather),
         TRIPLE(maxTexture3D),
         TRIPLE(maxTexture3DAlt),
         NUMBER(maxTextureCubemap),
         PAIR(maxTexture1DLayered),
         TRIPLE(maxTexture2DLayered),
         PAIR(maxTextureCubemapLayered),
         NUMBER(maxSurface1D),
         PAIR(maxSurface2D),
         TRIPLE(maxSurface3D),
         PAIR(maxSurface1DLayered),
         TRIPLE(maxSurface2DLayered),
         NUMBER(maxSurfaceCubemap),
         PAIR(maxSurfaceCubemapLayered),
         NUMBER(surfaceAlignment),
         NUMBER(memoryBusWidth),
         NUMBER(l2CacheSize),
         NUMBER(persistingL2CacheMaxSize),
         NUMBER(maxThreadsPerMultiProcessor),
         NUMBER(sharedMemPerMultiprocessor),
         NUMBER(regsPerMultiprocessor),
         NUMBER(sharedMemPerBlockOptin),
         NUMBER(maxBlocksPerMultiProcessor),
         NUMBER(accessPolicyMaxWindowSize),
         NUMBER(reservedSharedMemPerBlock)});
}

void print_abilities(const cudaDeviceProp& p) {
  print({NUMBER(integrated),
         NUMBER(canMapHostMemory),
         NUMBER(concurrentKernels),
         NUMBER(ECCEnabled),
         NUMBER(pciBusID),
         NUMBER(pciDeviceID),
         NUMBER(pciDomainID),
         NUMBER(tccDriver),
         NUMBER(asyncEngineCount),
         NUMBER(unifiedAddressing),
         NUMBER(streamPrioritiesSupported),
         NUMBER(globalL1CacheSupported),
         NUMBER(localL1CacheSupported),
         NUMBER(managedMemory),
         NUMBER(isMultiGpuBoard),
         NUMBER(multiGpuBoardGroupID),
         NUMBER(hostNativeAtomicSupported),
         NUMBER(pageableMemoryAccess),
         NUMBER(concurrentManagedAccess),
         NUMBER(computePreemptionSupported),
         NUMBER(canUseHostPointerForRegisteredMem),
         NUMBER(cooperativeLaunch),
         NUMBER(pageableMemoryAccessUsesHostPageTables),
         NUMBER(directManagedMemAccessFromHost),
         NUMBER(hostRegisterSupported),
         NUMBER(sparseCudaArraySupported),
         NUMBER(hostRegisterReadOnlySupported),
         NUMBER(timelineSemaphoreInteropSupported),
         NUMBER(memoryPoolsSupported),
         NUMBER(gpuDirectRDMASupported),
         NUMBER(gpuDirectRDMAFlushWritesOptions),
         NUMBER(gpuDirectRDMAWritesOrdering),
         NUMBER(memoryPoolSupportedHandleTypes),
         NUMBER(deferredMappingCudaArraySupported),
         NUMBER(ipcEventSupported),
         NUMBER(clusterLaunch),
         NUMBER(unifiedFunctionPointers)});
}

int main() {
  int devices = 0, driver = 0, runtime = 0;
  CHECK(cudaDriverGetVersion(&driver));
  CHECK(cudaRuntimeGetVersion(&runtime));
  CHECK(cudaGetDeviceCount(&devices));
  std::printf("driver %d, runtime %d, %d devices\n", driver, runtime, devices);
  REQUIRE(driver >= runtime);
  for (int d = 0; d < devices; ++d) {
    cudaDeviceProp p;
    char bus[32] = {};
    std::size_t free_bytes = 0, total = 0;
    CHECK(cudaSetDevice(d));
    CHECK(cudaGetDeviceProperties(&p, d));
    CHECK(cudaDeviceGetPCIBusId(bus, sizeof bus, d));
    CHECK(cudaMemGetInfo(&free_bytes, &total));
    std::printf("device %d: %s at %s, %zu of %zu bytes free\n", d, p.name, bus, free_bytes, total);
    print_limits(p);
    print_abilities(p);
    REQUIRE(p.totalGlobalMem == total && p.warpSize == 32 && p.maxThreadsPerBlock == 1024);
    REQUIRE(p.regsPerBlock > 0 && p.maxGridSize[0] > 65535 && p.sharedMemPerBlock >= 48 << 10 && p.l2CacheSize > 0);
    int unknown = 0;
    for (int a = 1; a < cudaDevAttrMax; ++a) {
      int value = 0;
      cudaError_t const error = cudaDeviceGetAttribute(&value, static_cast<cudaDeviceAttr>(a), d);
      if (error == cudaSuccess) continue;
      (void)cudaGetLastError();
      std::printf("  attribute %d: %s\n", a, cudaGetErrorName(error));
      ++unknown;
    }
    std::printf("  %d attributes without an answer\n", unknown);
  }
  return 0;
}
