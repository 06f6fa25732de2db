// SPDX-License-Identifier: Apache-2.0
// Handles and what is kept in them, versions, the log. Modes that steer how a GPU computes (math mode, emulation, SM
// count) are kept and given back; the computation here does not depend on them.
#include <cuda.h>

#include <string>

#include "base/log.h"
#include "softgpu/blas/call.h"

namespace tidemark::softgpu::blas {
namespace {

template <class T>
cublasStatus_t get(cublasHandle_t handle, T cublasContext::*field, T* out) {
  if (!is_alive(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (out == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *out = handle->*field;
  return CUBLAS_STATUS_SUCCESS;
}

template <class T>
cublasStatus_t set(cublasHandle_t handle, T cublasContext::*field, T value, bool valid = true) {
  if (!is_alive(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (!valid) return CUBLAS_STATUS_INVALID_VALUE;
  handle->*field = value;
  return CUBLAS_STATUS_SUCCESS;
}

bool is_math_mode(cublasMath_t mode) {
  constexpr int kFlags = CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
  int const base = mode & ~kFlags;
  return base >= 0 && (base <= CUBLAS_FP32_EMULATED_BF16X9_MATH || base == CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH);
}

}  // namespace
}  // namespace tidemark::softgpu::blas

using namespace tidemark::softgpu::blas;

// What the generated stubs of the legacy and multi-GPU interfaces answer; unlike a skipped routine it is never success.
extern "C" int softgpu_blas_not_supported(const char* name) {
  tidemark::say_once(name, "softgpu cuBLAS", std::string(name) + ": not supported by softgpu");
  return CUBLAS_STATUS_NOT_SUPPORTED;
}

extern "C" {

cublasStatus_t cublasCreate_v2(cublasHandle_t* handle) {
  if (handle == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *handle = nullptr;
  void* context = nullptr;
  if (cublasStatus_t const failed = open_device(&context)) return failed;
  *handle = Handles<cublasContext>::create({.device_context = context});
  return *handle == nullptr ? CUBLAS_STATUS_ALLOC_FAILED : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasDestroy_v2(cublasHandle_t handle) {
  return Handles<cublasContext>::destroy(handle) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED;
}

cublasStatus_t cublasGetVersion_v2(cublasHandle_t, int* version) {
  if (version == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *version = CUBLAS_VERSION;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetProperty(libraryPropertyType type, int* value) {
  return version_part(type, value);
}

size_t cublasGetCudartVersion(void) {
  return CUDA_VERSION;
}

cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void* workspace, size_t bytes) {
  if (!is_alive(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (reinterpret_cast<std::uintptr_t>(workspace) % 256 != 0) return CUBLAS_STATUS_INVALID_VALUE;
  handle->workspace = workspace;
  handle->workspace_bytes = bytes;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream) {
  if (!is_alive(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  handle->stream = stream;
  handle->workspace = nullptr;  // documented: a new stream returns to the default workspace
  handle->workspace_bytes = 0;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasGetStream_v2(cublasHandle_t h, cudaStream_t* out) {
  return get(h, &cublasContext::stream, out);
}
cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t h, cublasPointerMode_t* out) {
  return get(h, &cublasContext::pointer_mode, out);
}
cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t h, cublasPointerMode_t mode) {
  bool const valid = mode == CUBLAS_POINTER_MODE_HOST || mode == CUBLAS_POINTER_MODE_DEVICE;
  return set(h, &cublasContext::pointer_mode, mode, valid);
}
cublasStatus_t cublasGetAtomicsMode(cublasHandle_t h, cublasAtomicsMode_t* out) {
  return get(h, &cublasContext::atomics_mode, out);
}
cublasStatus_t cublasSetAtomicsMode(cublasHandle_t h, cublasAtomicsMode_t mode) {
  bool const valid = mode == CUBLAS_ATOMICS_ALLOWED || mode == CUBLAS_ATOMICS_NOT_ALLOWED;
  return set(h, &cublasContext::atomics_mode, mode, valid);
}
cublasStatus_t cublasGetMathMode(cublasHandle_t h, cublasMath_t* out) {
  return get(h, &cublasContext::math_mode, out);
}
cublasStatus_t cublasSetMathMode(cublasHandle_t h, cublasMath_t mode) {
  return set(h, &cublasContext::math_mode, mode, is_math_mode(mode));
}
cublasStatus_t cublasGetSmCountTarget(cublasHandle_t h, int* out) {
  return get(h, &cublasContext::sm_count_target, out);
}
cublasStatus_t cublasSetSmCountTarget(cublasHandle_t h, int count) {
  return set(h, &cublasContext::sm_count_target, count, count >= 0);
}

cublasStatus_t cublasGetEmulationStrategy(cublasHandle_t h, cublasEmulationStrategy_t* out) {
  return get(h, &cublasContext::emulation_strategy, out);
}
cublasStatus_t cublasSetEmulationStrategy(cublasHandle_t h, cublasEmulationStrategy_t strategy) {
  bool const valid = strategy >= CUBLAS_EMULATION_STRATEGY_DEFAULT && strategy <= CUBLAS_EMULATION_STRATEGY_EAGER;
  return set(h, &cublasContext::emulation_strategy, strategy, valid);
}
cublasStatus_t cublasGetEmulationSpecialValuesSupport(cublasHandle_t h, cudaEmulationSpecialValuesSupport* out) {
  return get(h, &cublasContext::emulation_special_values, out);
}
cublasStatus_t cublasSetEmulationSpecialValuesSupport(cublasHandle_t h, cudaEmulationSpecialValuesSupport mask) {
  return set(h, &cublasContext::emulation_special_values, mask);
}
cublasStatus_t cublasGetFixedPointEmulationMantissaControl(cublasHandle_t h, cudaEmulationMantissaControl* out) {
  return get(h, &cublasContext::mantissa_control, out);
}
cublasStatus_t cublasSetFixedPointEmulationMantissaControl(cublasHandle_t h, cudaEmulationMantissaControl control) {
  return set(h, &cublasContext::mantissa_control, control);
}
cublasStatus_t cublasGetFixedPointEmulationMaxMantissaBitCount(cublasHandle_t h, int* out) {
  return get(h, &cublasContext::max_mantissa_bits, out);
}
cublasStatus_t cublasSetFixedPointEmulationMaxMantissaBitCount(cublasHandle_t h, int bits) {
  return set(h, &cublasContext::max_mantissa_bits, bits, bits >= 0);
}
cublasStatus_t cublasGetFixedPointEmulationMantissaBitOffset(cublasHandle_t h, int* out) {
  return get(h, &cublasContext::mantissa_bit_offset, out);
}
cublasStatus_t cublasSetFixedPointEmulationMantissaBitOffset(cublasHandle_t h, int offset) {
  return set(h, &cublasContext::mantissa_bit_offset, offset);
}
cublasStatus_t cublasGetFixedPointEmulationMantissaBitCountPointer(cublasHandle_t h, int** out) {
  return get(h, &cublasContext::mantissa_bit_count, out);
}
cublasStatus_t cublasSetFixedPointEmulationMantissaBitCountPointer(cublasHandle_t h, int* bits) {
  return set(h, &cublasContext::mantissa_bit_count, bits);
}

const char* cublasGetStatusName(cublasStatus_t status) {
  return status_name(status);
}
const char* cublasGetStatusString(cublasStatus_t status) {
  return status_text(status);
}

cublasStatus_t cublasLoggerConfigure(int on, int to_stdout, int to_stderr, const char* file) {
  return configure_log(on != 0, to_stdout != 0, to_stderr != 0, file);
}
cublasStatus_t cublasSetLoggerCallback(cublasLogCallback callback) {
  set_log_callback(callback);
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasGetLoggerCallback(cublasLogCallback* callback) {
  if (callback == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *callback = log_callback();
  return CUBLAS_STATUS_SUCCESS;
}

void cublasXerbla(const char* routine, int info) {
  tidemark::say("softgpu cuBLAS", "on entry to " + std::string(routine == nullptr ? "?" : routine) + " parameter " +
                                      std::to_string(info) + " had an illegal value");
}

}  // extern "C"
