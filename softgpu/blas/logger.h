// SPDX-License-Identifier: Apache-2.0
// cuBLAS' own log: off until asked for by cublasLoggerConfigure, a callback, or CUBLAS_LOGINFO_DBG=1 with
// CUBLAS_LOGDEST_DBG=stdout|stderr|FILE. One line per call.
#pragma once
#include "softgpu/blas/vendor.h"

namespace tidemark::softgpu::blas {

void log_call(const char* name, cublasStatus_t status);
cublasStatus_t configure_log(bool on, bool to_stdout, bool to_stderr, const char* file);
void set_log_callback(cublasLogCallback callback);
cublasLogCallback log_callback();

const char* status_name(cublasStatus_t status);
const char* status_text(cublasStatus_t status);
// What cublasGetProperty and its twin of Lt say.
cublasStatus_t version_part(libraryPropertyType type, int* value);

}  // namespace tidemark::softgpu::blas
