// SPDX-License-Identifier: Apache-2.0
#include "softgpu/blas/lt/descriptor.h"

#include <cstring>
#include <mutex>
#include <new>
#include <span>
#include <unordered_set>

namespace tidemark::softgpu::blas {
namespace {

struct Attribute {
  int id;
  std::size_t offset, bytes;
  bool read_only = false;
};
#define SOFTGPU_ATTRIBUTE(id, type, field)         \
  Attribute {                                      \
    id, offsetof(type, field), sizeof(type::field) \
  }

constexpr Attribute kLayout[] = {
    SOFTGPU_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_TYPE, Layout, type),
    SOFTGPU_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_ORDER, Layout, order),
    SOFTGPU_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_ROWS, Layout, rows),
    SOFTGPU_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_COLS, Layout, cols),
    SOFTGPU_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_LD, Layout, ld),
    SOFTGPU_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, Layout, batch_count),
    SOFTGPU_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, Layout, batch_stride),
    SOFTGPU_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_PLANE_OFFSET, Layout, plane_offset),
    SOFTGPU_ATTRIBUTE(CUBLASLT_MATRIX_LAYOUT_BATCH_MODE, Layout, batch_mode),
};
constexpr Attribute kMatmul[] = {
    SOFTGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_COMPUTE_TYPE, MatmulDesc, compute),
    SOFTGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_SCALE_TYPE, MatmulDesc, scale),
    SOFTGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_POINTER_MODE, MatmulDesc, pointer_mode),
    SOFTGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_TRANSA, MatmulDesc, transa),
    SOFTGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_TRANSB, MatmulDesc, transb),
    SOFTGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_TRANSC, MatmulDesc, transc),
    SOFTGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_FILL_MODE, MatmulDesc, fill),
    SOFTGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE, MatmulDesc, epilogue),
    SOFTGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_BIAS_POINTER, MatmulDesc, bias),
    SOFTGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE, MatmulDesc, bias_stride),
    SOFTGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, MatmulDesc, aux),
    SOFTGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, MatmulDesc, aux_ld),
    SOFTGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_BATCH_STRIDE, MatmulDesc, aux_stride),
    SOFTGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_ALPHA_VECTOR_BATCH_STRIDE, MatmulDesc, alpha_stride),
    SOFTGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, MatmulDesc, sm_count),
    SOFTGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_A_SCALE_POINTER, MatmulDesc, a_scale),
    SOFTGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_B_SCALE_POINTER, MatmulDesc, b_scale),
    SOFTGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_C_SCALE_POINTER, MatmulDesc, c_scale),
    SOFTGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_D_SCALE_POINTER, MatmulDesc, d_scale),
    SOFTGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_AMAX_D_POINTER, MatmulDesc, d_amax),
    SOFTGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_DATA_TYPE, MatmulDesc, aux_type),
    SOFTGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_POINTER, MatmulDesc, aux_scale),
    SOFTGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_AMAX_POINTER, MatmulDesc, aux_amax),
    SOFTGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_FAST_ACCUM, MatmulDesc, fast_accumulation),
    SOFTGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, MatmulDesc, bias_type),
    SOFTGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_A_SCALE_MODE, MatmulDesc, a_scale_mode),
    SOFTGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_B_SCALE_MODE, MatmulDesc, b_scale_mode),
    SOFTGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_C_SCALE_MODE, MatmulDesc, c_scale_mode),
    SOFTGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_D_SCALE_MODE, MatmulDesc, d_scale_mode),
    SOFTGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_SCALE_MODE, MatmulDesc, aux_scale_mode),
    SOFTGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_D_OUT_SCALE_POINTER, MatmulDesc, d_out_scale),
    SOFTGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_D_OUT_SCALE_MODE, MatmulDesc, d_out_scale_mode),
    SOFTGPU_ATTRIBUTE(CUBLASLT_MATMUL_DESC_EMULATION_DESCRIPTOR, MatmulDesc, emulation),
};
constexpr Attribute kTransform[] = {
    SOFTGPU_ATTRIBUTE(CUBLASLT_MATRIX_TRANSFORM_DESC_SCALE_TYPE, TransformDesc, scale),
    SOFTGPU_ATTRIBUTE(CUBLASLT_MATRIX_TRANSFORM_DESC_POINTER_MODE, TransformDesc, pointer_mode),
    SOFTGPU_ATTRIBUTE(CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSA, TransformDesc, transa),
    SOFTGPU_ATTRIBUTE(CUBLASLT_MATRIX_TRANSFORM_DESC_TRANSB, TransformDesc, transb),
};
constexpr Attribute kPreference[] = {
    SOFTGPU_ATTRIBUTE(CUBLASLT_MATMUL_PREF_SEARCH_MODE, Preference, search_mode),
    SOFTGPU_ATTRIBUTE(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, Preference, max_workspace_bytes),
    SOFTGPU_ATTRIBUTE(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, Preference, reduction_schemes),
    SOFTGPU_ATTRIBUTE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, Preference, align_a),
    SOFTGPU_ATTRIBUTE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, Preference, align_b),
    SOFTGPU_ATTRIBUTE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, Preference, align_c),
    SOFTGPU_ATTRIBUTE(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, Preference, align_d),
    SOFTGPU_ATTRIBUTE(CUBLASLT_MATMUL_PREF_MAX_WAVES_COUNT, Preference, max_waves),
    SOFTGPU_ATTRIBUTE(CUBLASLT_MATMUL_PREF_IMPL_MASK, Preference, implementations),
};
constexpr Attribute kEmulation[] = {
    SOFTGPU_ATTRIBUTE(CUBLASLT_EMULATION_DESC_STRATEGY, EmulationDesc, strategy),
    SOFTGPU_ATTRIBUTE(CUBLASLT_EMULATION_DESC_SPECIAL_VALUES_SUPPORT, EmulationDesc, special_values),
    SOFTGPU_ATTRIBUTE(CUBLASLT_EMULATION_DESC_FIXEDPOINT_MANTISSA_CONTROL, EmulationDesc, mantissa_control),
    SOFTGPU_ATTRIBUTE(CUBLASLT_EMULATION_DESC_FIXEDPOINT_MAX_MANTISSA_BIT_COUNT, EmulationDesc, max_mantissa_bits),
    SOFTGPU_ATTRIBUTE(CUBLASLT_EMULATION_DESC_FIXEDPOINT_MANTISSA_BIT_OFFSET, EmulationDesc, mantissa_bit_offset),
    SOFTGPU_ATTRIBUTE(CUBLASLT_EMULATION_DESC_FIXEDPOINT_MANTISSA_BIT_COUNT_POINTER, EmulationDesc, mantissa_bit_count),
};
constexpr Attribute kAlgo[] = {
    Attribute{CUBLASLT_ALGO_CONFIG_ID, offsetof(Algo, id), sizeof(Algo::id), true},
    SOFTGPU_ATTRIBUTE(CUBLASLT_ALGO_CONFIG_TILE_ID, Algo, tile),
    SOFTGPU_ATTRIBUTE(CUBLASLT_ALGO_CONFIG_SPLITK_NUM, Algo, split_k),
    SOFTGPU_ATTRIBUTE(CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, Algo, reduction),
    SOFTGPU_ATTRIBUTE(CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, Algo, swizzling),
    SOFTGPU_ATTRIBUTE(CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, Algo, custom),
    SOFTGPU_ATTRIBUTE(CUBLASLT_ALGO_CONFIG_STAGES_ID, Algo, stages),
    SOFTGPU_ATTRIBUTE(CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID, Algo, inner_shape),
    SOFTGPU_ATTRIBUTE(CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, Algo, cluster_shape),
};
#undef SOFTGPU_ATTRIBUTE

const Attribute* find(std::span<const Attribute> table, int id) {
  for (auto const& attribute : table)
    if (attribute.id == id) return &attribute;
  return nullptr;
}

cublasStatus_t set(std::span<const Attribute> table, void* object, int id, const void* value, std::size_t bytes) {
  Attribute const* const attribute = find(table, id);
  if (object == nullptr || value == nullptr || attribute == nullptr || attribute->read_only ||
      bytes != attribute->bytes)
    return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(static_cast<std::byte*>(object) + attribute->offset, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

// A size of 0 asks how many bytes are needed.
cublasStatus_t get(std::span<const Attribute> table, const void* object, int id, void* value, std::size_t bytes,
                   std::size_t* written) {
  Attribute const* const attribute = find(table, id);
  if (object == nullptr || attribute == nullptr || (bytes == 0 && written == nullptr))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (bytes != 0) {
    if (value == nullptr || bytes != attribute->bytes) return CUBLAS_STATUS_INVALID_VALUE;
    std::memcpy(value, static_cast<const std::byte*>(object) + attribute->offset, bytes);
  }
  if (written != nullptr) *written = attribute->bytes;
  return CUBLAS_STATUS_SUCCESS;
}

// Descriptors that were created and not destroyed: anything else is not ours to free.
class Created {
 public:
  void add(const void* object) {
    std::lock_guard const lock(mutex_);
    objects_.insert(object);
  }
  bool remove(const void* object) {
    std::lock_guard const lock(mutex_);
    return objects_.erase(object) != 0;
  }

 private:
  std::mutex mutex_;
  std::unordered_set<const void*> objects_;
};
Created& created() {
  static Created& instance = *new Created;  // leaked: programs destroy descriptors while they end
  return instance;
}

// Puts a descriptor into memory of the opaque struct's size.
template <class Desc, class Opaque>
cublasStatus_t place(Opaque* at, std::size_t bytes, const Desc& desc) {
  if (at == nullptr || bytes < sizeof(Opaque)) return CUBLAS_STATUS_INVALID_VALUE;
  *at = {};
  new (at) Desc(desc);
  return CUBLAS_STATUS_SUCCESS;
}
template <class Desc, class Opaque>
cublasStatus_t create(Opaque** out, const Desc& desc) {
  if (out == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  *out = new (std::nothrow) Opaque;
  if (*out == nullptr) return CUBLAS_STATUS_ALLOC_FAILED;
  created().add(*out);
  return place(*out, sizeof(Opaque), desc);
}
template <class Opaque>
cublasStatus_t destroy(Opaque* object) {
  if (object != nullptr && !created().remove(object)) return CUBLAS_STATUS_INVALID_VALUE;
  delete object;
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace
}  // namespace tidemark::softgpu::blas

using namespace tidemark::softgpu::blas;

extern "C" {

cublasStatus_t cublasLtMatrixLayoutInit_internal(cublasLtMatrixLayout_t at, size_t bytes, cudaDataType type,
                                                 uint64_t rows, uint64_t cols, int64_t ld) {
  return place(at, bytes, Layout{.type = type, .rows = rows, .cols = cols, .ld = ld});
}
cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* out, cudaDataType type, uint64_t rows, uint64_t cols,
                                          int64_t ld) {
  return create(out, Layout{.type = type, .rows = rows, .cols = cols, .ld = ld});
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  return destroy(layout);
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t id,
                                                const void* value, size_t bytes) {
  return set(kLayout, layout, id, value, bytes);
}
cublasStatus_t cublasLtMatrixLayoutGetAttribute(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t id,
                                                void* value, size_t bytes, size_t* written) {
  return get(kLayout, layout, id, value, bytes, written);
}

cublasStatus_t cublasLtMatmulDescInit_internal(cublasLtMatmulDesc_t at, size_t bytes, cublasComputeType_t compute,
                                               cudaDataType_t scale) {
  return place(at, bytes, MatmulDesc{.compute = compute, .scale = scale});
}
cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* out, cublasComputeType_t compute, cudaDataType_t scale) {
  return create(out, MatmulDesc{.compute = compute, .scale = scale});
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) {
  return destroy(desc);
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t id,
                                              const void* value, size_t bytes) {
  return set(kMatmul, desc, id, value, bytes);
}
cublasStatus_t cublasLtMatmulDescGetAttribute(cublasLtMatmulDesc_t desc, cublasLtMatmulDescAttributes_t id, void* value,
                                              size_t bytes, size_t* written) {
  return get(kMatmul, desc, id, value, bytes, written);
}

cublasStatus_t cublasLtMatrixTransformDescInit_internal(cublasLtMatrixTransformDesc_t at, size_t bytes,
                                                        cudaDataType scale) {
  return place(at, bytes, TransformDesc{.scale = scale});
}
cublasStatus_t cublasLtMatrixTransformDescCreate(cublasLtMatrixTransformDesc_t* out, cudaDataType scale) {
  return create(out, TransformDesc{.scale = scale});
}
cublasStatus_t cublasLtMatrixTransformDescDestroy(cublasLtMatrixTransformDesc_t desc) {
  return destroy(desc);
}
cublasStatus_t cublasLtMatrixTransformDescSetAttribute(cublasLtMatrixTransformDesc_t desc,
                                                       cublasLtMatrixTransformDescAttributes_t id, const void* value,
                                                       size_t bytes) {
  return set(kTransform, desc, id, value, bytes);
}
cublasStatus_t cublasLtMatrixTransformDescGetAttribute(cublasLtMatrixTransformDesc_t desc,
                                                       cublasLtMatrixTransformDescAttributes_t id, void* value,
                                                       size_t bytes, size_t* written) {
  return get(kTransform, desc, id, value, bytes, written);
}

cublasStatus_t cublasLtMatmulPreferenceInit_internal(cublasLtMatmulPreference_t at, size_t bytes) {
  return place(at, bytes, Preference{});
}
cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* out) {
  return create(out, Preference{});
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return destroy(preference);
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t id, const void* value,
                                                    size_t bytes) {
  return set(kPreference, preference, id, value, bytes);
}
cublasStatus_t cublasLtMatmulPreferenceGetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t id, void* value, size_t bytes,
                                                    size_t* written) {
  return get(kPreference, preference, id, value, bytes, written);
}

cublasStatus_t cublasLtEmulationDescInit_internal(cublasLtEmulationDesc_t at, size_t bytes) {
  return place(at, bytes, EmulationDesc{});
}
cublasStatus_t cublasLtEmulationDescCreate(cublasLtEmulationDesc_t* out) {
  return create(out, EmulationDesc{});
}
cublasStatus_t cublasLtEmulationDescDestroy(cublasLtEmulationDesc_t desc) {
  return destroy(desc);
}
cublasStatus_t cublasLtEmulationDescSetAttribute(cublasLtEmulationDesc_t desc, cublasLtEmulationDescAttributes_t id,
                                                 const void* value, size_t bytes) {
  return set(kEmulation, desc, id, value, bytes);
}
cublasStatus_t cublasLtEmulationDescGetAttribute(cublasLtEmulationDesc_t desc, cublasLtEmulationDescAttributes_t id,
                                                 void* value, size_t bytes, size_t* written) {
  return get(kEmulation, desc, id, value, bytes, written);
}

cublasStatus_t cublasLtMatmulAlgoConfigSetAttribute(cublasLtMatmulAlgo_t* algo, cublasLtMatmulAlgoConfigAttributes_t id,
                                                    const void* value, size_t bytes) {
  return set(kAlgo, algo, id, value, bytes);
}
cublasStatus_t cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algo,
                                                    cublasLtMatmulAlgoConfigAttributes_t id, void* value, size_t bytes,
                                                    size_t* written) {
  return get(kAlgo, algo, id, value, bytes, written);
}

}  // extern "C"
