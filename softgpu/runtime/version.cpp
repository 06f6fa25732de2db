// SPDX-License-Identifier: Apache-2.0
// Versions, driver entry points, the profiler switch, logs, and the door that stays shut.
#include "softgpu/runtime/context.h"

using namespace tidemark::softgpu::runtime;

namespace {

cudaError_t entry_point(const char* symbol, void** function, int version, unsigned long long flags,
                        cudaDriverEntryPointQueryResult* status) {
  if (symbol == nullptr || function == nullptr) return record(cudaErrorInvalidValue);
  if (cudaError_t const error = load_driver(); error != cudaSuccess) return record(error);
  // Called through the per-thread twin, the default means the per-thread functions.
  if (flags == cudaEnableDefault && tidemark::softgpu::PerThreadDefaultStream::active())
    flags = cudaEnablePerThreadDefaultStream;
  CUdriverProcAddressQueryResult found = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  CUresult const result = call(&Driver::cuGetProcAddress, symbol, function, version, cuuint64_t{flags}, &found);
  if (status == nullptr) return record(result);
  *status = static_cast<cudaDriverEntryPointQueryResult>(found);
  // Asked for the status, the caller reads there that a name is not known; the call itself did its work.
  if (result != CUDA_ERROR_NOT_FOUND) return record(result);
  *function = nullptr;
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaDriverGetVersion(int* version) {
  if (version == nullptr) return record(cudaErrorInvalidValue);
  (void)load_driver();  // no driver is version 0, not an error
  *version = driver_version();
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  if (version == nullptr) return record(cudaErrorInvalidValue);
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* status) {
  return entry_point(symbol, function, CUDART_VERSION, flags, status);
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned int version,
                                             unsigned long long flags, cudaDriverEntryPointQueryResult* status) {
  return entry_point(symbol, function, static_cast<int>(version), flags, status);
}

// Tables of undocumented functions: there are none here.
cudaError_t cudaGetExportTable(const void** table, const cudaUUID_t*) {
  if (table != nullptr) *table = nullptr;
  return record(cudaErrorNotSupported);
}

cudaError_t cudaProfilerStart() {
  return forward(&Driver::cuProfilerStart);
}
cudaError_t cudaProfilerStop() {
  return forward(&Driver::cuProfilerStop);
}

cudaError_t cudaLogsCurrent(cudaLogIterator* iterator, unsigned int flags) {
  return forward_without_context(&Driver::cuLogsCurrent, iterator, flags);
}
cudaError_t cudaLogsDumpToFile(cudaLogIterator* iterator, const char* path, unsigned int flags) {
  return forward_without_context(&Driver::cuLogsDumpToFile, iterator, path, flags);
}
cudaError_t cudaLogsDumpToMemory(cudaLogIterator* iterator, char* buffer, size_t* bytes, unsigned int flags) {
  return forward_without_context(&Driver::cuLogsDumpToMemory, iterator, buffer, bytes, flags);
}
