// SPDX-License-Identifier: Apache-2.0
// Level 2 updates of a matrix by vectors: rank 1 and rank 2.
#pragma once
#include "softgpu/blas/level2.h"

namespace tidemark::softgpu::blas::api {

template <class T, class I, class F>
cublasStatus_t rank_one(Entry entry, I m, I n, const T* alpha, const T* x, I incx, const T* y, I incy, T* a, I lda,
                        F function) {
  Call call(entry);
  call.dims({m, n}).leading(lda, m).increments({incx, incy});
  auto const al = call.scalar(alpha);
  if (call.done(m == 0 || n == 0)) return call.status();
  call.reads_vector(x, m, incx).reads_vector(y, n, incy).writes_matrix(a, m, n, lda);
  return call.run([=] { cblas(function(), CblasColMajor, m, n, al.get(), x, incx, y, incy, a, lda); });
}
template <class T, class I>
cublasStatus_t geru(Entry entry, I m, I n, const T* alpha, const T* x, I incx, const T* y, I incy, T* a, I lda) {
  return rank_one(entry, m, n, alpha, x, incx, y, incy, a, lda, [] { return routine::geru<T>(); });
}
template <class T, class I>
cublasStatus_t ger(Entry entry, I m, I n, const T* alpha, const T* x, I incx, const T* y, I incy, T* a, I lda) {
  return geru(entry, m, n, alpha, x, incx, y, incy, a, lda);
}
template <class T, class I>
cublasStatus_t gerc(Entry entry, I m, I n, const T* alpha, const T* x, I incx, const T* y, I incy, T* a, I lda) {
  return rank_one(entry, m, n, alpha, x, incx, y, incy, a, lda, [] { return routine::gerc<T>(); });
}

// A += alpha x x'; the Hermitian forms (A: alpha's type) have a real alpha.
template <class A, class T, class I, class F>
cublasStatus_t symmetric_rank_one(Entry entry, cublasFillMode_t uplo, I n, const A* alpha, const T* x, I incx, T* a,
                                  I lda, F function) {
  Call call(entry);
  call.options(uplo).dims({n}).leading(lda, n).increments({incx});
  auto const al = call.scalar(alpha);
  if (call.done(n == 0)) return call.status();
  call.reads_vector(x, n, incx).writes_matrix(a, n, n, lda);
  return call.run([=] { function(uplo, n, al.get(), x, incx, a, lda); });
}
template <class T, class I>
cublasStatus_t syr(Entry entry, cublasFillMode_t uplo, I n, const T* alpha, const T* x, I incx, T* a, I lda) {
  return symmetric_rank_one(entry, uplo, n, alpha, x, incx, a, lda, [](auto... args) {
    if constexpr (kIsComplex<T>) {
      symmetric_update(args...);
    } else {
      cblas(routine::syr<T>(), CblasColMajor, args...);
    }
  });
}
template <class T, class I>
cublasStatus_t her(Entry entry, cublasFillMode_t uplo, I n, const Real<T>* alpha, const T* x, I incx, T* a, I lda) {
  return symmetric_rank_one(entry, uplo, n, alpha, x, incx, a, lda,
                            [](auto... args) { cblas(routine::her<T>(), CblasColMajor, args...); });
}

template <class A, class T, class I>
cublasStatus_t spr(Entry entry, cublasFillMode_t uplo, I n, const A* alpha, const T* x, I incx, T* ap) {
  Call call(entry);
  call.options(uplo).dims({n}).increments({incx});
  auto const al = call.scalar(alpha);
  if (call.done(n == 0)) return call.status();
  call.reads_vector(x, n, incx).writes_vector(ap, packed_elements(n), 1);
  return call.run([=] {
    if constexpr (kIsComplex<T>) {
      cblas(routine::hpr<T>(), CblasColMajor, uplo, n, al.get(), x, incx, ap);
    } else {
      cblas(routine::spr<T>(), CblasColMajor, uplo, n, al.get(), x, incx, ap);
    }
  });
}
template <class A, class T, class I>
cublasStatus_t hpr(Entry entry, cublasFillMode_t uplo, I n, const A* alpha, const T* x, I incx, T* ap) {
  return spr(entry, uplo, n, alpha, x, incx, ap);
}

template <class T, class I, class F>
cublasStatus_t symmetric_rank_two(Entry entry, cublasFillMode_t uplo, I n, const T* alpha, const T* x, I incx,
                                  const T* y, I incy, T* a, I lda, F function) {
  Call call(entry);
  call.options(uplo).dims({n}).leading(lda, n).increments({incx, incy});
  auto const al = call.scalar(alpha);
  if (call.done(n == 0)) return call.status();
  call.reads_vector(x, n, incx).reads_vector(y, n, incy).writes_matrix(a, n, n, lda);
  return call.run([=] { function(uplo, n, al.get(), x, incx, y, incy, a, lda); });
}
template <class T, class I>
cublasStatus_t syr2(Entry entry, cublasFillMode_t uplo, I n, const T* alpha, const T* x, I incx, const T* y, I incy,
                    T* a, I lda) {
  return symmetric_rank_two(entry, uplo, n, alpha, x, incx, y, incy, a, lda, [](auto... args) {
    if constexpr (kIsComplex<T>) {
      symmetric_update2(args...);
    } else {
      cblas(routine::syr2<T>(), CblasColMajor, args...);
    }
  });
}
template <class T, class I>
cublasStatus_t her2(Entry entry, cublasFillMode_t uplo, I n, const T* alpha, const T* x, I incx, const T* y, I incy,
                    T* a, I lda) {
  return symmetric_rank_two(entry, uplo, n, alpha, x, incx, y, incy, a, lda,
                            [](auto... args) { cblas(routine::her2<T>(), CblasColMajor, args...); });
}

template <class T, class I>
cublasStatus_t spr2(Entry entry, cublasFillMode_t uplo, I n, const T* alpha, const T* x, I incx, const T* y, I incy,
                    T* ap) {
  Call call(entry);
  call.options(uplo).dims({n}).increments({incx, incy});
  auto const al = call.scalar(alpha);
  if (call.done(n == 0)) return call.status();
  call.reads_vector(x, n, incx).reads_vector(y, n, incy).writes_vector(ap, packed_elements(n), 1);
  return call.run([=] {
    if constexpr (kIsComplex<T>) {
      cblas(routine::hpr2<T>(), CblasColMajor, uplo, n, al.get(), x, incx, y, incy, ap);
    } else {
      cblas(routine::spr2<T>(), CblasColMajor, uplo, n, al.get(), x, incx, y, incy, ap);
    }
  });
}
template <class T, class I>
cublasStatus_t hpr2(Entry entry, cublasFillMode_t uplo, I n, const T* alpha, const T* x, I incx, const T* y, I incy,
                    T* ap) {
  return spr2(entry, uplo, n, alpha, x, incx, y, incy, ap);
}

}  // namespace tidemark::softgpu::blas::api
