// SPDX-License-Identifier: Apache-2.0
// Stream-ordered allocation and memory pools.
#include "softgpu/runtime/context.h"

using namespace tidemark::softgpu::runtime;

cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaStream_t stream) {
  return forward(&Driver::cuMemAllocAsync, pointer, bytes, stream);
}
cudaError_t cudaMallocFromPoolAsync(void** pointer, size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  return forward(&Driver::cuMemAllocFromPoolAsync, pointer, bytes, pool, stream);
}
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t stream) {
  if (pointer == nullptr) return record(enter());
  return forward(&Driver::cuMemFreeAsync, pointer, stream);
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  return forward(&Driver::cuMemPoolCreate, pool, properties);
}
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  return forward(&Driver::cuMemPoolDestroy, pool);
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t keep_bytes) {
  return forward(&Driver::cuMemPoolTrimTo, pool, keep_bytes);
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  return forward(&Driver::cuMemPoolSetAttribute, pool, attribute, value);
}
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  return forward(&Driver::cuMemPoolGetAttribute, pool, attribute, value);
}
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t pool, const cudaMemAccessDesc* descriptors, size_t count) {
  return forward(&Driver::cuMemPoolSetAccess, pool, descriptors, count);
}
cudaError_t cudaMemPoolGetAccess(cudaMemAccessFlags* flags, cudaMemPool_t pool, cudaMemLocation* location) {
  return forward(&Driver::cuMemPoolGetAccess, flags, pool, location);
}
cudaError_t cudaMemGetDefaultMemPool(cudaMemPool_t* pool, cudaMemLocation* location, cudaMemAllocationType type) {
  return forward_without_context(&Driver::cuMemGetDefaultMemPool, pool, location, type);
}
cudaError_t cudaMemGetMemPool(cudaMemPool_t* pool, cudaMemLocation* location, cudaMemAllocationType type) {
  return forward_without_context(&Driver::cuMemGetMemPool, pool, location, type);
}
cudaError_t cudaMemSetMemPool(cudaMemLocation* location, cudaMemAllocationType type, cudaMemPool_t pool) {
  return forward_without_context(&Driver::cuMemSetMemPool, location, type, pool);
}
cudaError_t cudaMemPoolExportToShareableHandle(void* handle, cudaMemPool_t pool, cudaMemAllocationHandleType type,
                                               unsigned int flags) {
  return forward(&Driver::cuMemPoolExportToShareableHandle, handle, pool, type, flags);
}
cudaError_t cudaMemPoolImportFromShareableHandle(cudaMemPool_t* pool, void* handle, cudaMemAllocationHandleType type,
                                                 unsigned int flags) {
  return forward(&Driver::cuMemPoolImportFromShareableHandle, pool, handle, type, flags);
}
cudaError_t cudaMemPoolExportPointer(cudaMemPoolPtrExportData* data, void* pointer) {
  return forward(&Driver::cuMemPoolExportPointer, data, pointer);
}
cudaError_t cudaMemPoolImportPointer(void** pointer, cudaMemPool_t pool, cudaMemPoolPtrExportData* data) {
  return forward(&Driver::cuMemPoolImportPointer, pointer, pool, data);
}
