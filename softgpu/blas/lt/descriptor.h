// SPDX-License-Identifier: Apache-2.0
// cuBLASLt's descriptors. Programs may keep them in memory of their own (the opaque structs of cublasLt.h), so each is
// a plain struct that fits into its opaque one; attributes are a table of places in it.
#pragma once
#include <cstddef>
#include <cstdint>

#include "softgpu/blas/vendor.h"

namespace tidemark::softgpu::blas {

struct Layout {
  std::int32_t type = 0;
  std::int32_t order = CUBLASLT_ORDER_COL;
  std::uint64_t rows = 0, cols = 0;
  std::int64_t ld = 0;
  std::int32_t batch_count = 1;
  std::int32_t batch_mode = CUBLASLT_BATCH_MODE_STRIDED;
  std::int64_t batch_stride = 0;
  std::int64_t plane_offset = 0;
};

struct MatmulDesc {
  std::int32_t compute = 0, scale = 0, pointer_mode = CUBLASLT_POINTER_MODE_HOST;
  std::int32_t transa = CUBLAS_OP_N, transb = CUBLAS_OP_N, transc = CUBLAS_OP_N, fill = CUBLAS_FILL_MODE_FULL;
  std::uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  void* bias = nullptr;
  std::int64_t bias_stride = 0;
  void* aux = nullptr;
  std::int64_t aux_ld = 0, aux_stride = 0, alpha_stride = 0;
  std::int32_t sm_count = 0, aux_type = -1, bias_type = -1;
  const void *a_scale = nullptr, *b_scale = nullptr, *c_scale = nullptr, *d_scale = nullptr;
  void *d_amax = nullptr, *aux_amax = nullptr;
  const void* aux_scale = nullptr;
  std::int32_t a_scale_mode = 0, b_scale_mode = 0, c_scale_mode = 0, d_scale_mode = 0, aux_scale_mode = 0;
  std::int32_t d_out_scale_mode = 0;
  void* d_out_scale = nullptr;
  void* emulation = nullptr;
  std::int8_t fast_accumulation = 0;
};

struct TransformDesc {
  std::int32_t scale = 0, pointer_mode = CUBLASLT_POINTER_MODE_HOST, transa = CUBLAS_OP_N, transb = CUBLAS_OP_N;
};

struct Preference {
  std::uint64_t max_workspace_bytes = 0;
  std::uint64_t implementations = ~std::uint64_t{0};
  std::uint32_t search_mode = CUBLASLT_SEARCH_BEST_FIT, reduction_schemes = CUBLASLT_REDUCTION_SCHEME_MASK;
  std::uint32_t align_a = 256, align_b = 256, align_c = 256, align_d = 256;
  float max_waves = 0;
};

struct EmulationDesc {
  std::int32_t strategy = 0, special_values = CUDA_EMULATION_SPECIAL_VALUES_SUPPORT_DEFAULT, mantissa_control = 0;
  std::int32_t max_mantissa_bits = 0, mantissa_bit_offset = 0;
  std::int32_t* mantissa_bit_count = nullptr;
};

struct Algo {
  static constexpr std::int32_t kId = 0;  // there is one algorithm
  std::int32_t id = kId;
  std::uint32_t tile = 0;
  std::int32_t split_k = 1;
  std::uint32_t reduction = 0, swizzling = 0, custom = 0, stages = 0;
  std::uint16_t inner_shape = 0, cluster_shape = 0;
};

static_assert(sizeof(Layout) <= sizeof(cublasLtMatrixLayoutOpaque_t));
static_assert(sizeof(MatmulDesc) <= sizeof(cublasLtMatmulDescOpaque_t));
static_assert(sizeof(TransformDesc) <= sizeof(cublasLtMatrixTransformDescOpaque_t));
static_assert(sizeof(Preference) <= sizeof(cublasLtMatmulPreferenceOpaque_t));
static_assert(sizeof(EmulationDesc) <= sizeof(cublasLtEmulationDescOpaque_t));
static_assert(sizeof(Algo) <= sizeof(cublasLtMatmulAlgo_t));

inline const Layout& as_layout(cublasLtMatrixLayout_t opaque) {
  return *reinterpret_cast<const Layout*>(opaque);
}
inline const MatmulDesc& as_desc(cublasLtMatmulDesc_t opaque) {
  return *reinterpret_cast<const MatmulDesc*>(opaque);
}

}  // namespace tidemark::softgpu::blas
