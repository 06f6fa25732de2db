// SPDX-License-Identifier: Apache-2.0
// cublasSet/GetVector and Set/GetMatrix: pitched copies by the driver, so that the device sees them as copies.
#include <cuda.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>

#include "softgpu/blas/device.h"
#include "softgpu/interface/device_link.h"

namespace tidemark::softgpu::blas {
namespace {

enum class Direction { ToDevice, ToHost };

// `count` runs of `width` bytes each, `pitch` apart.
struct Runs {
  std::int64_t width, count, source_pitch, target_pitch;
};

template <class F>
F* driver(const char* name) {
  DeviceLink const* const link = device_link();
  return link == nullptr ? nullptr : reinterpret_cast<F*>(link->driver_symbol(name));
}

CUDA_MEMCPY2D describe(Direction direction, const Runs& runs, const void* source, void* target) {
  CUDA_MEMCPY2D copy{};
  bool const up = direction == Direction::ToDevice;
  copy.srcMemoryType = up ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
  copy.dstMemoryType = up ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
  copy.srcHost = up ? source : nullptr;
  copy.srcDevice = up ? 0 : reinterpret_cast<CUdeviceptr>(source);
  copy.dstDevice = up ? reinterpret_cast<CUdeviceptr>(target) : 0;
  copy.dstHost = up ? nullptr : target;
  copy.srcPitch = static_cast<std::size_t>(runs.source_pitch);
  copy.dstPitch = static_cast<std::size_t>(runs.target_pitch);
  copy.WidthInBytes = static_cast<std::size_t>(runs.width);
  copy.Height = static_cast<std::size_t>(runs.count);
  return copy;
}

// stream: null pointer for the synchronous form.
cublasStatus_t copy_runs(Direction direction, const Runs& runs, const void* source, void* target,
                         const cudaStream_t* stream) {
  if (runs.width == 0 || runs.count == 0) return CUBLAS_STATUS_SUCCESS;
  if (source == nullptr || target == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  static auto* const now = driver<decltype(cuMemcpy2DUnaligned_v2)>("cuMemcpy2DUnaligned_v2");
  static auto* const later = driver<decltype(cuMemcpy2DAsync_v2)>("cuMemcpy2DAsync_v2");
  if (now == nullptr || later == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  CUDA_MEMCPY2D const copy = describe(direction, runs, source, target);
  int const result = stream == nullptr ? now(&copy) : later(&copy, *stream);
  return result == CUDA_SUCCESS ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_MAPPING_ERROR;
}

// Counts of elements as bytes: false when no memory is that large.
bool in_bytes(std::int64_t element_bytes, std::initializer_list<std::int64_t> counts) {
  std::int64_t bytes = 0;
  return std::none_of(counts.begin(), counts.end(),
                      [&](std::int64_t count) { return __builtin_mul_overflow(count, element_bytes, &bytes); });
}

cublasStatus_t copy_vector(Direction direction, std::int64_t n, std::int64_t element_bytes, const void* x,
                           std::int64_t incx, void* y, std::int64_t incy, const cudaStream_t* stream) {
  if (n < 0 || element_bytes <= 0 || incx <= 0 || incy <= 0) return CUBLAS_STATUS_INVALID_VALUE;
  if (!in_bytes(element_bytes, {n, incx, incy})) return CUBLAS_STATUS_INVALID_VALUE;
  if (incx == 1 && incy == 1)
    return copy_runs(direction, {n * element_bytes, n == 0 ? 0 : 1, n * element_bytes, n * element_bytes}, x, y,
                     stream);
  return copy_runs(direction, {element_bytes, n, incx * element_bytes, incy * element_bytes}, x, y, stream);
}

cublasStatus_t copy_matrix(Direction direction, std::int64_t rows, std::int64_t cols, std::int64_t element_bytes,
                           const void* a, std::int64_t lda, void* b, std::int64_t ldb, const cudaStream_t* stream) {
  std::int64_t const least = rows > 1 ? rows : 1;
  if (rows < 0 || cols < 0 || element_bytes <= 0 || lda < least || ldb < least) return CUBLAS_STATUS_INVALID_VALUE;
  if (!in_bytes(element_bytes, {lda, ldb})) return CUBLAS_STATUS_INVALID_VALUE;  // rows are not more
  return copy_runs(direction, {rows * element_bytes, cols, lda * element_bytes, ldb * element_bytes}, a, b, stream);
}

}  // namespace
}  // namespace tidemark::softgpu::blas

using namespace tidemark::softgpu::blas;

#define SOFTGPU_COPIES(suffix, Int)                                                                                    \
  extern "C" cublasStatus_t cublasSetVector##suffix(Int n, Int bytes, const void* x, Int incx, void* y, Int incy) {    \
    return copy_vector(Direction::ToDevice, n, bytes, x, incx, y, incy, nullptr);                                      \
  }                                                                                                                    \
  extern "C" cublasStatus_t cublasGetVector##suffix(Int n, Int bytes, const void* x, Int incx, void* y, Int incy) {    \
    return copy_vector(Direction::ToHost, n, bytes, x, incx, y, incy, nullptr);                                        \
  }                                                                                                                    \
  extern "C" cublasStatus_t cublasSetMatrix##suffix(Int rows, Int cols, Int bytes, const void* a, Int lda, void* b,    \
                                                    Int ldb) {                                                         \
    return copy_matrix(Direction::ToDevice, rows, cols, bytes, a, lda, b, ldb, nullptr);                               \
  }                                                                                                                    \
  extern "C" cublasStatus_t cublasGetMatrix##suffix(Int rows, Int cols, Int bytes, const void* a, Int lda, void* b,    \
                                                    Int ldb) {                                                         \
    return copy_matrix(Direction::ToHost, rows, cols, bytes, a, lda, b, ldb, nullptr);                                 \
  }                                                                                                                    \
  extern "C" cublasStatus_t cublasSetVectorAsync##suffix(Int n, Int bytes, const void* x, Int incx, void* y, Int incy, \
                                                         cudaStream_t stream) {                                        \
    return copy_vector(Direction::ToDevice, n, bytes, x, incx, y, incy, &stream);                                      \
  }                                                                                                                    \
  extern "C" cublasStatus_t cublasGetVectorAsync##suffix(Int n, Int bytes, const void* x, Int incx, void* y, Int incy, \
                                                         cudaStream_t stream) {                                        \
    return copy_vector(Direction::ToHost, n, bytes, x, incx, y, incy, &stream);                                        \
  }                                                                                                                    \
  extern "C" cublasStatus_t cublasSetMatrixAsync##suffix(Int rows, Int cols, Int bytes, const void* a, Int lda,        \
                                                         void* b, Int ldb, cudaStream_t stream) {                      \
    return copy_matrix(Direction::ToDevice, rows, cols, bytes, a, lda, b, ldb, &stream);                               \
  }                                                                                                                    \
  extern "C" cublasStatus_t cublasGetMatrixAsync##suffix(Int rows, Int cols, Int bytes, const void* a, Int lda,        \
                                                         void* b, Int ldb, cudaStream_t stream) {                      \
    return copy_matrix(Direction::ToHost, rows, cols, bytes, a, lda, b, ldb, &stream);                                 \
  }
SOFTGPU_COPIES(, int)
SOFTGPU_COPIES(_64, int64_t)
