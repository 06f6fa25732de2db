// SPDX-License-Identifier: Apache-2.0
// Choosing, describing, limiting and resetting devices; peers.
#include <cstring>

#include "softgpu/runtime/context.h"

using namespace tidemark::softgpu::runtime;

namespace {

constexpr unsigned kScheduleFlags =
    cudaDeviceScheduleMask | cudaDeviceMapHost | cudaDeviceLmemResizeToMax | cudaDeviceSyncMemops;

// An entry point that names a device: checked here, so that a bad ordinal has the runtime's own code.
template <class... P, class... A>
cudaError_t on_device(int device, CUresult (*Driver::*function)(P...), A... arguments) {
  if (cudaError_t const error = check_device(device); error != cudaSuccess) return record(error);
  return record(call(function, convert<P>(arguments)...));
}

}  // namespace

cudaError_t cudaGetDeviceCount(int* count) {
  if (count == nullptr) return record(cudaErrorInvalidValue);
  return record(device_count(*count));
}

cudaError_t cudaSetDevice(int device) {
  return record(set_device(device));
}

cudaError_t cudaGetDevice(int* device) {
  if (device == nullptr) return record(cudaErrorInvalidValue);
  return record(current_device(*device));
}

cudaError_t cudaInitDevice(int device, unsigned int device_flags, unsigned int flags) {
  if ((flags & ~cudaInitDeviceFlagsAreValid) != 0) return record(cudaErrorInvalidValue);
  if (cudaError_t const error = check_device(device); error != cudaSuccess) return record(error);
  if ((flags & cudaInitDeviceFlagsAreValid) != 0) {
    CUresult const result = call(&Driver::cuDevicePrimaryCtxSetFlags, device, device_flags);
    if (result != CUDA_SUCCESS) return record(result);
  }
  CUcontext context = nullptr;
  return record(primary_context(device, context));
}

cudaError_t cudaSetValidDevices(int* devices, int length) {
  if (length < 0 || (length > 0 && devices == nullptr)) return record(cudaErrorInvalidValue);
  for (int i = 0; i < length; ++i)
    if (cudaError_t const error = check_device(devices[i]); error != cudaSuccess) return record(error);
  set_default_device(length > 0 ? devices[0] : 0);
  return cudaSuccess;
}

cudaError_t cudaSetDeviceFlags(unsigned int flags) {
  if ((flags & ~kScheduleFlags) != 0) return record(cudaErrorInvalidValue);
  int device = 0;
  if (cudaError_t const error = current_device(device); error != cudaSuccess) return record(error);
  return record(call(&Driver::cuDevicePrimaryCtxSetFlags, device, flags));
}

cudaError_t cudaGetDeviceFlags(unsigned int* flags) {
  if (flags == nullptr) return record(cudaErrorInvalidValue);
  int device = 0, active = 0;
  if (cudaError_t const error = current_device(device); error != cudaSuccess) return record(error);
  CUcontext current = nullptr;
  (void)call(&Driver::cuCtxGetCurrent, &current);
  CUresult const result = current != nullptr ? call(&Driver::cuCtxGetFlags, flags)
                                             : call(&Driver::cuDevicePrimaryCtxGetState, device, flags, &active);
  // Host memory can always be mapped under unified addressing, and the runtime says so.
  if (result == CUDA_SUCCESS) *flags |= cudaDeviceMapHost;
  return record(result);
}

cudaError_t cudaDeviceReset() {
  int device = 0;
  if (cudaError_t const error = current_device(device); error != cudaSuccess) return record(error);
  return record(reset_device(device));
}

cudaError_t cudaDeviceSynchronize() {
  return forward(&Driver::cuCtxSynchronize);
}

cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
  return forward(&Driver::cuCtxSetLimit, limit, value);
}
cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
  return forward(&Driver::cuCtxGetLimit, value, limit);
}
cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) {
  return forward(&Driver::cuCtxGetCacheConfig, config);
}
cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache config) {
  return forward(&Driver::cuCtxSetCacheConfig, config);
}
cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* config) {
  return forward(&Driver::cuCtxGetSharedMemConfig, config);
}
cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig config) {
  return forward(&Driver::cuCtxSetSharedMemConfig, config);
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return forward(&Driver::cuCtxGetStreamPriorityRange, least, greatest);
}
cudaError_t cudaCtxResetPersistingL2Cache() {
  return forward(&Driver::cuCtxResetPersistingL2Cache);
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (value == nullptr) return record(cudaErrorInvalidValue);
  return on_device(device, &Driver::cuDeviceGetAttribute, value, attribute, device);
}

cudaError_t cudaDeviceGetHostAtomicCapabilities(unsigned int* capabilities, const cudaAtomicOperation* operations,
                                                unsigned int count, int device) {
  return on_device(device, &Driver::cuDeviceGetHostAtomicCapabilities, capabilities, operations, count, device);
}

cudaError_t cudaDeviceGetP2PAtomicCapabilities(unsigned int* capabilities, const cudaAtomicOperation* operations,
                                               unsigned int count, int source, int target) {
  if (cudaError_t const error = check_device(target); error != cudaSuccess) return record(error);
  return on_device(source, &Driver::cuDeviceGetP2PAtomicCapabilities, capabilities, operations, count, source, target);
}

cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* bus_id) {
  return forward_without_context(&Driver::cuDeviceGetByPCIBusId, device, bus_id);
}
cudaError_t cudaDeviceGetPCIBusId(char* bus_id, int length, int device) {
  return on_device(device, &Driver::cuDeviceGetPCIBusId, bus_id, length, device);
}
cudaError_t cudaDeviceGetNvSciSyncAttributes(void* attributes, int device, int flags) {
  return on_device(device, &Driver::cuDeviceGetNvSciSyncAttributes, attributes, device, flags);
}

cudaError_t cudaDeviceCanAccessPeer(int* can_access, int device, int peer) {
  if (cudaError_t const error = check_device(peer); error != cudaSuccess) return record(error);
  return on_device(device, &Driver::cuDeviceCanAccessPeer, can_access, device, peer);
}

cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute, int source, int target) {
  if (cudaError_t const error = check_device(target); error != cudaSuccess) return record(error);
  return on_device(source, &Driver::cuDeviceGetP2PAttribute, value, attribute, source, target);
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned int flags) {
  if (flags != 0) return record(cudaErrorInvalidValue);
  if (cudaError_t const error = enter(); error != cudaSuccess) return record(error);
  CUcontext context = nullptr;
  if (cudaError_t const error = primary_context(peer, context); error != cudaSuccess) return record(error);
  return record(call(&Driver::cuCtxEnablePeerAccess, context, flags));
}

cudaError_t cudaDeviceDisablePeerAccess(int peer) {
  if (cudaError_t const error = enter(); error != cudaSuccess) return record(error);
  CUcontext context = nullptr;
  if (cudaError_t const error = primary_context(peer, context); error != cudaSuccess) return record(error);
  return record(call(&Driver::cuCtxDisablePeerAccess, context));
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  return on_device(device, &Driver::cuDeviceGetDefaultMemPool, pool, device);
}
cudaError_t cudaDeviceSetMemPool(int device, cudaMemPool_t pool) {
  return on_device(device, &Driver::cuDeviceSetMemPool, device, pool);
}
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* pool, int device) {
  return on_device(device, &Driver::cuDeviceGetMemPool, pool, device);
}
cudaError_t cudaDeviceGraphMemTrim(int device) {
  return on_device(device, &Driver::cuDeviceGraphMemTrim, device);
}
cudaError_t cudaDeviceGetGraphMemAttribute(int device, cudaGraphMemAttributeType attribute, void* value) {
  return on_device(device, &Driver::cuDeviceGetGraphMemAttribute, device, attribute, value);
}
cudaError_t cudaDeviceSetGraphMemAttribute(int device, cudaGraphMemAttributeType attribute, void* value) {
  return on_device(device, &Driver::cuDeviceSetGraphMemAttribute, device, attribute, value);
}

cudaError_t cudaDeviceFlushGPUDirectRDMAWrites(cudaFlushGPUDirectRDMAWritesTarget target,
                                               cudaFlushGPUDirectRDMAWritesScope scope) {
  return forward(&Driver::cuFlushGPUDirectRDMAWrites, target, scope);
}
