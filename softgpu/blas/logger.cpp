// SPDX-License-Identifier: Apache-2.0
#include "softgpu/blas/logger.h"

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>

namespace tidemark::softgpu::blas {
namespace {

struct Log {
  std::mutex mutex;
  std::FILE* file = nullptr;
  bool to_stdout = false, to_stderr = false;
};

// Leaked: calls may still come while the process is being torn down.
Log& log_state() {
  static Log& log = *new Log;
  return log;
}

std::atomic<bool> log_on{false};
std::atomic<cublasLogCallback> user_callback{nullptr};

void configure_from_environment() {
  const char* const on = std::getenv("CUBLAS_LOGINFO_DBG");
  if (on == nullptr || *on != '1') return;
  const char* const where = std::getenv("CUBLAS_LOGDEST_DBG");
  std::string const to = where != nullptr ? where : "";
  bool const to_file = !to.empty() && to != "stdout" && to != "stderr";
  configure_log(true, to == "stdout", to == "stderr", to_file ? where : nullptr);
}

struct StatusWords {
  cublasStatus_t status;
  const char* name;
  const char* text;
};

#define SOFTGPU_STATUS(name, text)                     \
  StatusWords {                                        \
    CUBLAS_STATUS_##name, "CUBLAS_STATUS_" #name, text \
  }
constexpr std::array kStatus = {
    SOFTGPU_STATUS(SUCCESS, "success"),
    SOFTGPU_STATUS(NOT_INITIALIZED, "the library or the handle was not initialized"),
    SOFTGPU_STATUS(ALLOC_FAILED, "a resource could not be allocated"),
    SOFTGPU_STATUS(INVALID_VALUE, "an argument has an invalid value"),
    SOFTGPU_STATUS(ARCH_MISMATCH, "the device lacks a feature that is needed"),
    SOFTGPU_STATUS(MAPPING_ERROR, "device memory could not be accessed"),
    SOFTGPU_STATUS(EXECUTION_FAILED, "the work failed on the device"),
    SOFTGPU_STATUS(INTERNAL_ERROR, "an internal operation failed"),
    SOFTGPU_STATUS(NOT_SUPPORTED, "the requested function is not supported"),
    SOFTGPU_STATUS(LICENSE_ERROR, "the requested function needs a licence"),
};
#undef SOFTGPU_STATUS

}  // namespace

void log_call(const char* name, cublasStatus_t status) {
  static bool const once = (configure_from_environment(), true);
  (void)once;
  cublasLogCallback const callback = user_callback.load(std::memory_order_relaxed);
  if (callback == nullptr && !log_on.load(std::memory_order_relaxed)) return;
  std::string const line = std::string("softgpu cuBLAS: ") + name + ": " + status_name(status) + "\n";
  if (callback != nullptr) callback(line.c_str());
  if (!log_on) return;
  Log& log = log_state();
  std::lock_guard const lock(log.mutex);
  if (log.to_stdout) std::fputs(line.c_str(), stdout);
  if (log.to_stderr) std::fputs(line.c_str(), stderr);
  if (log.file != nullptr) {
    std::fputs(line.c_str(), log.file);
    std::fflush(log.file);
  }
}

cublasStatus_t configure_log(bool on, bool to_stdout, bool to_stderr, const char* file) {
  Log& log = log_state();
  std::lock_guard const lock(log.mutex);
  std::FILE* const opened = file != nullptr ? std::fopen(file, "a") : nullptr;
  if (file != nullptr && opened == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (log.file != nullptr) std::fclose(log.file);
  log.file = opened;
  log.to_stdout = to_stdout;
  log.to_stderr = to_stderr;
  log_on = on;
  return CUBLAS_STATUS_SUCCESS;
}

void set_log_callback(cublasLogCallback callback) {
  user_callback = callback;
}
cublasLogCallback log_callback() {
  return user_callback;
}

const char* status_name(cublasStatus_t status) {
  for (auto const& s : kStatus)
    if (s.status == status) return s.name;
  return "CUBLAS_STATUS_UNKNOWN";
}

const char* status_text(cublasStatus_t status) {
  for (auto const& s : kStatus)
    if (s.status == status) return s.text;
  return "unknown status";
}

cublasStatus_t version_part(libraryPropertyType type, int* value) {
  if (value == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  switch (type) {
    case MAJOR_VERSION: *value = CUBLAS_VER_MAJOR; return CUBLAS_STATUS_SUCCESS;
    case MINOR_VERSION: *value = CUBLAS_VER_MINOR; return CUBLAS_STATUS_SUCCESS;
    case PATCH_LEVEL: *value = CUBLAS_VER_PATCH; return CUBLAS_STATUS_SUCCESS;
    default: return CUBLAS_STATUS_INVALID_VALUE;
  }
}

}  // namespace tidemark::softgpu::blas
