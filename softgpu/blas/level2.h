// SPDX-License-Identifier: Apache-2.0
// Level 2: a matrix and vectors. CBLAS has no complex symmetric (not Hermitian) routines: those are loops in
// triangle.h.
#pragma once
#include "softgpu/blas/call.h"
#include "softgpu/blas/openblas.h"
#include "softgpu/blas/triangle.h"

namespace tidemark::softgpu::blas::api {

constexpr std::int64_t packed_elements(std::int64_t n) {
  return n <= 0 ? 0 : n * (n + 1) / 2;
}

template <class T, class I>
cublasStatus_t gemv(Entry entry, cublasOperation_t trans, I m, I n, const T* alpha, const T* a, I lda, const T* x,
                    I incx, const T* beta, T* y, I incy) {
  Call call(entry);
  call.options(trans).dims({m, n}).leading(lda, m).increments({incx, incy});
  auto const al = call.scalar(alpha);
  auto const be = call.scalar(beta);
  if (call.done(m == 0 || n == 0)) return call.status();
  bool const plain = trans == CUBLAS_OP_N;
  call.reads_matrix(a, m, n, lda).reads_vector(x, plain ? n : m, incx).writes_vector(y, plain ? m : n, incy);
  return call.run(
      [=] { cblas(routine::gemv<T>(), CblasColMajor, trans, m, n, al.get(), a, lda, x, incx, be.get(), y, incy); });
}

template <class T, class I>
cublasStatus_t gbmv(Entry entry, cublasOperation_t trans, I m, I n, I kl, I ku, const T* alpha, const T* a, I lda,
                    const T* x, I incx, const T* beta, T* y, I incy) {
  Call call(entry);
  call.options(trans)
      .dims({m, n, kl, ku})
      .leading(lda, static_cast<std::int64_t>(kl) + ku + 1)
      .increments({incx, incy});
  auto const al = call.scalar(alpha);
  auto const be = call.scalar(beta);
  if (call.done(m == 0 || n == 0)) return call.status();
  bool const plain = trans == CUBLAS_OP_N;
  call.reads_matrix(a, kl + ku + 1, n, lda).reads_vector(x, plain ? n : m, incx).writes_vector(y, plain ? m : n, incy);
  return call.run([=] {
    cblas(routine::gbmv<T>(), CblasColMajor, trans, m, n, kl, ku, al.get(), a, lda, x, incx, be.get(), y, incy);
  });
}

// Triangular routines: full, banded (k diagonals) and packed storage; each multiplies or solves in place.
template <class T, class I, class F>
cublasStatus_t triangular_full(Entry entry, cublasFillMode_t uplo, cublasOperation_t trans, cublasDiagType_t diag, I n,
                               const T* a, I lda, T* x, I incx, F function) {
  Call call(entry);
  call.options(uplo, trans, diag).dims({n}).leading(lda, n).increments({incx});
  if (call.done(n == 0)) return call.status();
  call.reads_matrix(a, n, n, lda).writes_vector(x, n, incx);
  return call.run([=] { cblas(function(), CblasColMajor, uplo, trans, diag, n, a, lda, x, incx); });
}
template <class T, class I, class F>
cublasStatus_t triangular_band(Entry entry, cublasFillMode_t uplo, cublasOperation_t trans, cublasDiagType_t diag, I n,
                               I k, const T* a, I lda, T* x, I incx, F function) {
  Call call(entry);
  call.options(uplo, trans, diag).dims({n, k}).leading(lda, static_cast<std::int64_t>(k) + 1).increments({incx});
  if (call.done(n == 0)) return call.status();
  call.reads_matrix(a, k + 1, n, lda).writes_vector(x, n, incx);
  return call.run([=] { cblas(function(), CblasColMajor, uplo, trans, diag, n, k, a, lda, x, incx); });
}
template <class T, class I, class F>
cublasStatus_t triangular_packed(Entry entry, cublasFillMode_t uplo, cublasOperation_t trans, cublasDiagType_t diag,
                                 I n, const T* ap, T* x, I incx, F function) {
  Call call(entry);
  call.options(uplo, trans, diag).dims({n}).increments({incx});
  if (call.done(n == 0)) return call.status();
  call.reads_vector(ap, packed_elements(n), 1).writes_vector(x, n, incx);
  return call.run([=] { cblas(function(), CblasColMajor, uplo, trans, diag, n, ap, x, incx); });
}

#define SOFTGPU_TRIANGULAR(name, kind, params, args)                                                           \
  template <class T, class I>                                                                                  \
  cublasStatus_t name(Entry entry, cublasFillMode_t uplo, cublasOperation_t trans, cublasDiagType_t diag, I n, \
                      params) {                                                                                \
    return triangular_##kind(entry, uplo, trans, diag, n, args, [] { return routine::name<T>(); });            \
  }
#define SOFTGPU_LIST(...) __VA_ARGS__
SOFTGPU_TRIANGULAR(trmv, full, SOFTGPU_LIST(const T* a, I lda, T* x, I incx), SOFTGPU_LIST(a, lda, x, incx))
SOFTGPU_TRIANGULAR(trsv, full, SOFTGPU_LIST(const T* a, I lda, T* x, I incx), SOFTGPU_LIST(a, lda, x, incx))
SOFTGPU_TRIANGULAR(tbmv, band, SOFTGPU_LIST(I k, const T* a, I lda, T* x, I incx), SOFTGPU_LIST(k, a, lda, x, incx))
SOFTGPU_TRIANGULAR(tbsv, band, SOFTGPU_LIST(I k, const T* a, I lda, T* x, I incx), SOFTGPU_LIST(k, a, lda, x, incx))
SOFTGPU_TRIANGULAR(tpmv, packed, SOFTGPU_LIST(const T* ap, T* x, I incx), SOFTGPU_LIST(ap, x, incx))
SOFTGPU_TRIANGULAR(tpsv, packed, SOFTGPU_LIST(const T* ap, T* x, I incx), SOFTGPU_LIST(ap, x, incx))
#undef SOFTGPU_TRIANGULAR

// y = alpha * A * x + beta * y with A symmetric or Hermitian.
template <class T, class I, class F>
cublasStatus_t symmetric_product(Entry entry, cublasFillMode_t uplo, I n, const T* alpha, const T* a, I lda, const T* x,
                                 I incx, const T* beta, T* y, I incy, F function) {
  Call call(entry);
  call.options(uplo).dims({n}).leading(lda, n).increments({incx, incy});
  auto const al = call.scalar(alpha);
  auto const be = call.scalar(beta);
  if (call.done(n == 0)) return call.status();
  call.reads_matrix(a, n, n, lda).reads_vector(x, n, incx).writes_vector(y, n, incy);
  return call.run([=] { function(uplo, n, al.get(), a, lda, x, incx, be.get(), y, incy); });
}
template <class T, class I>
cublasStatus_t symv(Entry entry, cublasFillMode_t uplo, I n, const T* alpha, const T* a, I lda, const T* x, I incx,
                    const T* beta, T* y, I incy) {
  return symmetric_product(entry, uplo, n, alpha, a, lda, x, incx, beta, y, incy, [](auto... args) {
    if constexpr (kIsComplex<T>) {
      symmetric_vector(args...);
    } else {
      cblas(routine::symv<T>(), CblasColMajor, args...);
    }
  });
}
template <class T, class I>
cublasStatus_t hemv(Entry entry, cublasFillMode_t uplo, I n, const T* alpha, const T* a, I lda, const T* x, I incx,
                    const T* beta, T* y, I incy) {
  return symmetric_product(entry, uplo, n, alpha, a, lda, x, incx, beta, y, incy,
                           [](auto... args) { cblas(routine::hemv<T>(), CblasColMajor, args...); });
}

template <class T, class I>
cublasStatus_t sbmv(Entry entry, cublasFillMode_t uplo, I n, I k, const T* alpha, const T* a, I lda, const T* x, I incx,
                    const T* beta, T* y, I incy) {
  Call call(entry);
  call.options(uplo).dims({n, k}).leading(lda, static_cast<std::int64_t>(k) + 1).increments({incx, incy});
  auto const al = call.scalar(alpha);
  auto const be = call.scalar(beta);
  if (call.done(n == 0)) return call.status();
  call.reads_matrix(a, k + 1, n, lda).reads_vector(x, n, incx).writes_vector(y, n, incy);
  return call.run([=] {
    auto const product = [] {
      if constexpr (kIsComplex<T>) {
        return routine::hbmv<T>();
      } else {
        return routine::sbmv<T>();
      }
    }();
    cblas(product, CblasColMajor, uplo, n, k, al.get(), a, lda, x, incx, be.get(), y, incy);
  });
}
template <class T, class I>
cublasStatus_t hbmv(Entry entry, cublasFillMode_t uplo, I n, I k, const T* alpha, const T* a, I lda, const T* x, I incx,
                    const T* beta, T* y, I incy) {
  return sbmv(entry, uplo, n, k, alpha, a, lda, x, incx, beta, y, incy);
}

template <class T, class I>
cublasStatus_t spmv(Entry entry, cublasFillMode_t uplo, I n, const T* alpha, const T* ap, const T* x, I incx,
                    const T* beta, T* y, I incy) {
  Call call(entry);
  call.options(uplo).dims({n}).increments({incx, incy});
  auto const al = call.scalar(alpha);
  auto const be = call.scalar(beta);
  if (call.done(n == 0)) return call.status();
  call.reads_vector(ap, packed_elements(n), 1).reads_vector(x, n, incx).writes_vector(y, n, incy);
  return call.run([=] {
    auto const product = [] {
      if constexpr (kIsComplex<T>) {
        return routine::hpmv<T>();
      } else {
        return routine::spmv<T>();
      }
    }();
    cblas(product, CblasColMajor, uplo, n, al.get(), ap, x, incx, be.get(), y, incy);
  });
}
template <class T, class I>
cublasStatus_t hpmv(Entry entry, cublasFillMode_t uplo, I n, const T* alpha, const T* ap, const T* x, I incx,
                    const T* beta, T* y, I incy) {
  return spmv(entry, uplo, n, alpha, ap, x, incx, beta, y, incy);
}

}  // namespace tidemark::softgpu::blas::api
