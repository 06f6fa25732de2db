// SPDX-License-Identifier: Apache-2.0
// One cublasLtMatmul: everything that its work needs, by value.
#pragma once
#include "softgpu/blas/gemm.h"
#include "softgpu/blas/lt/descriptor.h"

namespace tidemark::softgpu::blas {

struct Operand {
  const void* data = nullptr;  // the matrix, or the device array of matrix addresses
  Layout layout;
};

struct Matmul {
  MatmulDesc desc;
  Operand a, b, c, d;
  AnyScalar alpha, beta;
  const void* alpha_vector = nullptr;  // one factor per row of D, read when the work runs

  std::int64_t rows() const { return static_cast<std::int64_t>(d.layout.rows); }
  std::int64_t cols() const { return static_cast<std::int64_t>(d.layout.cols); }
  std::int64_t depth() const {
    return static_cast<std::int64_t>(desc.transa == CUBLAS_OP_N ? a.layout.cols : a.layout.rows);
  }
  cudaDataType bias_type() const;
  cudaDataType aux_type() const;
};

// Whether descriptors and layouts fit together and can be computed; shared with the heuristic.
cublasStatus_t check_matmul(const MatmulDesc& desc, const Layout& a, const Layout& b, const Layout& c, const Layout& d);

// The matrix of one batch.
const void* matrix_in_batch(const Operand& operand, std::int64_t index);
std::uint64_t operand_bytes(const Operand& operand);

// What a postprocessing does, taken apart.
struct Epilogue {
  bool bias, relu, gelu, drelu, dgelu, bias_gradient, aux_out, gradient_a, gradient_b;
};
Epilogue epilogue_of(std::uint32_t code);
bool is_epilogue(std::uint32_t code);
bool needs_aux(const Epilogue& epilogue);
bool needs_bias(const Epilogue& epilogue);

void execute(const Matmul& matmul);

}  // namespace tidemark::softgpu::blas
