// SPDX-License-Identifier: Apache-2.0
#include "softgpu/blas/lt/log.h"

#include <atomic>
#include <cstdio>
#include <mutex>

#include "softgpu/blas/logger.h"

namespace {

constexpr int kErrors = 1, kCalls = 5;
std::atomic<int> log_mask{0};  // bit (level - 1)
std::atomic<bool> log_disabled{false};
std::atomic<cublasLtLoggerCallback_t> log_callback_lt{nullptr};
std::atomic<std::FILE*> log_file{nullptr};

}  // namespace

namespace tidemark::softgpu::blas {

cublasStatus_t log_lt(const char* function, cublasStatus_t status) {
  int const level = status == CUBLAS_STATUS_SUCCESS ? kCalls : kErrors;
  if (log_disabled || (log_mask & (1 << (level - 1))) == 0) return status;
  if (auto const callback = log_callback_lt.load()) callback(level, function, status_name(status));
  if (std::FILE* const file = log_file) std::fprintf(file, "softgpu cuBLASLt: %s: %s\n", function, status_name(status));
  return status;
}

}  // namespace tidemark::softgpu::blas

extern "C" {

cublasStatus_t cublasLtLoggerSetCallback(cublasLtLoggerCallback_t callback) {
  log_callback_lt = callback;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtLoggerSetFile(FILE* file) {
  log_file = file;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtLoggerOpenFile(const char* path) {
  std::FILE* const file = path == nullptr ? nullptr : std::fopen(path, "a");
  if (file == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  std::setvbuf(file, nullptr, _IOLBF, 0);
  log_file = file;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtLoggerSetLevel(int level) {
  if (level < 0 || level > kCalls) return CUBLAS_STATUS_INVALID_VALUE;
  log_mask = (1 << level) - 1;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtLoggerSetMask(int mask) {
  log_mask = mask;
  return CUBLAS_STATUS_SUCCESS;
}
cublasStatus_t cublasLtLoggerForceDisable() {
  log_disabled = true;
  return CUBLAS_STATUS_SUCCESS;
}

}  // extern "C"
