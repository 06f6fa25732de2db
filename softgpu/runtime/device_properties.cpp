// SPDX-License-Identifier: Apache-2.0
// cudaDeviceProp, filled from the driver's attributes by a table, and the choice of a device by wanted properties.
#include <algorithm>
#include <cstring>

#include "softgpu/runtime/context.h"

using namespace tidemark::softgpu::runtime;

namespace {

// Where an attribute's value goes: a field is an int, unsigned or size_t at an offset.
struct Field {
  CUdevice_attribute attribute;
  std::size_t offset;
  std::size_t bytes;
};

#define INTO(field, name)                                                                      \
  Field {                                                                                      \
    CU_DEVICE_ATTRIBUTE_##name, offsetof(cudaDeviceProp, field), sizeof(cudaDeviceProp::field) \
  }
#define INTO_AT(field, index, name)                                                                  \
  Field {                                                                                            \
    CU_DEVICE_ATTRIBUTE_##name, offsetof(cudaDeviceProp, field) + (index) * sizeof(int), sizeof(int) \
  }

constexpr Field kFields[] = {
    INTO(sharedMemPerBlock, MAX_SHARED_MEMORY_PER_BLOCK),
    INTO(regsPerBlock, MAX_REGISTERS_PER_BLOCK),
    INTO(warpSize, WARP_SIZE),
    INTO(memPitch, MAX_PITCH),
    INTO(maxThreadsPerBlock, MAX_THREADS_PER_BLOCK),
    INTO_AT(maxThreadsDim, 0, MAX_BLOCK_DIM_X),
    INTO_AT(maxThreadsDim, 1, MAX_BLOCK_DIM_Y),
    INTO_AT(maxThreadsDim, 2, MAX_BLOCK_DIM_Z),
    INTO_AT(maxGridSize, 0, MAX_GRID_DIM_X),
    INTO_AT(maxGridSize, 1, MAX_GRID_DIM_Y),
    INTO_AT(maxGridSize, 2, MAX_GRID_DIM_Z),
    INTO(totalConstMem, TOTAL_CONSTANT_MEMORY),
    INTO(major, COMPUTE_CAPABILITY_MAJOR),
    INTO(minor, COMPUTE_CAPABILITY_MINOR),
    INTO(textureAlignment, TEXTURE_ALIGNMENT),
    INTO(texturePitchAlignment, TEXTURE_PITCH_ALIGNMENT),
    INTO(multiProcessorCount, MULTIPROCESSOR_COUNT),
    INTO(integrated, INTEGRATED),
    INTO(canMapHostMemory, CAN_MAP_HOST_MEMORY),
    INTO(maxTexture1D, MAXIMUM_TEXTURE1D_WIDTH),
    INTO(maxTexture1DMipmap, MAXIMUM_TEXTURE1D_MIPMAPPED_WIDTH),
    INTO_AT(maxTexture2D, 0, MAXIMUM_TEXTURE2D_WIDTH),
    INTO_AT(maxTexture2D, 1, MAXIMUM_TEXTURE2D_HEIGHT),
    INTO_AT(maxTexture2DMipmap, 0, MAXIMUM_TEXTURE2D_MIPMAPPED_WIDTH),
    INTO_AT(maxTexture2DMipmap, 1, MAXIMUM_TEXTURE2D_MIPMAPPED_HEIGHT),
    INTO_AT(maxTexture2DLinear, 0, MAXIMUM_TEXTURE2D_LINEAR_WIDTH),
    INTO_AT(maxTexture2DLinear, 1, MAXIMUM_TEXTURE2D_LINEAR_HEIGHT),
    INTO_AT(maxTexture2DLinear, 2, MAXIMUM_TEXTURE2D_LINEAR_PITCH),
    INTO_AT(maxTexture2DGather, 0, MAXIMUM_TEXTURE2D_GATHER_WIDTH),
    INTO_AT(maxTexture2DGather, 1, MAXIMUM_TEXTURE2D_GATHER_HEIGHT),
    INTO_AT(maxTexture3D, 0, MAXIMUM_TEXTURE3D_WIDTH),
    INTO_AT(maxTexture3D, 1, MAXIMUM_TEXTURE3D_HEIGHT),
    INTO_AT(maxTexture3D, 2, MAXIMUM_TEXTURE3D_DEPTH),
    INTO_AT(maxTexture3DAlt, 0, MAXIMUM_TEXTURE3D_WIDTH_ALTERNATE),
    INTO_AT(maxTexture3DAlt, 1, MAXIMUM_TEXTURE3D_HEIGHT_ALTERNATE),
    INTO_AT(maxTexture3DAlt, 2, MAXIMUM_TEXTURE3D_DEPTH_ALTERNATE),
    INTO(maxTextureCubemap, MAXIMUM_TEXTURECUBEMAP_WIDTH),
    INTO_AT(maxTexture1DLayered, 0, MAXIMUM_TEXTURE1D_LAYERED_WIDTH),
    INTO_AT(maxTexture1DLayered, 1, MAXIMUM_TEXTURE1D_LAYERED_LAYERS),
    INTO_AT(maxTexture2DLayered, 0, MAXIMUM_TEXTURE2D_LAYERED_WIDTH),
    INTO_AT(maxTexture2DLayered, 1, MAXIMUM_TEXTURE2D_LAYERED_HEIGHT),
    INTO_AT(maxTexture2DLayered, 2, MAXIMUM_TEXTURE2D_LAYERED_LAYERS),
    INTO_AT(maxTextureCubemapLayered, 0, MAXIMUM_TEXTURECUBEMAP_LAYERED_WIDTH),
    INTO_AT(maxTextureCubemapLayered, 1, MAXIMUM_TEXTURECUBEMAP_LAYERED_LAYERS),
    INTO(maxSurface1D, MAXIMUM_SURFACE1D_WIDTH),
    INTO_AT(maxSurface2D, 0, MAXIMUM_SURFACE2D_WIDTH),
    INTO_AT(maxSurface2D, 1, MAXIMUM_SURFACE2D_HEIGHT),
    INTO_AT(maxSurface3D, 0, MAXIMUM_SURFACE3D_WIDTH),
    INTO_AT(maxSurface3D, 1, MAXIMUM_SURFACE3D_HEIGHT),
    INTO_AT(maxSurface3D, 2, MAXIMUM_SURFACE3D_DEPTH),
    INTO_AT(maxSurface1DLayered, 0, MAXIMUM_SURFACE1D_LAYERED_WIDTH),
    INTO_AT(maxSurface1DLayered, 1, MAXIMUM_SURFACE1D_LAYERED_LAYERS),
    INTO_AT(maxSurface2DLayered, 0, MAXIMUM_SURFACE2D_LAYERED_WIDTH),
    INTO_AT(maxSurface2DLayered, 1, MAXIMUM_SURFACE2D_LAYERED_HEIGHT),
    INTO_AT(maxSurface2DLayered, 2, MAXIMUM_SURFACE2D_LAYERED_LAYERS),
    INTO(maxSurfaceCubemap, MAXIMUM_SURFACECUBEMAP_WIDTH),
    INTO_AT(maxSurfaceCubemapLayered, 0, MAXIMUM_SURFACECUBEMAP_LAYERED_WIDTH),
    INTO_AT(maxSurfaceCubemapLayered, 1, MAXIMUM_SURFACECUBEMAP_LAYERED_LAYERS),
    INTO(surfaceAlignment, SURFACE_ALIGNMENT),
    INTO(concurrentKernels, CONCURRENT_KERNELS),
    INTO(ECCEnabled, ECC_ENABLED),
    INTO(pciBusID, PCI_BUS_ID),
    INTO(pciDeviceID, PCI_DEVICE_ID),
    INTO(pciDomainID, PCI_DOMAIN_ID),
    INTO(tccDriver, TCC_DRIVER),
    INTO(asyncEngineCount, ASYNC_ENGINE_COUNT),
    INTO(unifiedAddressing, UNIFIED_ADDRESSING),
    INTO(memoryBusWidth, GLOBAL_MEMORY_BUS_WIDTH),
    INTO(l2CacheSize, L2_CACHE_SIZE),
    INTO(persistingL2CacheMaxSize, MAX_PERSISTING_L2_CACHE_SIZE),
    INTO(maxThreadsPerMultiProcessor, MAX_THREADS_PER_MULTIPROCESSOR),
    INTO(streamPrioritiesSupported, STREAM_PRIORITIES_SUPPORTED),
    INTO(globalL1CacheSupported, GLOBAL_L1_CACHE_SUPPORTED),
    INTO(localL1CacheSupported, LOCAL_L1_CACHE_SUPPORTED),
    INTO(sharedMemPerMultiprocessor, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
    INTO(regsPerMultiprocessor, MAX_REGISTERS_PER_MULTIPROCESSOR),
    INTO(managedMemory, MANAGED_MEMORY),
    INTO(isMultiGpuBoard, MULTI_GPU_BOARD),
    INTO(multiGpuBoardGroupID, MULTI_GPU_BOARD_GROUP_ID),
    INTO(hostNativeAtomicSupported, HOST_NATIVE_ATOMIC_SUPPORTED),
    INTO(pageableMemoryAccess, PAGEABLE_MEMORY_ACCESS),
    INTO(concurrentManagedAccess, CONCURRENT_MANAGED_ACCESS),
    INTO(computePreemptionSupported, COMPUTE_PREEMPTION_SUPPORTED),
    INTO(canUseHostPointerForRegisteredMem, CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM),
    INTO(cooperativeLaunch, COOPERATIVE_LAUNCH),
    INTO(sharedMemPerBlockOptin, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN),
    INTO(pageableMemoryAccessUsesHostPageTables, PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES),
    INTO(directManagedMemAccessFromHost, DIRECT_MANAGED_MEM_ACCESS_FROM_HOST),
    INTO(maxBlocksPerMultiProcessor, MAX_BLOCKS_PER_MULTIPROCESSOR),
    INTO(accessPolicyMaxWindowSize, MAX_ACCESS_POLICY_WINDOW_SIZE),
    INTO(reservedSharedMemPerBlock, RESERVED_SHARED_MEMORY_PER_BLOCK),
    INTO(hostRegisterSupported, HOST_REGISTER_SUPPORTED),
    INTO(sparseCudaArraySupported, SPARSE_CUDA_ARRAY_SUPPORTED),
    INTO(hostRegisterReadOnlySupported, READ_ONLY_HOST_REGISTER_SUPPORTED),
    INTO(timelineSemaphoreInteropSupported, TIMELINE_SEMAPHORE_INTEROP_SUPPORTED),
    INTO(memoryPoolsSupported, MEMORY_POOLS_SUPPORTED),
    INTO(gpuDirectRDMASupported, GPU_DIRECT_RDMA_SUPPORTED),
    INTO(gpuDirectRDMAFlushWritesOptions, GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS),
    INTO(gpuDirectRDMAWritesOrdering, GPU_DIRECT_RDMA_WRITES_ORDERING),
    INTO(memoryPoolSupportedHandleTypes, MEMPOOL_SUPPORTED_HANDLE_TYPES),
    INTO(deferredMappingCudaArraySupported, DEFERRED_MAPPING_CUDA_ARRAY_SUPPORTED),
    INTO(ipcEventSupported, IPC_EVENT_SUPPORTED),
    INTO(clusterLaunch, CLUSTER_LAUNCH),
    INTO(unifiedFunctionPointers, UNIFIED_FUNCTION_POINTERS),
    INTO(deviceNumaConfig, NUMA_CONFIG),
    INTO(deviceNumaId, NUMA_ID),
    INTO(mpsEnabled, MPS_ENABLED),
    INTO(hostNumaId, HOST_NUMA_ID),
    INTO(gpuPciDeviceID, GPU_PCI_DEVICE_ID),
    INTO(gpuPciSubsystemID, GPU_PCI_SUBSYSTEM_ID),
    INTO(hostNumaMultinodeIpcSupported, HOST_NUMA_MULTINODE_IPC_SUPPORTED),
};
#undef INTO
#undef INTO_AT

void store(cudaDeviceProp& properties, const Field& field, int value) {
  char* const place = reinterpret_cast<char*>(&properties) + field.offset;
  if (field.bytes == sizeof(std::size_t)) {
    auto const wide = static_cast<std::size_t>(value);
    std::memcpy(place, &wide, sizeof wide);
  } else {
    std::memcpy(place, &value, sizeof value);
  }
}

cudaError_t fill(cudaDeviceProp& properties, int device) {
  properties = {};
  CUresult result = call(&Driver::cuDeviceGetName, properties.name, static_cast<int>(sizeof properties.name), device);
  if (result == CUDA_SUCCESS) result = call(&Driver::cuDeviceGetUuid, &properties.uuid, device);
  if (result == CUDA_SUCCESS) result = call(&Driver::cuDeviceTotalMem, &properties.totalGlobalMem, device);
  for (const Field& field : kFields) {
    if (result != CUDA_SUCCESS) break;
    int value = 0;
    result = call(&Driver::cuDeviceGetAttribute, &value, field.attribute, device);
    // A driver older or simpler than this toolkit may not know the youngest attributes: they stay 0.
    if (result == CUDA_ERROR_INVALID_VALUE || result == CUDA_ERROR_NOT_SUPPORTED) result = CUDA_SUCCESS;
    store(properties, field, value);
  }
  return to_runtime(result);
}

// How many of the wanted properties a device has; those left 0 (or empty) are not wanted.
int score(const cudaDeviceProp& wanted, const cudaDeviceProp& offered) {
  int points = 0;
  if (wanted.name[0] != '\0') points += std::strcmp(wanted.name, offered.name) == 0;
  if (wanted.major != 0) points += std::pair(offered.major, offered.minor) >= std::pair(wanted.major, wanted.minor);
  if (wanted.totalGlobalMem != 0) points += offered.totalGlobalMem >= wanted.totalGlobalMem;
  if (wanted.multiProcessorCount != 0) points += offered.multiProcessorCount >= wanted.multiProcessorCount;
  if (wanted.sharedMemPerBlock != 0) points += offered.sharedMemPerBlock >= wanted.sharedMemPerBlock;
  if (wanted.integrated != 0) points += offered.integrated == wanted.integrated;
  return points;
}

}  // namespace

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (properties == nullptr) return record(cudaErrorInvalidValue);
  if (cudaError_t const error = check_device(device); error != cudaSuccess) return record(error);
  return record(fill(*properties, device));
}

cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp* wanted) {
  if (device == nullptr || wanted == nullptr) return record(cudaErrorInvalidValue);
  int count = 0, best = -1;
  if (cudaError_t const error = device_count(count); error != cudaSuccess) return record(error);
  for (int candidate = 0; candidate < count; ++candidate) {
    cudaDeviceProp offered;
    if (cudaError_t const error = fill(offered, candidate); error != cudaSuccess) return record(error);
    if (int const points = score(*wanted, offered); points > best) {
      best = points;
      *device = candidate;
    }
  }
  return cudaSuccess;
}
