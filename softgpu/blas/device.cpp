// SPDX-License-Identifier: Apache-2.0
#include "softgpu/blas/device.h"

#include <cuda.h>

#include <string>

#include "base/log.h"
#include "softgpu/blas/openblas.h"
#include "softgpu/interface/device_link.h"

namespace tidemark::softgpu::blas {
namespace {

constexpr const char* kWho = "softgpu cuBLAS";

// The driver's functions are called under their current ABI names; cuda.h's macros give those.
#define SOFTGPU_TEXT_(x) #x
#define SOFTGPU_TEXT(x) SOFTGPU_TEXT_(x)
template <class F>
F* driver(const char* name) {
  DeviceLink const* const link = device_link();
  return link == nullptr ? nullptr : reinterpret_cast<F*>(link->driver_symbol(name));
}
#define SOFTGPU_DRIVER(function) driver<decltype(function)>(SOFTGPU_TEXT(function))

cublasStatus_t take_primary_context(CUcontext* context) {
  static auto* const retain = SOFTGPU_DRIVER(cuDevicePrimaryCtxRetain);
  static auto* const set_current = SOFTGPU_DRIVER(cuCtxSetCurrent);
  if (retain == nullptr || set_current == nullptr) return CUBLAS_STATUS_SUCCESS;
  if (int const failed = retain(context, 0)) return to_status(failed);
  return to_status(set_current(*context));
}

}  // namespace

cublasStatus_t to_status(int cuda_result) {
  switch (cuda_result) {
    case CUDA_SUCCESS: return CUBLAS_STATUS_SUCCESS;
    case CUDA_ERROR_OUT_OF_MEMORY: return CUBLAS_STATUS_ALLOC_FAILED;
    case CUDA_ERROR_NOT_INITIALIZED:
    case CUDA_ERROR_DEINITIALIZED:
    case CUDA_ERROR_NO_DEVICE:
    case CUDA_ERROR_INVALID_CONTEXT: return CUBLAS_STATUS_NOT_INITIALIZED;
    default: return CUBLAS_STATUS_EXECUTION_FAILED;
  }
}

bool dry_run() {
  DeviceLink const* const link = device_link();
  return link != nullptr && link->dry_run() != 0;
}

cublasStatus_t open_device(void** context) {
  *context = nullptr;
  DeviceLink const* const link = device_link();
  if (link == nullptr) {
    say_once("device", kWho, "no software device: libcuda.so.1 is missing or is not softgpu's");
    return CUBLAS_STATUS_NOT_INITIALIZED;
  }
  static auto* const init = SOFTGPU_DRIVER(cuInit);
  static auto* const get_current = SOFTGPU_DRIVER(cuCtxGetCurrent);
  if (init != nullptr && init(0) != CUDA_SUCCESS) return CUBLAS_STATUS_NOT_INITIALIZED;
  CUcontext current = nullptr;
  if (get_current != nullptr && get_current(&current) != CUDA_SUCCESS) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (current == nullptr)
    if (cublasStatus_t const failed = take_primary_context(&current)) return failed;
  *context = current;
  if (dry_run()) return CUBLAS_STATUS_SUCCESS;
  if (open_openblas(link->workers())) return CUBLAS_STATUS_SUCCESS;
  say_once("openblas", kWho, "cannot compute: " + openblas_error() + " (Debian: libopenblas0-pthread)");
  return CUBLAS_STATUS_NOT_INITIALIZED;
}

cublasStatus_t submit(cudaStream_t stream, void* context, const SoftgpuWork& work) {
  DeviceLink const* const link = device_link();
  if (link == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  int result = link->submit(stream, &work);
  if (result == CUDA_ERROR_INVALID_CONTEXT && context != nullptr) {
    static auto* const set_current = SOFTGPU_DRIVER(cuCtxSetCurrent);
    if (set_current != nullptr && set_current(static_cast<CUcontext>(context)) == CUDA_SUCCESS)
      result = link->submit(stream, &work);
  }
  return to_status(result);
}

cublasStatus_t synchronize(cudaStream_t stream) {
  static auto* const wait = SOFTGPU_DRIVER(cuStreamSynchronize);
  return wait == nullptr ? CUBLAS_STATUS_INTERNAL_ERROR : to_status(wait(stream));
}

cublasStatus_t not_supported(const char* what) {
  bool const skipped = dry_run();
  say_once(what, kWho,
           std::string(what) + (skipped ? ": skipped (not computed by softgpu)" : ": not supported by softgpu"));
  return skipped ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

}  // namespace tidemark::softgpu::blas
