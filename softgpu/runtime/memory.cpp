// SPDX-License-Identifier: Apache-2.0
// Linear memory: device, pinned, registered, managed; what a pointer is; advice and prefetching.
#include <algorithm>
#include <iterator>

#include "softgpu/runtime/context.h"

using namespace tidemark::softgpu::runtime;

namespace {

// An allocation of nothing succeeds and gives a null pointer; the driver API would refuse it.
template <class Allocate>
cudaError_t allocate(void** pointer, bool nothing, Allocate allocate_some) {
  if (pointer == nullptr) return record(cudaErrorInvalidValue);
  if (!nothing) return allocate_some();
  *pointer = nullptr;
  return record(enter());
}

// Rows of a pitched allocation are aligned for the widest element; the driver takes 4, 8 or 16.
constexpr unsigned kElementBytes = 4;

constexpr CUpointer_attribute kAsked[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED,
                                          CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_DEVICE_POINTER,
                                          CU_POINTER_ATTRIBUTE_HOST_POINTER};

}  // namespace

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  return allocate(pointer, bytes == 0, [&] { return forward(&Driver::cuMemAlloc, pointer, bytes); });
}

cudaError_t cudaMallocHost(void** pointer, size_t bytes) {
  return allocate(pointer, bytes == 0, [&] { return forward(&Driver::cuMemAllocHost, pointer, bytes); });
}

cudaError_t cudaHostAlloc(void** pointer, size_t bytes, unsigned int flags) {
  constexpr unsigned kAll = cudaHostAllocPortable | cudaHostAllocMapped | cudaHostAllocWriteCombined;
  if ((flags & ~kAll) != 0) return record(cudaErrorInvalidValue);
  return allocate(pointer, bytes == 0, [&] { return forward(&Driver::cuMemHostAlloc, pointer, bytes, flags); });
}

cudaError_t cudaMallocManaged(void** pointer, size_t bytes, unsigned int flags) {
  if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost) return record(cudaErrorInvalidValue);
  return forward(&Driver::cuMemAllocManaged, pointer, bytes, flags);
}

cudaError_t cudaMallocPitch(void** pointer, size_t* pitch, size_t width, size_t height) {
  if (pitch == nullptr) return record(cudaErrorInvalidValue);
  if (width == 0 || height == 0) *pitch = 0;
  return allocate(pointer, width == 0 || height == 0,
                  [&] { return forward(&Driver::cuMemAllocPitch, pointer, pitch, width, height, kElementBytes); });
}

cudaError_t cudaMalloc3D(cudaPitchedPtr* pitched, cudaExtent extent) {
  if (pitched == nullptr) return record(cudaErrorInvalidValue);
  size_t rows = 0;
  if (__builtin_mul_overflow(extent.height, extent.depth, &rows)) return record(cudaErrorMemoryAllocation);
  void* pointer = nullptr;
  size_t pitch = 0;
  cudaError_t const error = cudaMallocPitch(&pointer, &pitch, extent.width, rows);
  if (error == cudaSuccess) *pitched = {pointer, pitch, extent.width, extent.height};
  return error;
}

cudaError_t cudaFree(void* pointer) {
  if (pointer == nullptr) return record(enter());
  return forward(&Driver::cuMemFree, pointer);
}

cudaError_t cudaFreeHost(void* pointer) {
  if (pointer == nullptr) return record(enter());
  return forward(&Driver::cuMemFreeHost, pointer);
}

cudaError_t cudaHostRegister(void* pointer, size_t bytes, unsigned int flags) {
  return forward(&Driver::cuMemHostRegister, pointer, bytes, flags);
}
cudaError_t cudaHostUnregister(void* pointer) {
  return forward(&Driver::cuMemHostUnregister, pointer);
}
cudaError_t cudaHostGetDevicePointer(void** device_pointer, void* host_pointer, unsigned int flags) {
  return forward(&Driver::cuMemHostGetDevicePointer, device_pointer, host_pointer, flags);
}
cudaError_t cudaHostGetFlags(unsigned int* flags, void* pointer) {
  return forward(&Driver::cuMemHostGetFlags, flags, pointer);
}
cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total_bytes) {
  return forward(&Driver::cuMemGetInfo, free_bytes, total_bytes);
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  if (attributes == nullptr) return record(cudaErrorInvalidValue);
  unsigned memory_type = 0, managed = 0;
  int device = cudaInvalidDeviceId;
  void *device_pointer = nullptr, *host_pointer = nullptr;
  void* answers[] = {&memory_type, &managed, &device, &device_pointer, &host_pointer};
  static_assert(std::size(answers) == std::size(kAsked));
  // The driver writes into the answers, not into the list of questions; its prototype just lacks the const.
  CUpointer_attribute asked[std::size(kAsked)];
  std::copy(std::begin(kAsked), std::end(kAsked), asked);
  cudaError_t const error = forward(&Driver::cuPointerGetAttributes, static_cast<unsigned>(std::size(asked)), &asked[0],
                                    &answers[0], pointer);
  if (error != cudaSuccess) return error;
  *attributes = {};
  if (memory_type == 0) {  // a host pointer that CUDA knows nothing of
    attributes->type = cudaMemoryTypeUnregistered;
    attributes->device = cudaInvalidDeviceId;
    attributes->hostPointer = const_cast<void*>(pointer);
    return cudaSuccess;
  }
  attributes->type = managed != 0                        ? cudaMemoryTypeManaged
                     : memory_type == CU_MEMORYTYPE_HOST ? cudaMemoryTypeHost
                                                         : cudaMemoryTypeDevice;
  attributes->device = device;
  attributes->devicePointer = device_pointer;
  attributes->hostPointer = host_pointer;
  return cudaSuccess;
}

cudaError_t cudaMemAdvise(const void* pointer, size_t bytes, cudaMemoryAdvise advice, cudaMemLocation location) {
  return forward(&Driver::cuMemAdvise, pointer, bytes, advice,
                 CUmemLocation{convert<CUmemLocationType>(location.type), location.id});
}
cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t bytes, cudaMemLocation location, unsigned int flags,
                                 cudaStream_t stream) {
  return forward(&Driver::cuMemPrefetchAsync, pointer, bytes,
                 CUmemLocation{convert<CUmemLocationType>(location.type), location.id}, flags, stream);
}
cudaError_t cudaMemPrefetchBatchAsync(void** pointers, size_t* sizes, size_t count, cudaMemLocation* locations,
                                      size_t* location_indices, size_t location_count, unsigned long long flags,
                                      cudaStream_t stream) {
  return forward(&Driver::cuMemPrefetchBatchAsync, pointers, sizes, count, locations, location_indices, location_count,
                 flags, stream);
}
cudaError_t cudaMemDiscardBatchAsync(void** pointers, size_t* sizes, size_t count, unsigned long long flags,
                                     cudaStream_t stream) {
  return forward(&Driver::cuMemDiscardBatchAsync, pointers, sizes, count, flags, stream);
}
cudaError_t cudaMemDiscardAndPrefetchBatchAsync(void** pointers, size_t* sizes, size_t count,
                                                cudaMemLocation* locations, size_t* location_indices,
                                                size_t location_count, unsigned long long flags, cudaStream_t stream) {
  return forward(&Driver::cuMemDiscardAndPrefetchBatchAsync, pointers, sizes, count, locations, location_indices,
                 location_count, flags, stream);
}
cudaError_t cudaMemRangeGetAttribute(void* data, size_t data_bytes, cudaMemRangeAttribute attribute,
                                     const void* pointer, size_t bytes) {
  return forward(&Driver::cuMemRangeGetAttribute, data, data_bytes, attribute, pointer, bytes);
}
cudaError_t cudaMemRangeGetAttributes(void** data, size_t* data_sizes, cudaMemRangeAttribute* attributes, size_t count,
                                      const void* pointer, size_t bytes) {
  return forward(&Driver::cuMemRangeGetAttributes, data, data_sizes, attributes, count, pointer, bytes);
}

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* pointer) {
  return forward(&Driver::cuIpcGetMemHandle, handle, pointer);
}
cudaError_t cudaIpcOpenMemHandle(void** pointer, cudaIpcMemHandle_t handle, unsigned int flags) {
  return forward(&Driver::cuIpcOpenMemHandle, pointer, *convert<CUipcMemHandle*>(&handle), flags);
}
cudaError_t cudaIpcCloseMemHandle(void* pointer) {
  return forward(&Driver::cuIpcCloseMemHandle, pointer);
}
