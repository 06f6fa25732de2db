// SPDX-License-Identifier: Apache-2.0
#include "softgpu/blas/lt/matmul.h"

#include <array>
#include <climits>

#include "softgpu/blas/call.h"
#include "softgpu/blas/lt/epilogue.h"
#include "softgpu/blas/lt/log.h"

namespace tidemark::softgpu::blas {
namespace {

bool is_narrow_float(std::int32_t type) {
  return type == CUDA_R_8F_E4M3 || type == CUDA_R_8F_E5M2 || type == CUDA_R_4F_E2M1;
}

bool is_sound(const Layout& x) {
  std::uint64_t const run = x.order == CUBLASLT_ORDER_ROW ? x.cols : x.rows;
  return x.batch_count >= 0 && x.rows <= INT64_MAX && x.cols <= INT64_MAX &&
         x.ld >= static_cast<std::int64_t>(run > 1 ? run : 1);
}

bool aux_is_sound(const MatmulDesc& desc, const Epilogue& epilogue, std::int64_t rows) {
  std::int64_t const step = epilogue.relu || epilogue.drelu ? 128 : 8;
  return desc.aux != nullptr && desc.aux_ld >= rows && desc.aux_ld % step == 0 && desc.aux_stride % step == 0;
}

cublasOperation_t flipped(cublasOperation_t op) {
  switch (op) {
    case CUBLAS_OP_N: return CUBLAS_OP_T;
    case CUBLAS_OP_T: return CUBLAS_OP_N;
    case CUBLAS_OP_C: return CUBLAS_OP_CONJG;
    default: return CUBLAS_OP_C;
  }
}
// A row-major matrix is the column-major transpose of itself.
cublasOperation_t column_major_op(std::int32_t op, const Layout& layout) {
  auto const given = static_cast<cublasOperation_t>(op);
  return layout.order == CUBLASLT_ORDER_ROW ? flipped(given) : given;
}

Matrix matrix(const Operand& operand, std::int64_t batch) {
  return {matrix_in_batch(operand, batch), static_cast<cudaDataType>(operand.layout.type), operand.layout.ld};
}

}  // namespace

cudaDataType Matmul::bias_type() const {
  if (desc.bias_type >= 0) return static_cast<cudaDataType>(desc.bias_type);
  bool const integer_output = d.layout.type == CUDA_R_8I;
  return static_cast<cudaDataType>(integer_output ? desc.scale : d.layout.type);
}
cudaDataType Matmul::aux_type() const {
  return static_cast<cudaDataType>(desc.aux_type >= 0 ? desc.aux_type : d.layout.type);
}

const void* matrix_in_batch(const Operand& operand, std::int64_t index) {
  if (operand.data == nullptr) return nullptr;
  if (operand.layout.batch_mode == CUBLASLT_BATCH_MODE_POINTER_ARRAY)
    return static_cast<const void* const*>(operand.data)[index];
  auto const type = static_cast<cudaDataType>(operand.layout.type);
  std::int64_t const stride = operand.layout.batch_stride * static_cast<std::int64_t>(type_bytes(type));
  return static_cast<const std::byte*>(operand.data) + index * stride;
}

std::uint64_t operand_bytes(const Operand& operand) {
  auto const& x = operand.layout;
  if (x.rows == 0 || x.cols == 0 || x.batch_count <= 0) return 0;
  if (x.batch_mode == CUBLASLT_BATCH_MODE_POINTER_ARRAY)
    return static_cast<std::uint64_t>(x.batch_count) * sizeof(void*);
  bool const by_rows = x.order == CUBLASLT_ORDER_ROW;
  std::uint64_t const runs = by_rows ? x.rows : x.cols, run = by_rows ? x.cols : x.rows;
  auto const stride = static_cast<std::uint64_t>(x.batch_stride < 0 ? 0 : x.batch_stride);
  std::uint64_t const elements =
      (runs - 1) * static_cast<std::uint64_t>(x.ld) + run + static_cast<std::uint64_t>(x.batch_count - 1) * stride;
  return elements * type_bytes(static_cast<cudaDataType>(x.type));
}

cublasStatus_t check_matmul(const MatmulDesc& desc, const Layout& a, const Layout& b, const Layout& c,
                            const Layout& d) {
  for (auto const* const layout : {&a, &b, &c, &d})
    if (!is_sound(*layout) || layout->batch_count != d.batch_count) return CUBLAS_STATUS_INVALID_VALUE;
  bool const plain_a = desc.transa == CUBLAS_OP_N, plain_b = desc.transb == CUBLAS_OP_N;
  bool const shapes = (plain_a ? a.rows : a.cols) == d.rows && (plain_b ? b.cols : b.rows) == d.cols &&
                      (plain_a ? a.cols : a.rows) == (plain_b ? b.rows : b.cols) && c.rows == d.rows &&
                      c.cols == d.cols;
  if (!shapes || !is_epilogue(desc.epilogue)) return CUBLAS_STATUS_INVALID_VALUE;
  if (desc.transa < CUBLAS_OP_N || desc.transa > CUBLAS_OP_C || desc.transb < CUBLAS_OP_N || desc.transb > CUBLAS_OP_C)
    return CUBLAS_STATUS_INVALID_VALUE;
  if (desc.transc != CUBLAS_OP_N) return CUBLAS_STATUS_NOT_SUPPORTED;
  if (is_narrow_float(a.type) || is_narrow_float(b.type)) return not_supported("cublasLtMatmul in fp8 or fp4");
  if (desc.a_scale != nullptr || desc.b_scale != nullptr || desc.d_scale != nullptr || desc.d_amax != nullptr)
    return CUBLAS_STATUS_INVALID_VALUE;
  GemmTypes const types{static_cast<cublasComputeType_t>(desc.compute), static_cast<cudaDataType>(a.type),
                        static_cast<cudaDataType>(b.type), static_cast<cudaDataType>(d.type)};
  if (!documented_types(types) || c.type != d.type || scale_type_of(types) != desc.scale)
    return CUBLAS_STATUS_NOT_SUPPORTED;
  for (auto const* const layout : {&a, &b, &c, &d}) {
    if (layout->order > CUBLASLT_ORDER_ROW) return not_supported("cublasLtMatmul with tiled memory orders");
    if (layout->ld > INT_MAX || layout->rows > INT_MAX || layout->cols > INT_MAX)
      if (!dry_run()) return not_supported("sizes beyond 2^31-1");
  }
  if (c.order != d.order) return not_supported("cublasLtMatmul with C and D in different orders");
  if (desc.fill != CUBLAS_FILL_MODE_FULL) return not_supported("cublasLtMatmul of one triangle");
  bool const complex = a.type == CUDA_C_32F || a.type == CUDA_C_64F;
  bool const integers = d.type == CUDA_R_32I;
  if ((complex || integers) && desc.epilogue != CUBLASLT_EPILOGUE_DEFAULT) return CUBLAS_STATUS_NOT_SUPPORTED;
  return CUBLAS_STATUS_SUCCESS;
}

void execute(const Matmul& m) {
  bool const turned = m.d.layout.order == CUBLASLT_ORDER_ROW;
  cublasOperation_t const op_a = column_major_op(m.desc.transa, m.a.layout);
  cublasOperation_t const op_b = column_major_op(m.desc.transb, m.b.layout);
  Gemm gemm{.transa = turned ? flipped(op_b) : op_a,
            .transb = turned ? flipped(op_a) : op_b,
            .m = turned ? m.cols() : m.rows(),
            .n = turned ? m.rows() : m.cols(),
            .k = m.depth(),
            .integer_sums = is_integer(static_cast<cublasComputeType_t>(m.desc.compute)),
            .alpha = m.alpha,
            .beta = m.beta};
  for (std::int64_t i = 0; i < m.d.layout.batch_count; ++i) {
    gemm.a = matrix(turned ? m.b : m.a, i);
    gemm.b = matrix(turned ? m.a : m.b, i);
    gemm.c = matrix(m.c, i);
    gemm.d = matrix(m.d, i);
    EpiloguePass pass(m, i, turned);
    compute(gemm, pass.hook());
    pass.finish();
  }
}

namespace {

// alpha and beta by the descriptor's pointer mode; of the vector forms, alpha per row with beta = 0.
cublasStatus_t take_scalars(Matmul& m, const void* alpha, const void* beta) {
  auto const scale = static_cast<cudaDataType>(m.desc.scale);
  m.alpha.type = m.beta.type = scale;
  switch (m.desc.pointer_mode) {
    case CUBLASLT_POINTER_MODE_HOST:
      if (alpha == nullptr || beta == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
      std::memcpy(m.alpha.value, alpha, type_bytes(scale));
      std::memcpy(m.beta.value, beta, type_bytes(scale));
      return CUBLAS_STATUS_SUCCESS;
    case CUBLASLT_POINTER_MODE_DEVICE:
      if (alpha == nullptr || beta == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
      m.alpha.device = alpha;
      m.beta.device = beta;
      return CUBLAS_STATUS_SUCCESS;
    case CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_ZERO:
      if (alpha == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
      store_as(scale, 1.0, m.alpha.value);
      m.alpha_vector = alpha;
      return m.d.layout.type == CUDA_R_32I ? CUBLAS_STATUS_NOT_SUPPORTED : CUBLAS_STATUS_SUCCESS;
    case CUBLASLT_POINTER_MODE_DEVICE_VECTOR:
    case CUBLASLT_POINTER_MODE_ALPHA_DEVICE_VECTOR_BETA_HOST:
      return not_supported("cublasLtMatmul with this pointer mode");
    default: return CUBLAS_STATUS_INVALID_VALUE;
  }
}

class Touches {
 public:
  void add(const void* address, std::uint64_t bytes, bool writes) {
    if (address != nullptr && bytes != 0) all_[count_++] = {reinterpret_cast<std::uintptr_t>(address), bytes, writes};
  }
  const SoftgpuTouch* data() const { return all_.data(); }
  std::size_t size() const { return count_; }

 private:
  std::array<SoftgpuTouch, 8> all_{};
  std::size_t count_ = 0;
};

Touches touches_of(const Matmul& m, bool reads_c) {
  Touches t;
  t.add(m.a.data, operand_bytes(m.a), false);
  t.add(m.b.data, operand_bytes(m.b), false);
  if (reads_c) t.add(m.c.data, operand_bytes(m.c), false);
  t.add(m.d.data, operand_bytes(m.d), m.d.layout.batch_mode == CUBLASLT_BATCH_MODE_STRIDED);
  Epilogue const e = epilogue_of(m.desc.epilogue);
  auto const length = static_cast<std::uint64_t>(e.gradient_b ? m.cols() : m.rows());
  if (needs_bias(e)) t.add(m.desc.bias, length * type_bytes(m.bias_type()), !e.bias);
  if (needs_aux(e)) {
    auto const elements = static_cast<std::uint64_t>(m.desc.aux_ld * m.cols());
    bool const bits = e.relu || e.drelu;
    t.add(m.desc.aux, bits ? elements / 8 : elements * type_bytes(m.aux_type()), e.aux_out);
  }
  t.add(m.alpha.device, type_bytes(m.alpha.type), false);
  t.add(m.beta.device, type_bytes(m.beta.type), false);
  return t;
}

}  // namespace
}  // namespace tidemark::softgpu::blas

using namespace tidemark::softgpu::blas;

namespace {

cublasStatus_t queue_matmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void* alpha, const void* a,
                            cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout,
                            const void* beta, const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                            cublasLtMatrixLayout_t d_layout, void* workspace, size_t workspace_bytes,
                            cudaStream_t stream) {
  if (!is_alive(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  for (const void* const needed : {static_cast<const void*>(desc), static_cast<const void*>(a_layout),
                                   static_cast<const void*>(b_layout), static_cast<const void*>(d_layout)})
    if (needed == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  if (workspace_bytes != 0 && workspace == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  Matmul m{.desc = as_desc(desc)};
  m.a = {a, as_layout(a_layout)};
  m.b = {b, as_layout(b_layout)};
  m.d = {d, as_layout(d_layout)};
  m.c = {c, c_layout != nullptr ? as_layout(c_layout) : m.d.layout};
  if (cublasStatus_t const bad = check_matmul(m.desc, m.a.layout, m.b.layout, m.c.layout, m.d.layout)) return bad;
  if (cublasStatus_t const bad = take_scalars(m, alpha, beta)) return bad;
  if (m.rows() == 0 || m.cols() == 0 || m.d.layout.batch_count == 0) return CUBLAS_STATUS_SUCCESS;
  auto const scale = static_cast<cudaDataType>(m.desc.scale);
  bool const reads_c = m.beta.device != nullptr || load_as<Complex64>(scale, m.beta.value) != Complex64{};
  Epilogue const epilogue = epilogue_of(m.desc.epilogue);
  if (d == nullptr || (reads_c && c == nullptr) || (m.depth() > 0 && (a == nullptr || b == nullptr)) ||
      (needs_bias(epilogue) && m.desc.bias == nullptr) ||
      (needs_aux(epilogue) && !aux_is_sound(m.desc, epilogue, m.rows())))
    return CUBLAS_STATUS_INVALID_VALUE;
  if (c == nullptr) m.c.data = d;
  Touches const touches = touches_of(m, reads_c);
  auto const body = [m] { execute(m); };
  return submit(stream, handle->device_context, make_work("cublasLtMatmul", body, touches.data(), touches.size()));
}

}  // namespace

extern "C" cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void* alpha,
                                         const void* a, cublasLtMatrixLayout_t a_layout, const void* b,
                                         cublasLtMatrixLayout_t b_layout, const void* beta, const void* c,
                                         cublasLtMatrixLayout_t c_layout, void* d, cublasLtMatrixLayout_t d_layout,
                                         const cublasLtMatmulAlgo_t*, void* workspace, size_t workspace_bytes,
                                         cudaStream_t stream) {
  return log_lt("cublasLtMatmul", queue_matmul(handle, desc, alpha, a, a_layout, b, b_layout, beta, c, c_layout, d,
                                               d_layout, workspace, workspace_bytes, stream));
}
