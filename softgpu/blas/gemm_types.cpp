// SPDX-License-Identifier: Apache-2.0
// The combinations of types in the documentation of cublasGemmEx (A and B are always of one type).
#include <algorithm>
#include <array>

#include "softgpu/blas/gemm.h"

namespace tidemark::softgpu::blas {
namespace {

enum class Kind { Half, Integer, Float, FastFloat, Double, Unknown };

Kind kind_of(cublasComputeType_t compute) {
  switch (compute) {
    case CUBLAS_COMPUTE_16F:
    case CUBLAS_COMPUTE_16F_PEDANTIC: return Kind::Half;
    case CUBLAS_COMPUTE_32I:
    case CUBLAS_COMPUTE_32I_PEDANTIC: return Kind::Integer;
    case CUBLAS_COMPUTE_32F:
    case CUBLAS_COMPUTE_32F_PEDANTIC: return Kind::Float;
    case CUBLAS_COMPUTE_32F_FAST_16F:
    case CUBLAS_COMPUTE_32F_FAST_16BF:
    case CUBLAS_COMPUTE_32F_FAST_TF32:
    case CUBLAS_COMPUTE_32F_EMULATED_16BFX9: return Kind::FastFloat;
    case CUBLAS_COMPUTE_64F:
    case CUBLAS_COMPUTE_64F_PEDANTIC:
    case CUBLAS_COMPUTE_64F_EMULATED_FIXEDPOINT: return Kind::Double;
    default: return Kind::Unknown;
  }
}

struct Row {
  Kind kind;
  cudaDataType scale, ab, c;
};
constexpr std::array kRows = {
    Row{Kind::Half, CUDA_R_16F, CUDA_R_16F, CUDA_R_16F},      Row{Kind::Integer, CUDA_R_32I, CUDA_R_8I, CUDA_R_32I},
    Row{Kind::Integer, CUDA_R_32F, CUDA_R_8I, CUDA_R_8I},     Row{Kind::Float, CUDA_R_32F, CUDA_R_16BF, CUDA_R_16BF},
    Row{Kind::Float, CUDA_R_32F, CUDA_R_16F, CUDA_R_16F},     Row{Kind::Float, CUDA_R_32F, CUDA_R_8I, CUDA_R_32F},
    Row{Kind::Float, CUDA_R_32F, CUDA_R_16BF, CUDA_R_32F},    Row{Kind::Float, CUDA_R_32F, CUDA_R_16F, CUDA_R_32F},
    Row{Kind::Float, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F},     Row{Kind::Float, CUDA_C_32F, CUDA_C_32F, CUDA_C_32F},
    Row{Kind::FastFloat, CUDA_R_32F, CUDA_R_32F, CUDA_R_32F}, Row{Kind::FastFloat, CUDA_C_32F, CUDA_C_32F, CUDA_C_32F},
    Row{Kind::Double, CUDA_R_64F, CUDA_R_64F, CUDA_R_64F},    Row{Kind::Double, CUDA_C_64F, CUDA_C_64F, CUDA_C_64F},
};

const Row* find(const GemmTypes& types) {
  if (types.a != types.b) return nullptr;
  Kind const kind = kind_of(types.compute);
  auto const* const row = std::find_if(
      kRows.begin(), kRows.end(), [&](const Row& r) { return r.kind == kind && r.ab == types.a && r.c == types.c; });
  return row == kRows.end() ? nullptr : row;
}

}  // namespace

bool documented_types(const GemmTypes& types) {
  return find(types) != nullptr;
}

cudaDataType scale_type_of(const GemmTypes& types) {
  Row const* const row = find(types);
  return row == nullptr ? CUDA_R_32F : row->scale;
}

bool is_integer(cublasComputeType_t compute) {
  return kind_of(compute) == Kind::Integer;
}

}  // namespace tidemark::softgpu::blas
