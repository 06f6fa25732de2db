// SPDX-License-Identifier: Apache-2.0
// Level 3 beside gemm: products with symmetric, Hermitian and triangular matrices, and the BLAS-like extensions.
#pragma once
#include <algorithm>
#include <vector>

#include "softgpu/blas/call.h"
#include "softgpu/blas/openblas.h"
#include "softgpu/blas/triangle.h"

namespace tidemark::softgpu::blas::api {

template <class T, class I, class F>
cublasStatus_t symmetric_times(Entry entry, cublasSideMode_t side, cublasFillMode_t uplo, I m, I n, const T* alpha,
                               const T* a, I lda, const T* b, I ldb, const T* beta, T* c, I ldc, F function) {
  Call call(entry);
  I const order = side == CUBLAS_SIDE_LEFT ? m : n;
  call.options(side, uplo).dims({m, n}).leading(lda, order).leading(ldb, m).leading(ldc, m);
  auto const al = call.scalar(alpha);
  auto const be = call.scalar(beta);
  if (call.done(m == 0 || n == 0)) return call.status();
  call.reads_matrix(a, order, order, lda).reads_matrix(b, m, n, ldb).writes_matrix(c, m, n, ldc);
  return call.run(
      [=] { cblas(function(), CblasColMajor, side, uplo, m, n, al.get(), a, lda, b, ldb, be.get(), c, ldc); });
}
template <class T, class I>
cublasStatus_t symm(Entry entry, cublasSideMode_t side, cublasFillMode_t uplo, I m, I n, const T* alpha, const T* a,
                    I lda, const T* b, I ldb, const T* beta, T* c, I ldc) {
  return symmetric_times(entry, side, uplo, m, n, alpha, a, lda, b, ldb, beta, c, ldc,
                         [] { return routine::symm<T>(); });
}
template <class T, class I>
cublasStatus_t hemm(Entry entry, cublasSideMode_t side, cublasFillMode_t uplo, I m, I n, const T* alpha, const T* a,
                    I lda, const T* b, I ldb, const T* beta, T* c, I ldc) {
  return symmetric_times(entry, side, uplo, m, n, alpha, a, lda, b, ldb, beta, c, ldc,
                         [] { return routine::hemm<T>(); });
}

// A rank-k update takes N or T (symmetric; C too when real), N or C (Hermitian).
template <class T>
constexpr bool update_op(cublasOperation_t op, bool hermitian) {
  return op == CUBLAS_OP_N ||
         (hermitian ? op == CUBLAS_OP_C : op == CUBLAS_OP_T || (!kIsComplex<T> && op == CUBLAS_OP_C));
}

template <bool hermitian, class S, class T, class I>
cublasStatus_t rank_k(Entry entry, cublasFillMode_t uplo, cublasOperation_t trans, I n, I k, const S* alpha, const T* a,
                      I lda, const S* beta, T* c, I ldc) {
  Call call(entry);
  bool const plain = trans == CUBLAS_OP_N;
  call.options(uplo, trans).require(update_op<T>(trans, hermitian));
  call.dims({n, k}).leading(lda, plain ? n : k).leading(ldc, n);
  auto const al = call.scalar(alpha);
  auto const be = call.scalar(beta);
  if (call.done(n == 0)) return call.status();
  call.reads_matrix(a, plain ? n : k, plain ? k : n, lda).writes_matrix(c, n, n, ldc);
  return call.run([=] {
    if constexpr (hermitian) {
      cblas(routine::herk<T>(), CblasColMajor, uplo, trans, n, k, al.get(), a, lda, be.get(), c, ldc);
    } else {
      cblas(routine::syrk<T>(), CblasColMajor, uplo, trans, n, k, al.get(), a, lda, be.get(), c, ldc);
    }
  });
}
template <class T, class I>
cublasStatus_t syrk(Entry entry, cublasFillMode_t uplo, cublasOperation_t trans, I n, I k, const T* alpha, const T* a,
                    I lda, const T* beta, T* c, I ldc) {
  return rank_k<false>(entry, uplo, trans, n, k, alpha, a, lda, beta, c, ldc);
}
template <class T, class I>
cublasStatus_t herk(Entry entry, cublasFillMode_t uplo, cublasOperation_t trans, I n, I k, const Real<T>* alpha,
                    const T* a, I lda, const Real<T>* beta, T* c, I ldc) {
  return rank_k<true>(entry, uplo, trans, n, k, alpha, a, lda, beta, c, ldc);
}
// CsyrkEx and CherkEx: of their types only plain complex is computed.
template <class S, class I>
cublasStatus_t rank_k_ex(Entry entry, cublasFillMode_t uplo, cublasOperation_t trans, I n, I k, const S* alpha,
                         const void* a, cudaDataType at, I lda, const S* beta, void* c, cudaDataType ct, I ldc) {
  if (at != CUDA_C_32F || ct != CUDA_C_32F) {
    bool const documented = at == CUDA_C_8I && ct == CUDA_C_32F;
    return documented ? not_supported("complex int8 matrices") : CUBLAS_STATUS_NOT_SUPPORTED;
  }
  return rank_k<!kIsComplex<S>>(entry, uplo, trans, n, k, alpha, static_cast<const Complex32*>(a), lda, beta,
                                static_cast<Complex32*>(c), ldc);
}

template <bool hermitian, class T, class B, class I, class F>
cublasStatus_t rank_two_k(Entry entry, cublasFillMode_t uplo, cublasOperation_t trans, I n, I k, const T* alpha,
                          const T* a, I lda, const T* b, I ldb, const B* beta, T* c, I ldc, F body) {
  Call call(entry);
  bool const plain = trans == CUBLAS_OP_N;
  I const rows = plain ? n : k, cols = plain ? k : n;
  call.options(uplo, trans).require(update_op<T>(trans, hermitian));
  call.dims({n, k}).leading(lda, rows).leading(ldb, rows).leading(ldc, n);
  auto const al = call.scalar(alpha);
  auto const be = call.scalar(beta);
  if (call.done(n == 0)) return call.status();
  call.reads_matrix(a, rows, cols, lda).reads_matrix(b, rows, cols, ldb).writes_matrix(c, n, n, ldc);
  return call.run([=] { body(uplo, trans, n, k, al.get(), a, lda, b, ldb, be.get(), c, ldc); });
}
template <class T, class I>
cublasStatus_t syr2k(Entry entry, cublasFillMode_t uplo, cublasOperation_t trans, I n, I k, const T* alpha, const T* a,
                     I lda, const T* b, I ldb, const T* beta, T* c, I ldc) {
  return rank_two_k<false>(entry, uplo, trans, n, k, alpha, a, lda, b, ldb, beta, c, ldc,
                           [](auto... args) { cblas(routine::syr2k<T>(), CblasColMajor, args...); });
}
template <class T, class I>
cublasStatus_t her2k(Entry entry, cublasFillMode_t uplo, cublasOperation_t trans, I n, I k, const T* alpha, const T* a,
                     I lda, const T* b, I ldb, const Real<T>* beta, T* c, I ldc) {
  return rank_two_k<true>(entry, uplo, trans, n, k, alpha, a, lda, b, ldb, beta, c, ldc,
                          [](auto... args) { cblas(routine::her2k<T>(), CblasColMajor, args...); });
}

// One triangle of alpha op(A) op(B)' + beta C: panels of columns by gemm, then merged into the triangle alone.
template <bool hermitian, class T, class B>
void triangle_product(cublasFillMode_t uplo, cublasOperation_t trans, std::int64_t n, std::int64_t k, T alpha,
                      const T* a, std::int64_t lda, const T* b, std::int64_t ldb, B beta, T* c, std::int64_t ldc) {
  constexpr std::int64_t kPanel = 128;
  std::vector<T> panel(static_cast<std::size_t>(n * std::min(n, kPanel)));
  CBLAS_TRANSPOSE const turned = hermitian ? CblasConjTrans : CblasTrans;
  bool const plain = trans == CUBLAS_OP_N;
  for (std::int64_t first = 0; first < n; first += kPanel) {
    std::int64_t const width = std::min(kPanel, n - first);
    const T* const b_part = plain ? b + first : b + first * ldb;
    cblas(routine::gemm<T>(), CblasColMajor, plain ? CblasNoTrans : turned, plain ? turned : CblasNoTrans, n, width, k,
          alpha, a, lda, b_part, ldb, T{}, panel.data(), n);
    for (std::int64_t j = 0; j < width; ++j) {
      auto const [top, bottom] = stored_rows(uplo, n, first + j);
      T* const column = c + (first + j) * ldc;
      for (std::int64_t i = top; i < bottom; ++i)
        column[i] = panel[static_cast<std::size_t>(i + j * n)] + (beta == B{} ? T{} : beta * column[i]);
      if constexpr (hermitian) column[first + j] = column[first + j].real();
    }
  }
}
template <class T, class I>
cublasStatus_t syrkx(Entry entry, cublasFillMode_t uplo, cublasOperation_t trans, I n, I k, const T* alpha, const T* a,
                     I lda, const T* b, I ldb, const T* beta, T* c, I ldc) {
  return rank_two_k<false>(entry, uplo, trans, n, k, alpha, a, lda, b, ldb, beta, c, ldc,
                           [](auto... args) { triangle_product<false>(args...); });
}
template <class T, class I>
cublasStatus_t herkx(Entry entry, cublasFillMode_t uplo, cublasOperation_t trans, I n, I k, const T* alpha, const T* a,
                     I lda, const T* b, I ldb, const Real<T>* beta, T* c, I ldc) {
  return rank_two_k<true>(entry, uplo, trans, n, k, alpha, a, lda, b, ldb, beta, c, ldc,
                          [](auto... args) { triangle_product<true>(args...); });
}

// Out of place, unlike BLAS: C = alpha op(A) B. C may be B.
template <class T, class I>
cublasStatus_t trmm(Entry entry, cublasSideMode_t side, cublasFillMode_t uplo, cublasOperation_t trans,
                    cublasDiagType_t diag, I m, I n, const T* alpha, const T* a, I lda, const T* b, I ldb, T* c,
                    I ldc) {
  Call call(entry);
  I const order = side == CUBLAS_SIDE_LEFT ? m : n;
  call.options(side, uplo, trans, diag).dims({m, n}).leading(lda, order).leading(ldb, m).leading(ldc, m);
  call.require(b != c || ldb == ldc);
  auto const al = call.scalar(alpha);
  if (call.done(m == 0 || n == 0)) return call.status();
  call.reads_matrix(a, order, order, lda).reads_matrix(b, m, n, ldb).writes_matrix(c, m, n, ldc);
  return call.run([=] {
    if (b != c)
      for (std::int64_t j = 0; j < n; ++j) std::copy_n(b + j * ldb, m, c + j * ldc);
    cblas(routine::trmm<T>(), CblasColMajor, side, uplo, trans, diag, m, n, al.get(), a, lda, c, ldc);
  });
}

template <class T, class I>
cublasStatus_t trsm(Entry entry, cublasSideMode_t side, cublasFillMode_t uplo, cublasOperation_t trans,
                    cublasDiagType_t diag, I m, I n, const T* alpha, const T* a, I lda, T* b, I ldb) {
  Call call(entry);
  I const order = side == CUBLAS_SIDE_LEFT ? m : n;
  call.options(side, uplo, trans, diag).dims({m, n}).leading(lda, order).leading(ldb, m);
  auto const al = call.scalar(alpha);
  if (call.done(m == 0 || n == 0)) return call.status();
  call.reads_matrix(a, order, order, lda).writes_matrix(b, m, n, ldb);
  return call.run(
      [=] { cblas(routine::trsm<T>(), CblasColMajor, side, uplo, trans, diag, m, n, al.get(), a, lda, b, ldb); });
}
template <class T, class I>
cublasStatus_t trsm_array(Entry entry, cublasSideMode_t side, cublasFillMode_t uplo, cublasOperation_t trans,
                          cublasDiagType_t diag, I m, I n, const T* alpha, const T* const* a, I lda, T* const* b, I ldb,
                          I count) {
  Call call(entry);
  call.options(side, uplo, trans, diag)
      .dims({m, n, count})
      .leading(lda, side == CUBLAS_SIDE_LEFT ? m : n)
      .leading(ldb, m);
  auto const al = call.scalar(alpha);
  if (call.done(m == 0 || n == 0 || count == 0)) return call.status();
  call.reads_vector(a, count, 1).reads_vector(b, count, 1);
  return call.run([=] {
    for (I i = 0; i < count; ++i)
      cblas(routine::trsm<T>(), CblasColMajor, side, uplo, trans, diag, m, n, al.get(), a[i], lda, b[i], ldb);
  });
}

}  // namespace tidemark::softgpu::blas::api
