// SPDX-License-Identifier: Apache-2.0
#include "softgpu/blas/gemm_api.h"

namespace tidemark::softgpu::blas::api {
namespace {

struct Shape {
  std::int64_t rows, cols;
};
Shape stored(cublasOperation_t op, std::int64_t rows, std::int64_t cols) {
  return op == CUBLAS_OP_N ? Shape{rows, cols} : Shape{cols, rows};
}

// The memory of a whole batch, for the checker: of an array batch only the addresses are known when it is queued.
void touch(Call& call, const GemmArgs& args, const GemmOperand& x, Shape shape, bool written) {
  std::uint64_t const one = Call::matrix_bytes(shape.rows, shape.cols, x.ld, type_bytes(x.type));
  if (one == 0) return;
  auto const count = static_cast<std::uint64_t>(args.batch_count);
  if (args.batch == Batch::PointerArray) {
    call.reads(x.data, count * sizeof(void*));
    return;
  }
  auto const stride = static_cast<std::uint64_t>(x.stride < 0 ? -x.stride : x.stride) * type_bytes(x.type);
  const auto* const first = static_cast<const std::byte*>(x.data);
  std::uint64_t const extent = (count - 1) * stride;
  const std::byte* const low = x.stride < 0 && first != nullptr ? first - extent : first;
  written ? call.writes(low, extent + one) : call.reads(low, extent + one);
}

const void* matrix_of(const GemmArgs& args, const GemmOperand& x, std::int64_t i) {
  if (args.batch == Batch::PointerArray) return static_cast<const void* const*>(x.data)[i];
  return static_cast<const std::byte*>(x.data) + i * x.stride * static_cast<std::int64_t>(type_bytes(x.type));
}

}  // namespace

cublasStatus_t gemm_any(Entry entry, const GemmArgs& args) {
  Call call(entry);
  Shape const a = stored(args.transa, args.m, args.k), b = stored(args.transb, args.k, args.n);
  call.options(args.transa, args.transb).dims({args.m, args.n, args.k}).leading(args.a.ld, a.rows);
  call.leading(args.b.ld, b.rows).leading(args.c.ld, args.m).require(args.batch_count >= 0);
  GemmTypes const types{args.compute, args.a.type, args.b.type, args.c.type};
  call.require(documented_types(types), CUBLAS_STATUS_NOT_SUPPORTED);
  auto const alpha = call.any_scalar(args.alpha, scale_type_of(types));
  auto const beta = call.any_scalar(args.beta, scale_type_of(types));
  if (call.done(args.m == 0 || args.n == 0 || args.batch_count == 0)) return call.status();
  touch(call, args, args.a, a, false);
  touch(call, args, args.b, b, false);
  touch(call, args, args.c, {args.m, args.n}, true);
  return call.run([args, alpha, beta] {
    Gemm gemm{.transa = args.transa,
              .transb = args.transb,
              .m = args.m,
              .n = args.n,
              .k = args.k,
              .integer_sums = is_integer(args.compute),
              .alpha = alpha,
              .beta = beta};
    for (std::int64_t i = 0; i < args.batch_count; ++i) {
      gemm.a = {matrix_of(args, args.a, i), args.a.type, args.a.ld};
      gemm.b = {matrix_of(args, args.b, i), args.b.type, args.b.ld};
      gemm.c = gemm.d = {matrix_of(args, args.c, i), args.c.type, args.c.ld};
      compute(gemm);
    }
  });
}

}  // namespace tidemark::softgpu::blas::api
