// SPDX-License-Identifier: Apache-2.0
// Loops over one triangle of a matrix, for what CBLAS does not have: complex symmetric updates and packing.
#pragma once
#include <cstdint>

#include "softgpu/blas/element.h"

namespace tidemark::softgpu::blas {

// Rows [first, last) of column j that belong to the stored triangle.
struct Rows {
  std::int64_t first, last;
};
inline Rows stored_rows(cublasFillMode_t uplo, std::int64_t n, std::int64_t j) {
  return uplo == CUBLAS_FILL_MODE_UPPER ? Rows{0, j + 1} : Rows{j, n};
}

template <class T>
class Strided {
 public:
  Strided(T* x, std::int64_t n, std::int64_t inc) : start_(inc < 0 ? x - (n - 1) * inc : x), inc_(inc) {}
  T& operator[](std::int64_t i) const { return start_[i * inc_]; }

 private:
  T* start_;
  std::int64_t inc_;
};

// y = alpha A x + beta y, A symmetric.
template <class T>
void symmetric_vector(cublasFillMode_t uplo, std::int64_t n, T alpha, const T* a, std::int64_t lda, const T* x,
                      std::int64_t incx, T beta, T* y, std::int64_t incy) {
  Strided<const T> const xs(x, n, incx);
  Strided<T> const ys(y, n, incy);
  for (std::int64_t i = 0; i < n; ++i) ys[i] = beta == T{} ? T{} : beta * ys[i];
  for (std::int64_t j = 0; j < n; ++j) {
    auto const [first, last] = stored_rows(uplo, n, j);
    for (std::int64_t i = first; i < last; ++i) {
      T const value = alpha * a[i + j * lda];
      ys[i] += value * xs[j];
      if (i != j) ys[j] += value * xs[i];
    }
  }
}

template <class T>
void symmetric_update(cublasFillMode_t uplo, std::int64_t n, T alpha, const T* x, std::int64_t incx, T* a,
                      std::int64_t lda) {
  Strided<const T> const xs(x, n, incx);
  for (std::int64_t j = 0; j < n; ++j) {
    auto const [first, last] = stored_rows(uplo, n, j);
    for (std::int64_t i = first; i < last; ++i) a[i + j * lda] += alpha * xs[i] * xs[j];
  }
}

template <class T>
void symmetric_update2(cublasFillMode_t uplo, std::int64_t n, T alpha, const T* x, std::int64_t incx, const T* y,
                       std::int64_t incy, T* a, std::int64_t lda) {
  Strided<const T> const xs(x, n, incx);
  Strided<const T> const ys(y, n, incy);
  for (std::int64_t j = 0; j < n; ++j) {
    auto const [first, last] = stored_rows(uplo, n, j);
    for (std::int64_t i = first; i < last; ++i) a[i + j * lda] += alpha * (xs[i] * ys[j] + ys[i] * xs[j]);
  }
}

// Calls visit(i, j, position) for each element of the stored triangle in packed order.
template <class F>
void for_packed(cublasFillMode_t uplo, std::int64_t n, F visit) {
  std::int64_t position = 0;
  for (std::int64_t j = 0; j < n; ++j) {
    auto const [first, last] = stored_rows(uplo, n, j);
    for (std::int64_t i = first; i < last; ++i) visit(i, j, position++);
  }
}

}  // namespace tidemark::softgpu::blas
