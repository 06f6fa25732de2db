// SPDX-License-Identifier: Apache-2.0
// BLAS-like extensions: sums and scalings of matrices, packed triangles, batches of matrix-vector products.
#pragma once
#include "softgpu/blas/gemm.h"
#include "softgpu/blas/level1.h"
#include "softgpu/blas/level2.h"

namespace tidemark::softgpu::blas::api {

// C = alpha op(A) + beta op(B). C may be A or B where that one is not transposed.
template <class T, class I>
cublasStatus_t geam(Entry entry, cublasOperation_t transa, cublasOperation_t transb, I m, I n, const T* alpha,
                    const T* a, I lda, const T* beta, const T* b, I ldb, T* c, I ldc) {
  Call call(entry);
  bool const plain_a = transa == CUBLAS_OP_N, plain_b = transb == CUBLAS_OP_N;
  call.options(transa, transb).dims({m, n}).leading(ldc, m);
  call.leading(lda, plain_a ? m : n).leading(ldb, plain_b ? m : n);
  call.require(a != c || (plain_a && lda == ldc)).require(b != c || (plain_b && ldb == ldc));
  auto const al = call.scalar(alpha);
  auto const be = call.scalar(beta);
  if (call.done(m == 0 || n == 0)) return call.status();
  // An operand whose factor is a host zero is not read and may be null.
  if (al.device != nullptr || al.value != T{}) call.reads_matrix(a, plain_a ? m : n, plain_a ? n : m, lda);
  if (be.device != nullptr || be.value != T{}) call.reads_matrix(b, plain_b ? m : n, plain_b ? n : m, ldb);
  call.writes_matrix(c, m, n, ldc);
  return call.run([=] {
    auto const term = [](T factor, cublasOperation_t op, const T* x, std::int64_t ld, std::int64_t i, std::int64_t j) {
      if (factor == T{}) return T{};
      if (op == CUBLAS_OP_N) return factor * x[i + j * ld];
      return factor * (op == CUBLAS_OP_C ? conjugate(x[j + i * ld]) : x[j + i * ld]);
    };
    T const fa = al.get(), fb = be.get();
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < m; ++i)
        c[i + j * ldc] = term(fa, transa, a, lda, i, j) + term(fb, transb, b, ldb, i, j);
  });
}

// C = A diag(x) (right) or diag(x) A (left).
template <class T, class I>
cublasStatus_t dgmm(Entry entry, cublasSideMode_t side, I m, I n, const T* a, I lda, const T* x, I incx, T* c, I ldc) {
  Call call(entry);
  call.options(side).dims({m, n}).leading(lda, m).leading(ldc, m);
  if (call.done(m == 0 || n == 0)) return call.status();
  I const length = side == CUBLAS_SIDE_LEFT ? m : n;
  call.reads_matrix(a, m, n, lda).reads_vector(x, length, incx).writes_matrix(c, m, n, ldc);
  return call.run([=] {
    Strided<const T> const xs(x, length, incx);
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < m; ++i) c[i + j * ldc] = a[i + j * lda] * xs[side == CUBLAS_SIDE_LEFT ? i : j];
  });
}

template <class T, class I>
cublasStatus_t tpttr(Entry entry, cublasFillMode_t uplo, I n, const T* ap, T* a, I lda) {
  Call call(entry);
  call.options(uplo).dims({n}).leading(lda, n);
  if (call.done(n == 0)) return call.status();
  call.reads_vector(ap, packed_elements(n), 1).writes_matrix(a, n, n, lda);
  return call.run([=] {
    for_packed(uplo, n,
               [=](auto i, auto j, auto position) { a[i + j * static_cast<std::int64_t>(lda)] = ap[position]; });
  });
}
template <class T, class I>
cublasStatus_t trttp(Entry entry, cublasFillMode_t uplo, I n, const T* a, I lda, T* ap) {
  Call call(entry);
  call.options(uplo).dims({n}).leading(lda, n);
  if (call.done(n == 0)) return call.status();
  call.reads_matrix(a, n, n, lda).writes_vector(ap, packed_elements(n), 1);
  return call.run([=] {
    for_packed(uplo, n,
               [=](auto i, auto j, auto position) { ap[position] = a[i + j * static_cast<std::int64_t>(lda)]; });
  });
}

// One product of a batch. Mixed types go through gemm: y' = x' op(A)', vectors being matrices of one row.
template <class S, class X, class Y>
void matrix_vector(cublasOperation_t trans, std::int64_t m, std::int64_t n, S alpha, const X* a, std::int64_t lda,
                   const X* x, std::int64_t incx, S beta, Y* y, std::int64_t incy) {
  if constexpr (std::is_same_v<X, S>) {
    cblas(routine::gemv<X>(), CblasColMajor, trans, m, n, alpha, a, lda, x, incx, beta, y, incy);
  } else {
    bool const plain = trans == CUBLAS_OP_N;
    Gemm gemm{.transb = plain ? CUBLAS_OP_T : CUBLAS_OP_N, .m = 1, .n = plain ? m : n, .k = plain ? n : m};
    gemm.a = {x, type_code<X>(), incx};
    gemm.b = {a, type_code<X>(), lda};
    gemm.c = gemm.d = {y, type_code<Y>(), incy};
    std::memcpy(gemm.alpha.value, &alpha, sizeof alpha);
    std::memcpy(gemm.beta.value, &beta, sizeof beta);
    compute(gemm);
  }
}

template <class S, class X>
bool can_step(std::int64_t incx, std::int64_t incy) {
  return std::is_same_v<X, S> || (incx > 0 && incy > 0);
}

template <class S, class X, class Y, class I>
cublasStatus_t gemv_array(Entry entry, cublasOperation_t trans, I m, I n, const S* alpha, const X* const* a, I lda,
                          const X* const* x, I incx, const S* beta, Y* const* y, I incy, I count) {
  Call call(entry);
  call.options(trans).dims({m, n, count}).leading(lda, m).increments({incx, incy});
  auto const al = call.scalar(alpha);
  auto const be = call.scalar(beta);
  if (call.done(m == 0 || n == 0 || count == 0)) return call.status();
  if (!can_step<S, X>(incx, incy)) return not_supported("negative increments in mixed types");
  call.reads_vector(a, count, 1).reads_vector(x, count, 1).reads_vector(y, count, 1);
  return call.run([=] {
    for (I i = 0; i < count; ++i) matrix_vector(trans, m, n, al.get(), a[i], lda, x[i], incx, be.get(), y[i], incy);
  });
}

template <class S, class X, class Y, class I>
cublasStatus_t gemv_strided(Entry entry, cublasOperation_t trans, I m, I n, const S* alpha, const X* a, I lda,
                            long long stride_a, const X* x, I incx, long long stride_x, const S* beta, Y* y, I incy,
                            long long stride_y, I count) {
  Call call(entry);
  call.options(trans).dims({m, n, count}).leading(lda, m).increments({incx, incy});
  auto const al = call.scalar(alpha);
  auto const be = call.scalar(beta);
  if (call.done(m == 0 || n == 0 || count == 0)) return call.status();
  if (!can_step<S, X>(incx, incy)) return not_supported("negative increments in mixed types");
  bool const plain = trans == CUBLAS_OP_N;
  auto const all = [&](std::uint64_t one, long long stride, std::size_t element_bytes) {
    return static_cast<std::uint64_t>(count - 1) * static_cast<std::uint64_t>(stride < 0 ? 0 : stride) * element_bytes +
           one;
  };
  call.reads(a, all(Call::matrix_bytes(m, n, lda, sizeof(X)), stride_a, sizeof(X)));
  call.reads(x, all(Call::vector_bytes(plain ? n : m, incx, sizeof(X)), stride_x, sizeof(X)));
  call.writes(y, all(Call::vector_bytes(plain ? m : n, incy, sizeof(Y)), stride_y, sizeof(Y)));
  return call.run([=] {
    for (I i = 0; i < count; ++i)
      matrix_vector(trans, m, n, al.get(), a + i * stride_a, lda, x + i * stride_x, incx, be.get(), y + i * stride_y,
                    incy);
  });
}

}  // namespace tidemark::softgpu::blas::api
