// SPDX-License-Identifier: Apache-2.0
// All of cuBLAS' matrix products are one: single, strided or pointer-array batches, typed or with types given (Ex).
#pragma once
#include "softgpu/blas/call.h"
#include "softgpu/blas/gemm.h"

namespace tidemark::softgpu::blas::api {

struct GemmOperand {
  const void* data;  // the matrix, or in an array batch the device array of matrix addresses
  cudaDataType type;
  std::int64_t ld;
  std::int64_t stride = 0;
};
enum class Batch { Strided, PointerArray };
struct GemmArgs {
  cublasOperation_t transa, transb;
  std::int64_t m, n, k;
  const void* alpha;
  GemmOperand a, b;
  const void* beta;
  GemmOperand c;
  cublasComputeType_t compute;
  Batch batch = Batch::Strided;
  std::int64_t batch_count = 1;
};
cublasStatus_t gemm_any(Entry entry, const GemmArgs& args);

template <class T>
constexpr cublasComputeType_t compute_type() {
  if constexpr (std::is_same_v<Real<T>, double>) return CUBLAS_COMPUTE_64F;
  if constexpr (std::is_same_v<T, __half>) return CUBLAS_COMPUTE_16F;
  return CUBLAS_COMPUTE_32F;
}

template <class T, class I>
cublasStatus_t gemm(Entry entry, cublasOperation_t transa, cublasOperation_t transb, I m, I n, I k, const T* alpha,
                    const T* a, I lda, const T* b, I ldb, const T* beta, T* c, I ldc) {
  constexpr cudaDataType kType = type_code<T>();
  return gemm_any(
      entry,
      {transa, transb, m, n, k, alpha, {a, kType, lda}, {b, kType, ldb}, beta, {c, kType, ldc}, compute_type<T>()});
}
template <class T, class I>
cublasStatus_t gemm_strided(Entry entry, cublasOperation_t transa, cublasOperation_t transb, I m, I n, I k,
                            const T* alpha, const T* a, I lda, long long stride_a, const T* b, I ldb,
                            long long stride_b, const T* beta, T* c, I ldc, long long stride_c, I count) {
  constexpr cudaDataType kType = type_code<T>();
  return gemm_any(entry, {transa,
                          transb,
                          m,
                          n,
                          k,
                          alpha,
                          {a, kType, lda, stride_a},
                          {b, kType, ldb, stride_b},
                          beta,
                          {c, kType, ldc, stride_c},
                          compute_type<T>(),
                          Batch::Strided,
                          count});
}
template <class T, class I>
cublasStatus_t gemm_array(Entry entry, cublasOperation_t transa, cublasOperation_t transb, I m, I n, I k,
                          const T* alpha, const T* const* a, I lda, const T* const* b, I ldb, const T* beta,
                          T* const* c, I ldc, I count) {
  constexpr cudaDataType kType = type_code<T>();
  return gemm_any(entry, {transa,
                          transb,
                          m,
                          n,
                          k,
                          alpha,
                          {a, kType, lda},
                          {b, kType, ldb},
                          beta,
                          {c, kType, ldc},
                          compute_type<T>(),
                          Batch::PointerArray,
                          count});
}

// SgemmEx, CgemmEx and their 3m twins: the scale type is in the name.
template <class S, class I>
cublasStatus_t gemm_ex_scaled(Entry entry, cublasOperation_t transa, cublasOperation_t transb, I m, I n, I k,
                              const S* alpha, const void* a, cudaDataType at, I lda, const void* b, cudaDataType bt,
                              I ldb, const S* beta, void* c, cudaDataType ct, I ldc) {
  GemmTypes const types{CUBLAS_COMPUTE_32F, at, bt, ct};
  if (documented_types(types) && scale_type_of(types) != type_code<S>()) return CUBLAS_STATUS_NOT_SUPPORTED;
  return gemm_any(entry,
                  {transa, transb, m, n, k, alpha, {a, at, lda}, {b, bt, ldb}, beta, {c, ct, ldc}, CUBLAS_COMPUTE_32F});
}
template <class I>
cublasStatus_t gemm_ex(Entry entry, cublasOperation_t transa, cublasOperation_t transb, I m, I n, I k,
                       const void* alpha, const void* a, cudaDataType at, I lda, const void* b, cudaDataType bt, I ldb,
                       const void* beta, void* c, cudaDataType ct, I ldc, cublasComputeType_t compute,
                       cublasGemmAlgo_t) {
  return gemm_any(entry, {transa, transb, m, n, k, alpha, {a, at, lda}, {b, bt, ldb}, beta, {c, ct, ldc}, compute});
}
template <class I>
cublasStatus_t gemm_strided_ex(Entry entry, cublasOperation_t transa, cublasOperation_t transb, I m, I n, I k,
                               const void* alpha, const void* a, cudaDataType at, I lda, long long stride_a,
                               const void* b, cudaDataType bt, I ldb, long long stride_b, const void* beta, void* c,
                               cudaDataType ct, I ldc, long long stride_c, I count, cublasComputeType_t compute,
                               cublasGemmAlgo_t) {
  return gemm_any(entry, {transa,
                          transb,
                          m,
                          n,
                          k,
                          alpha,
                          {a, at, lda, stride_a},
                          {b, bt, ldb, stride_b},
                          beta,
                          {c, ct, ldc, stride_c},
                          compute,
                          Batch::Strided,
                          count});
}
template <class I>
cublasStatus_t gemm_array_ex(Entry entry, cublasOperation_t transa, cublasOperation_t transb, I m, I n, I k,
                             const void* alpha, const void* const* a, cudaDataType at, I lda, const void* const* b,
                             cudaDataType bt, I ldb, const void* beta, void* const* c, cudaDataType ct, I ldc, I count,
                             cublasComputeType_t compute, cublasGemmAlgo_t) {
  return gemm_any(entry, {transa,
                          transb,
                          m,
                          n,
                          k,
                          alpha,
                          {a, at, lda},
                          {b, bt, ldb},
                          beta,
                          {c, ct, ldc},
                          compute,
                          Batch::PointerArray,
                          count});
}

// Groups: sizes are host arrays, matrix addresses one device array through all groups. One item of work per group.
template <class I>
cublasStatus_t gemm_grouped_ex(Entry entry, const cublasOperation_t* transa, const cublasOperation_t* transb,
                               const I* m, const I* n, const I* k, const void* alpha, const void* const* a,
                               cudaDataType at, const I* lda, const void* const* b, cudaDataType bt, const I* ldb,
                               const void* beta, void* const* c, cudaDataType ct, const I* ldc, I groups,
                               const I* group_size, cublasComputeType_t compute) {
  Call call(entry);
  call.require(groups >= 0);
  if (groups > 0)
    for (const void* const p :
         {static_cast<const void*>(transa), static_cast<const void*>(transb), static_cast<const void*>(m),
          static_cast<const void*>(n), static_cast<const void*>(k), alpha, static_cast<const void*>(a),
          static_cast<const void*>(b), beta, static_cast<const void*>(c), static_cast<const void*>(lda),
          static_cast<const void*>(ldb), static_cast<const void*>(ldc), static_cast<const void*>(group_size)})
      call.require(p != nullptr);
  if (!call.ok()) return call.status();
  std::size_t const scalar_bytes = type_bytes(scale_type_of({compute, at, bt, ct}));
  std::int64_t first = 0;
  for (I g = 0; g < groups; first += group_size[g], ++g) {
    auto const scalar_at = [&](const void* all) {
      return static_cast<const std::byte*>(all) + static_cast<std::size_t>(g) * scalar_bytes;
    };
    cublasStatus_t const status = gemm_any(entry, {transa[g],
                                                   transb[g],
                                                   m[g],
                                                   n[g],
                                                   k[g],
                                                   scalar_at(alpha),
                                                   {a + first, at, lda[g]},
                                                   {b + first, bt, ldb[g]},
                                                   scalar_at(beta),
                                                   {c + first, ct, ldc[g]},
                                                   compute,
                                                   Batch::PointerArray,
                                                   group_size[g]});
    if (status != CUBLAS_STATUS_SUCCESS) return status;
  }
  return CUBLAS_STATUS_SUCCESS;
}
template <class T, class I>
cublasStatus_t gemm_grouped(Entry entry, const cublasOperation_t* transa, const cublasOperation_t* transb, const I* m,
                            const I* n, const I* k, const T* alpha, const T* const* a, const I* lda, const T* const* b,
                            const I* ldb, const T* beta, T* const* c, const I* ldc, I groups, const I* group_size) {
  constexpr cudaDataType kType = type_code<T>();
  return gemm_grouped_ex(entry, transa, transb, m, n, k, alpha, reinterpret_cast<const void* const*>(a), kType, lda,
                         reinterpret_cast<const void* const*>(b), kType, ldb, beta, reinterpret_cast<void* const*>(c),
                         kType, ldc, groups, group_size, compute_type<T>());
}

}  // namespace tidemark::softgpu::blas::api
