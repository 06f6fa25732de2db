// SPDX-License-Identifier: Apache-2.0
// There is one algorithm. It needs no workspace, takes any alignment, and knows every epilogue.
#include <algorithm>
#include <new>

#include "softgpu/blas/call.h"
#include "softgpu/blas/lt/matmul.h"

using namespace tidemark::softgpu::blas;

namespace {

Algo read_algo(const cublasLtMatmulAlgo_t& algo) {
  Algo mine;
  std::memcpy(static_cast<void*>(&mine), &algo, sizeof mine);
  return mine;
}
cublasLtMatmulAlgo_t make_algo() {
  cublasLtMatmulAlgo_t algo{};
  Algo const mine;
  std::memcpy(&algo, &mine, sizeof mine);
  return algo;
}

struct Capability {
  cublasLtMatmulAlgoCapAttributes_t id;
  std::uint64_t value;
  std::size_t bytes;
};
constexpr std::uint32_t kEpilogues = CUBLASLT_EPILOGUE_DEFAULT | CUBLASLT_EPILOGUE_RELU_AUX_BIAS |
                                     CUBLASLT_EPILOGUE_DRELU_BGRAD | CUBLASLT_EPILOGUE_GELU_AUX_BIAS |
                                     CUBLASLT_EPILOGUE_DGELU_BGRAD | CUBLASLT_EPILOGUE_BGRADA |
                                     CUBLASLT_EPILOGUE_BGRADB;
constexpr Capability kCapabilities[] = {
    {CUBLASLT_ALGO_CAP_SPLITK_SUPPORT, 0, 4},
    {CUBLASLT_ALGO_CAP_REDUCTION_SCHEME_MASK, 0, 4},
    {CUBLASLT_ALGO_CAP_CTA_SWIZZLING_SUPPORT, 0, 4},
    {CUBLASLT_ALGO_CAP_STRIDED_BATCH_SUPPORT, 1, 4},
    {CUBLASLT_ALGO_CAP_OUT_OF_PLACE_RESULT_SUPPORT, 1, 4},
    {CUBLASLT_ALGO_CAP_UPLO_SUPPORT, 0, 4},
    {CUBLASLT_ALGO_CAP_TILE_IDS, CUBLASLT_MATMUL_TILE_UNDEFINED, 4},
    {CUBLASLT_ALGO_CAP_CUSTOM_OPTION_MAX, 0, 4},
    {CUBLASLT_ALGO_CAP_CUSTOM_MEMORY_ORDER, 0, 4},
    {CUBLASLT_ALGO_CAP_POINTER_MODE_MASK,
     CUBLASLT_POINTER_MODE_MASK_HOST | CUBLASLT_POINTER_MODE_MASK_DEVICE |
         CUBLASLT_POINTER_MODE_MASK_ALPHA_DEVICE_VECTOR_BETA_ZERO,
     4},
    {CUBLASLT_ALGO_CAP_EPILOGUE_MASK, kEpilogues, 4},
    {CUBLASLT_ALGO_CAP_STAGES_IDS, CUBLASLT_MATMUL_STAGES_UNDEFINED, 4},
    {CUBLASLT_ALGO_CAP_LD_NEGATIVE, 0, 4},
    {CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS, CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA, 8},
    {CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_A_BYTES, 1, 4},
    {CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_B_BYTES, 1, 4},
    {CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_C_BYTES, 1, 4},
    {CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_D_BYTES, 1, 4},
    {CUBLASLT_ALGO_CAP_POINTER_ARRAY_BATCH_SUPPORT, 1, 4},
    {CUBLASLT_ALGO_CAP_FLOATING_POINT_EMULATION_SUPPORT, 0, 4},
};

cublasLtMatmulHeuristicResult_t found() {
  return {.algo = make_algo(), .workspaceSize = 0, .state = CUBLAS_STATUS_SUCCESS, .wavesCount = 1.0f};
}

}  // namespace

extern "C" {

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int requested,
                                              cublasLtMatmulHeuristicResult_t results[], int* returned) {
  if (!is_alive(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (desc == nullptr || a == nullptr || b == nullptr || c == nullptr || d == nullptr || preference == nullptr ||
      requested <= 0 || results == nullptr || returned == nullptr)
    return CUBLAS_STATUS_INVALID_VALUE;
  *returned = 0;
  if (cublasStatus_t const bad = check_matmul(as_desc(desc), as_layout(a), as_layout(b), as_layout(c), as_layout(d)))
    return bad;
  results[0] = found();
  *returned = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetIds(cublasLtHandle_t handle, cublasComputeType_t compute, cudaDataType_t scale,
                                        cudaDataType_t a, cudaDataType_t b, cudaDataType_t c, cudaDataType_t d,
                                        int requested, int ids[], int* returned) {
  if (!is_alive(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (requested <= 0 || ids == nullptr || returned == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  GemmTypes const types{compute, a, b, d};
  *returned = documented_types(types) && c == d && scale_type_of(types) == scale ? 1 : 0;
  if (*returned == 1) ids[0] = Algo::kId;
  return *returned == 1 ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_NOT_SUPPORTED;
}

cublasStatus_t cublasLtMatmulAlgoInit(cublasLtHandle_t handle, cublasComputeType_t compute, cudaDataType_t scale,
                                      cudaDataType_t a, cudaDataType_t b, cudaDataType_t c, cudaDataType_t d, int id,
                                      cublasLtMatmulAlgo_t* algo) {
  if (algo == nullptr || id != Algo::kId) return CUBLAS_STATUS_INVALID_VALUE;
  int known = 0, count = 0;
  cublasStatus_t const status = cublasLtMatmulAlgoGetIds(handle, compute, scale, a, b, c, d, 1, &known, &count);
  if (status == CUBLAS_STATUS_SUCCESS) *algo = make_algo();
  return status;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a,
                                       cublasLtMatrixLayout_t b, cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                       const cublasLtMatmulAlgo_t* algo, cublasLtMatmulHeuristicResult_t* result) {
  if (!is_alive(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (desc == nullptr || a == nullptr || b == nullptr || c == nullptr || d == nullptr || algo == nullptr)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (read_algo(*algo).id != Algo::kId) return CUBLAS_STATUS_INVALID_VALUE;
  cublasStatus_t const status = check_matmul(as_desc(desc), as_layout(a), as_layout(b), as_layout(c), as_layout(d));
  if (status == CUBLAS_STATUS_SUCCESS && result != nullptr) {
    cublasLtMatmulAlgo_t const checked = *algo;  // may stand inside *result
    *result = found();
    result->algo = checked;
  }
  return status;
}

cublasStatus_t cublasLtMatmulAlgoCapGetAttribute(const cublasLtMatmulAlgo_t* algo, cublasLtMatmulAlgoCapAttributes_t id,
                                                 void* value, size_t bytes, size_t* written) {
  auto const* const capability =
      std::find_if(std::begin(kCapabilities), std::end(kCapabilities), [id](auto const& c) { return c.id == id; });
  if (algo == nullptr || capability == std::end(kCapabilities) || (bytes == 0 && written == nullptr))
    return CUBLAS_STATUS_INVALID_VALUE;
  bool const is_list = id == CUBLASLT_ALGO_CAP_TILE_IDS || id == CUBLASLT_ALGO_CAP_STAGES_IDS;
  if (bytes != 0) {
    if (value == nullptr || (is_list ? bytes < capability->bytes : bytes != capability->bytes))
      return CUBLAS_STATUS_INVALID_VALUE;
    std::memcpy(value, &capability->value, capability->bytes);
  }
  if (written != nullptr) *written = capability->bytes;
  return CUBLAS_STATUS_SUCCESS;
}

}  // extern "C"
