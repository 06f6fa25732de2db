// SPDX-License-Identifier: Apache-2.0
// The matrix product at the heart of cuBLAS and cuBLASLt: D = alpha op(A) op(B) + beta C, column-major, in any of the
// documented combinations of types. fp32, fp64 and complex go to OpenBLAS as they are. Everything else is converted in
// tiles to fp32 in scratch of at most 32 MiB per thread, multiplied by OpenBLAS' sgemm, and rounded once at the end.
// int8 is exact: a product is 1024 deep, so that no partial sum leaves the 24 bits in which a float counts.
#pragma once
#include <cstdint>

#include "softgpu/blas/scalar.h"

namespace tidemark::softgpu::blas {

struct Matrix {
  const void* data = nullptr;
  cudaDataType type = CUDA_R_32F;
  std::int64_t ld = 0;
};

inline bool is_transposed(cublasOperation_t op) {
  return op == CUBLAS_OP_T || op == CUBLAS_OP_C;
}

struct Gemm {
  cublasOperation_t transa = CUBLAS_OP_N, transb = CUBLAS_OP_N;
  std::int64_t m = 0, n = 0, k = 0;
  Matrix a, b, c, d;  // d may be c; d's memory is written
  bool integer_sums = false;
  AnyScalar alpha, beta;
};

// A part of the result before it is rounded to D's type: float, or double where D is. Rows and columns are D's.
struct Tile {
  void* data;
  bool is_double;
  std::int64_t ld, row, col, rows, cols;
};
// Sees every tile once and may change it (cuBLASLt's epilogues).
struct TileHook {
  void (*apply)(void* state, const Tile& tile) = nullptr;
  void* state = nullptr;
};

void compute(const Gemm& gemm, const TileHook& hook = {});

// Which compute type, scale type and matrix types go together.
struct GemmTypes {
  cublasComputeType_t compute;
  cudaDataType a, b, c;
};
bool documented_types(const GemmTypes& types);
cudaDataType scale_type_of(const GemmTypes& types);
bool is_integer(cublasComputeType_t compute);

}  // namespace tidemark::softgpu::blas
