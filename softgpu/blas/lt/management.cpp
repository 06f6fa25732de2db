// SPDX-License-Identifier: Apache-2.0
// Handles, versions, and two settings that are kept without effect, since there is one algorithm and OpenBLAS chooses
// its instructions itself: the heuristics cache's capacity and the instruction mask.
#include <cuda.h>

#include <atomic>
#include <string>

#include "base/log.h"
#include "softgpu/blas/call.h"

using namespace tidemark::softgpu::blas;

extern "C" int softgpu_blaslt_not_supported(const char* name) {
  tidemark::say_once(name, "softgpu cuBLASLt", std::string(name) + ": not supported by softgpu");
  return CUBLAS_STATUS_NOT_SUPPORTED;
}

namespace {
std::atomic<std::size_t> cache_capacity{8192};
std::atomic<unsigned> instruction_mask{0};
}  // namespace

extern "C" {

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  if (handle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *handle = nullptr;
  void* context = nullptr;
  if (cublasStatus_t const failed = open_device(&context)) return failed;
  *handle = Handles<cublasLtContext>::create({.device_context = context});
  return *handle == nullptr ? CUBLAS_STATUS_ALLOC_FAILED : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  return Handles<cublasLtContext>::destroy(handle) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

const char* cublasLtGetStatusName(cublasStatus_t status) {
  return status_name(status);
}
const char* cublasLtGetStatusString(cublasStatus_t status) {
  return status_text(status);
}
size_t cublasLtGetVersion(void) {
  return CUBLAS_VERSION;
}
size_t cublasLtGetCudartVersion(void) {
  return CUDA_VERSION;
}

cublasStatus_t cublasLtGetProperty(libraryPropertyType type, int* value) {
  return version_part(type, value);
}

cublasStatus_t cublasLtHeuristicsCacheGetCapacity(size_t* capacity) {
  if (capacity == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *capacity = cache_capacity;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtHeuristicsCacheSetCapacity(size_t capacity) {
  cache_capacity = capacity;
  return CUBLAS_STATUS_SUCCESS;
}
unsigned cublasLtDisableCpuInstructionsSetMask(unsigned mask) {
  return instruction_mask.exchange(mask);
}

}  // extern "C"
