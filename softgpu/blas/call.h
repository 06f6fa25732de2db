// SPDX-License-Identifier: Apache-2.0
// One call of a cuBLAS routine: its arguments are checked one after another (the first failure decides), the memory
// that it reads and writes is noted, then its body is queued on the handle's stream.
#pragma once
#include <array>
#include <climits>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>

#include "softgpu/blas/context.h"
#include "softgpu/blas/device.h"
#include "softgpu/blas/element.h"
#include "softgpu/blas/logger.h"
#include "softgpu/blas/scalar.h"

namespace tidemark::softgpu::blas {

// Who was called; every routine takes one in place of the handle.
struct Entry {
  cublasHandle_t handle;
  const char* name;
};

// alpha, beta and their like: a value of the call, or an address that is read when the work runs.
template <class T>
struct Scalar {
  T value{};
  const T* device = nullptr;
  T get() const { return device != nullptr ? *device : value; }
};

class Call {
 public:
  explicit Call(Entry entry)
      : entry_(entry), status_(is_alive(entry.handle) ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_INITIALIZED) {}

  Call& require(bool holds, cublasStatus_t otherwise = CUBLAS_STATUS_INVALID_VALUE) {
    if (!holds && status_ == CUBLAS_STATUS_SUCCESS) status_ = otherwise;
    return *this;
  }
  Call& dims(std::initializer_list<std::int64_t> sizes) {
    for (auto const size : sizes) require(size >= 0).note_width(size);
    return *this;
  }
  Call& leading(std::int64_t ld, std::int64_t rows) { return require(ld >= (rows > 1 ? rows : 1)).note_width(ld); }
  Call& increments(std::initializer_list<std::int64_t> steps) {
    for (auto const step : steps) require(step != 0).note_width(std::llabs(step));
    return *this;
  }
  Call& option(cublasOperation_t op) { return require(op >= CUBLAS_OP_N && op <= CUBLAS_OP_C); }
  Call& option(cublasFillMode_t fill) {
    return require(fill == CUBLAS_FILL_MODE_LOWER || fill == CUBLAS_FILL_MODE_UPPER);
  }
  Call& option(cublasDiagType_t diag) { return require(diag == CUBLAS_DIAG_NON_UNIT || diag == CUBLAS_DIAG_UNIT); }
  Call& option(cublasSideMode_t side) { return require(side == CUBLAS_SIDE_LEFT || side == CUBLAS_SIDE_RIGHT); }
  template <class... Options>
  Call& options(Options... all) {
    (option(all), ...);
    return *this;
  }

  Call& reads(const void* address, std::uint64_t bytes) { return touch(address, bytes, 0); }
  Call& writes(const void* address, std::uint64_t bytes) { return touch(address, bytes, 1); }
  template <class T>
  Call& reads_vector(const T* x, std::int64_t n, std::int64_t inc) {
    return reads(x, vector_bytes(n, inc, sizeof(T)));
  }
  template <class T>
  Call& writes_vector(const T* x, std::int64_t n, std::int64_t inc) {
    return writes(x, vector_bytes(n, inc, sizeof(T)));
  }
  template <class T>
  Call& reads_matrix(const T* a, std::int64_t rows, std::int64_t cols, std::int64_t ld) {
    return reads(a, matrix_bytes(rows, cols, ld, sizeof(T)));
  }
  template <class T>
  Call& writes_matrix(const T* a, std::int64_t rows, std::int64_t cols, std::int64_t ld) {
    return writes(a, matrix_bytes(rows, cols, ld, sizeof(T)));
  }

  bool device_scalars() const { return entry_.handle->pointer_mode == CUBLAS_POINTER_MODE_DEVICE; }
  template <class T>
  Scalar<T> scalar(const T* p) {
    require(p != nullptr);
    if (status_ != CUBLAS_STATUS_SUCCESS) return {};
    if (!device_scalars()) return {.value = *p};
    reads(p, sizeof(T));
    return {.device = p};
  }

  AnyScalar any_scalar(const void* p, cudaDataType type) {
    require(p != nullptr);
    AnyScalar scalar{.type = type};
    if (status_ != CUBLAS_STATUS_SUCCESS) return scalar;
    if (device_scalars()) {
      reads(p, type_bytes(type));
      scalar.device = p;
    } else {
      std::memcpy(scalar.value, p, type_bytes(type));
    }
    return scalar;
  }

  // An empty problem ends here, well or not.
  bool done(bool empty) const { return empty || status_ != CUBLAS_STATUS_SUCCESS; }
  bool ok() const { return status_ == CUBLAS_STATUS_SUCCESS; }
  cublasStatus_t status() const {
    log_call(entry_.name, status_);
    return status_;
  }
  const Entry& entry() const { return entry_; }

  template <class F>
  cublasStatus_t run(F const& body) {
    if (ok() && too_wide_ && !dry_run()) status_ = not_supported("sizes beyond 2^31-1");
    if (ok())
      status_ = submit(entry_.handle->stream, entry_.handle->device_context,
                       make_work(entry_.name, body, touches_.data(), touch_count_));
    return status();
  }

  // `body` gives the result, which goes to the host (the call then waits for it) or to the device.
  template <class R, class F>
  cublasStatus_t run_for(R* result, F const& body) {
    if (!require(result != nullptr).ok()) return status();
    if (device_scalars()) writes(result, sizeof(R));
    cublasStatus_t const queued = run([=] { *result = body(); });
    if (queued != CUBLAS_STATUS_SUCCESS || device_scalars()) return queued;
    // Skipped work leaves a defined value where the host looks.
    if (dry_run()) *result = R{};
    return synchronize(entry_.handle->stream);
  }

  // All operands are scalars: on the host the call is its own work.
  template <class F>
  cublasStatus_t run_on_scalars(F const& body) {
    if (ok() && !device_scalars()) {
      body();
      return status();
    }
    return run(body);
  }

  static constexpr std::uint64_t vector_bytes(std::int64_t n, std::int64_t inc, std::uint64_t element_bytes) {
    if (n <= 0) return 0;
    return (static_cast<std::uint64_t>(n - 1) * static_cast<std::uint64_t>(inc < 0 ? -inc : inc) + 1) * element_bytes;
  }
  static constexpr std::uint64_t matrix_bytes(std::int64_t rows, std::int64_t cols, std::int64_t ld,
                                              std::uint64_t element_bytes) {
    if (rows <= 0 || cols <= 0) return 0;
    return (static_cast<std::uint64_t>(cols - 1) * static_cast<std::uint64_t>(ld) + static_cast<std::uint64_t>(rows)) *
           element_bytes;
  }

 private:
  Call& note_width(std::int64_t size) {
    too_wide_ |= size > INT_MAX;  // OpenBLAS counts in 32 bits
    return *this;
  }
  Call& touch(const void* address, std::uint64_t bytes, int writes) {
    if (bytes == 0) return *this;
    require(address != nullptr);
    if (touch_count_ < touches_.size())
      touches_[touch_count_++] = {reinterpret_cast<std::uintptr_t>(address), bytes, writes};
    return *this;
  }

  Entry entry_;
  cublasStatus_t status_;
  bool too_wide_ = false;
  std::size_t touch_count_ = 0;
  std::array<SoftgpuTouch, 8> touches_{};
};

}  // namespace tidemark::softgpu::blas
