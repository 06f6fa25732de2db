// SPDX-License-Identifier: Apache-2.0
// cublasLtMatrixTransform: C = alpha op(A) + beta op(B), between types and between row and column order.
#include <array>

#include "softgpu/blas/call.h"
#include "softgpu/blas/lt/log.h"
#include "softgpu/blas/lt/matmul.h"

namespace tidemark::softgpu::blas {
namespace {

struct Transform {
  TransformDesc desc;
  Operand a, b, c;
  AnyScalar alpha, beta;
};

std::size_t place_of(const Layout& x, std::int64_t row, std::int64_t col) {
  return static_cast<std::size_t>(x.order == CUBLASLT_ORDER_ROW ? col + row * x.ld : row + col * x.ld);
}

// One element of op(X) in the type that is computed with.
template <class T>
T read(const Operand& x, const void* data, std::int32_t op, std::int64_t row, std::int64_t col) {
  if (op != CUBLAS_OP_N) std::swap(row, col);
  auto const type = static_cast<cudaDataType>(x.layout.type);
  auto const* const at = static_cast<const std::byte*>(data) + place_of(x.layout, row, col) * type_bytes(type);
  T const value = load_as<T>(type, at);
  return op == CUBLAS_OP_C ? conjugate(value) : value;
}

template <class T>
void execute_in(const Transform& t) {
  T const alpha = t.alpha.get<T>(), beta = t.beta.get<T>();
  auto const type = static_cast<cudaDataType>(t.c.layout.type);
  for (std::int64_t i = 0; i < t.c.layout.batch_count; ++i) {
    const void* const a = matrix_in_batch(t.a, i);
    const void* const b = matrix_in_batch(t.b, i);
    auto* const c = static_cast<std::byte*>(const_cast<void*>(matrix_in_batch(t.c, i)));
    for (std::int64_t col = 0; col < static_cast<std::int64_t>(t.c.layout.cols); ++col)
      for (std::int64_t row = 0; row < static_cast<std::int64_t>(t.c.layout.rows); ++row) {
        T sum{};
        if (a != nullptr && alpha != T{}) sum += alpha * read<T>(t.a, a, t.desc.transa, row, col);
        if (b != nullptr && beta != T{}) sum += beta * read<T>(t.b, b, t.desc.transb, row, col);
        store_as(type, sum, c + place_of(t.c.layout, row, col) * type_bytes(type));
      }
  }
}

bool fits(const Operand& x, std::int32_t op, const Layout& c) {
  auto const& l = x.layout;
  std::uint64_t const run = l.order == CUBLASLT_ORDER_ROW ? l.cols : l.rows;
  return (op == CUBLAS_OP_N ? l.rows : l.cols) == c.rows && (op == CUBLAS_OP_N ? l.cols : l.rows) == c.cols &&
         l.batch_count == c.batch_count && l.ld >= static_cast<std::int64_t>(run > 1 ? run : 1);
}

bool is_simple(const Layout& x) {
  return x.order <= CUBLASLT_ORDER_ROW && type_bytes(static_cast<cudaDataType>(x.type)) != 0 && x.type != CUDA_C_8I &&
         x.type != CUDA_R_8U && x.type != CUDA_R_8F_E4M3 && x.type != CUDA_R_8F_E5M2;
}

cublasStatus_t queue(cublasLtHandle_t handle, const Transform& t, cudaStream_t stream) {
  std::array<SoftgpuTouch, 3> touches{};
  std::size_t count = 0;
  auto const touch = [&](const Operand& x, int writes) {
    std::uint64_t const bytes = operand_bytes(x);
    if (x.data != nullptr && bytes != 0) touches[count++] = {reinterpret_cast<std::uintptr_t>(x.data), bytes, writes};
  };
  touch(t.a, 0);
  touch(t.b, 0);
  touch(t.c, 1);
  auto const body = [t] {
    bool const complex = t.c.layout.type == CUDA_C_32F || t.c.layout.type == CUDA_C_64F;
    complex ? execute_in<Complex64>(t) : execute_in<double>(t);
  };
  return submit(stream, handle->device_context, make_work("cublasLtMatrixTransform", body, touches.data(), count));
}

}  // namespace
}  // namespace tidemark::softgpu::blas

using namespace tidemark::softgpu::blas;

extern "C" cublasStatus_t cublasLtMatrixTransform(cublasLtHandle_t handle, cublasLtMatrixTransformDesc_t desc,
                                                  const void* alpha, const void* a, cublasLtMatrixLayout_t a_layout,
                                                  const void* beta, const void* b, cublasLtMatrixLayout_t b_layout,
                                                  void* c, cublasLtMatrixLayout_t c_layout, cudaStream_t stream) {
  if (!is_alive(handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  bool const uses_a = a != nullptr && a_layout != nullptr, uses_b = b != nullptr && b_layout != nullptr;
  if (desc == nullptr || c == nullptr || c_layout == nullptr || (!uses_a && !uses_b) || (uses_a && alpha == nullptr) ||
      (uses_b && beta == nullptr))
    return CUBLAS_STATUS_INVALID_VALUE;
  Transform t{.desc = *reinterpret_cast<const TransformDesc*>(desc)};
  t.c = {c, as_layout(c_layout)};
  if (uses_a) t.a = {a, as_layout(a_layout)};
  if (uses_b) t.b = {b, as_layout(b_layout)};
  if ((uses_a && !fits(t.a, t.desc.transa, t.c.layout)) || (uses_b && !fits(t.b, t.desc.transb, t.c.layout)) ||
      !fits(t.c, CUBLAS_OP_N, t.c.layout))
    return CUBLAS_STATUS_INVALID_VALUE;
  if ((uses_a && !is_simple(t.a.layout)) || (uses_b && !is_simple(t.b.layout)) || !is_simple(t.c.layout))
    return not_supported("cublasLtMatrixTransform with these orders or types");
  auto const scale = static_cast<cudaDataType>(t.desc.scale);
  bool const on_device = t.desc.pointer_mode == CUBLASLT_POINTER_MODE_DEVICE;
  if (!on_device && t.desc.pointer_mode != CUBLASLT_POINTER_MODE_HOST) return CUBLAS_STATUS_INVALID_VALUE;
  for (auto const& [scalar, source] :
       {std::pair{&t.alpha, uses_a ? alpha : nullptr}, {&t.beta, uses_b ? beta : nullptr}}) {
    scalar->type = scale;
    if (source == nullptr) continue;
    if (on_device) {
      scalar->device = source;
    } else {
      std::memcpy(scalar->value, source, type_bytes(scale));
    }
  }
  return log_lt("cublasLtMatrixTransform", queue(handle, t, stream));
}
