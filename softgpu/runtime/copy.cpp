// SPDX-License-Identifier: Apache-2.0
// Contiguous copies: between host and device, peers, in batches; memset.
#include "softgpu/runtime/copy.h"

namespace tidemark::softgpu::runtime {

cudaError_t check_kind(cudaMemcpyKind kind, ArrayEnds arrays) {
  bool const exists = kind >= cudaMemcpyHostToHost && kind <= cudaMemcpyDefault;
  bool const from_host = kind == cudaMemcpyHostToHost || kind == cudaMemcpyHostToDevice;
  bool const to_host = kind == cudaMemcpyHostToHost || kind == cudaMemcpyDeviceToHost;
  bool const fits = exists && !(arrays.source && from_host) && !(arrays.target && to_host);
  return fits ? cudaSuccess : cudaErrorInvalidMemcpyDirection;
}

CUmemorytype source_type(cudaMemcpyKind kind) {
  if (kind == cudaMemcpyDefault) return CU_MEMORYTYPE_UNIFIED;
  return kind == cudaMemcpyHostToHost || kind == cudaMemcpyHostToDevice ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}

CUmemorytype target_type(cudaMemcpyKind kind) {
  if (kind == cudaMemcpyDefault) return CU_MEMORYTYPE_UNIFIED;
  return kind == cudaMemcpyHostToHost || kind == cudaMemcpyDeviceToHost ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}

}  // namespace tidemark::softgpu::runtime

using namespace tidemark::softgpu::runtime;

namespace {

// A memset of three dimensions, as one or more of two.
template <class SetRows>
cudaError_t set_3d(const cudaPitchedPtr& pitched, const cudaExtent& extent, SetRows set_rows) {
  if (extent.width == 0 || extent.height == 0 || extent.depth == 0) return record(enter());
  auto* const base = static_cast<char*>(pitched.ptr);
  // Slices that follow each other without a gap are rows of one long slice.
  if (extent.height == pitched.ysize || extent.depth == 1) return set_rows(base, extent.height * extent.depth);
  for (size_t z = 0; z < extent.depth; ++z) {
    cudaError_t const error = set_rows(base + z * pitched.pitch * pitched.ysize, extent.height);
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

unsigned char low_byte(int value) {
  return static_cast<unsigned char>(value);
}

}  // namespace

cudaError_t cudaMemcpy(void* target, const void* source, size_t bytes, cudaMemcpyKind kind) {
  if (cudaError_t const error = check_kind(kind); error != cudaSuccess) return record(error);
  if (bytes == 0) return record(enter());
  switch (kind) {
    case cudaMemcpyHostToDevice: return forward(&Driver::cuMemcpyHtoD, target, source, bytes);
    case cudaMemcpyDeviceToHost: return forward(&Driver::cuMemcpyDtoH, target, source, bytes);
    case cudaMemcpyDeviceToDevice: return forward(&Driver::cuMemcpyDtoD, target, source, bytes);
    default: return forward(&Driver::cuMemcpy, target, source, bytes);
  }
}

cudaError_t cudaMemcpyAsync(void* target, const void* source, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  if (cudaError_t const error = check_kind(kind); error != cudaSuccess) return record(error);
  if (bytes == 0) return record(enter());
  switch (kind) {
    case cudaMemcpyHostToDevice: return forward(&Driver::cuMemcpyHtoDAsync, target, source, bytes, stream);
    case cudaMemcpyDeviceToHost: return forward(&Driver::cuMemcpyDtoHAsync, target, source, bytes, stream);
    case cudaMemcpyDeviceToDevice: return forward(&Driver::cuMemcpyDtoDAsync, target, source, bytes, stream);
    default: return forward(&Driver::cuMemcpyAsync, target, source, bytes, stream);
  }
}

cudaError_t cudaMemcpyPeer(void* target, int target_device, const void* source, int source_device, size_t bytes) {
  CUcontext to = nullptr, from = nullptr;
  if (cudaError_t const error = primary_context(target_device, to); error != cudaSuccess) return record(error);
  if (cudaError_t const error = primary_context(source_device, from); error != cudaSuccess) return record(error);
  if (bytes == 0) return record(enter());
  return forward(&Driver::cuMemcpyPeer, target, to, source, from, bytes);
}

cudaError_t cudaMemcpyPeerAsync(void* target, int target_device, const void* source, int source_device, size_t bytes,
                                cudaStream_t stream) {
  CUcontext to = nullptr, from = nullptr;
  if (cudaError_t const error = primary_context(target_device, to); error != cudaSuccess) return record(error);
  if (cudaError_t const error = primary_context(source_device, from); error != cudaSuccess) return record(error);
  if (bytes == 0) return record(enter());
  return forward(&Driver::cuMemcpyPeerAsync, target, to, source, from, bytes, stream);
}

cudaError_t cudaMemcpyBatchAsync(void* const* targets, const void* const* sources, const size_t* sizes, size_t count,
                                 cudaMemcpyAttributes* attributes, size_t* attribute_indices, size_t attribute_count,
                                 cudaStream_t stream) {
  return forward(&Driver::cuMemcpyBatchAsync, targets, sources, sizes, count, attributes, attribute_indices,
                 attribute_count, stream);
}

cudaError_t cudaMemcpy3DBatchAsync(size_t count, cudaMemcpy3DBatchOp* operations, unsigned long long flags,
                                   cudaStream_t stream) {
  return forward(&Driver::cuMemcpy3DBatchAsync, count, operations, flags, stream);
}

cudaError_t cudaMemset(void* pointer, int value, size_t bytes) {
  if (bytes == 0) return record(enter());
  return forward(&Driver::cuMemsetD8, pointer, low_byte(value), bytes);
}

cudaError_t cudaMemsetAsync(void* pointer, int value, size_t bytes, cudaStream_t stream) {
  if (bytes == 0) return record(enter());
  return forward(&Driver::cuMemsetD8Async, pointer, low_byte(value), bytes, stream);
}

cudaError_t cudaMemset2D(void* pointer, size_t pitch, int value, size_t width, size_t height) {
  if (width == 0 || height == 0) return record(enter());
  if (width > pitch && height > 1) return record(cudaErrorInvalidPitchValue);
  return forward(&Driver::cuMemsetD2D8, pointer, pitch, low_byte(value), width, height);
}

cudaError_t cudaMemset2DAsync(void* pointer, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream) {
  if (width == 0 || height == 0) return record(enter());
  if (width > pitch && height > 1) return record(cudaErrorInvalidPitchValue);
  return forward(&Driver::cuMemsetD2D8Async, pointer, pitch, low_byte(value), width, height, stream);
}

cudaError_t cudaMemset3D(cudaPitchedPtr pitched, int value, cudaExtent extent) {
  return set_3d(pitched, extent,
                [&](void* base, size_t rows) { return cudaMemset2D(base, pitched.pitch, value, extent.width, rows); });
}

cudaError_t cudaMemset3DAsync(cudaPitchedPtr pitched, int value, cudaExtent extent, cudaStream_t stream) {
  return set_3d(pitched, extent, [&](void* base, size_t rows) {
    return cudaMemset2DAsync(base, pitched.pitch, value, extent.width, rows, stream);
  });
}
