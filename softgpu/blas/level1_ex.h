// SPDX-License-Identifier: Apache-2.0
// Level 1 with the types given at run time: half precision is computed in fp32, everything else in its own type.
#pragma once
#include <cmath>

#include "softgpu/blas/level1.h"
#include "softgpu/blas/triangle.h"

namespace tidemark::softgpu::blas::api {

// The type in which vectors of a type are computed.
constexpr cudaDataType execution_type(cudaDataType type) {
  return type == CUDA_R_16F || type == CUDA_R_16BF ? CUDA_R_32F : type;
}
constexpr cudaDataType real_type(cudaDataType type) {
  return type == CUDA_C_32F ? CUDA_R_32F : type == CUDA_C_64F ? CUDA_R_64F : type;
}
constexpr bool is_vector_type(cudaDataType type) {
  return type == CUDA_R_16F || type == CUDA_R_16BF || type == CUDA_R_32F || type == CUDA_R_64F || type == CUDA_C_32F ||
         type == CUDA_C_64F;
}
// Types as documented: one type for all vectors, executed as above.
inline bool vector_types(cudaDataType x, cudaDataType y, cudaDataType execution) {
  return is_vector_type(x) && x == y && execution == execution_type(x);
}
// alpha, c, s: the vectors' own type, the execution type, or its real part.
inline bool scalar_type(cudaDataType scalar, cudaDataType x) {
  cudaDataType const execution = execution_type(x);
  return scalar == x || scalar == execution || scalar == real_type(execution);
}

// Calls body with a zero of the execution type.
template <class F>
auto in_execution_type(cudaDataType type, F body) {
  switch (execution_type(type)) {
    case CUDA_R_64F: return body(double{});
    case CUDA_C_32F: return body(Complex32{});
    case CUDA_C_64F: return body(Complex64{});
    default: return body(float{});
  }
}

// A vector whose elements have a type given at run time.
class AnyVector {
 public:
  AnyVector(const void* x, cudaDataType type, std::int64_t n, std::int64_t inc)
      : type_(type), step_(inc * static_cast<std::int64_t>(type_bytes(type))) {
    auto* const first = static_cast<std::byte*>(const_cast<void*>(x));
    start_ = inc < 0 ? first - (n - 1) * step_ : first;
  }
  template <class T>
  T get(std::int64_t i) const {
    return load_as<T>(type_, start_ + i * step_);
  }
  template <class T>
  void set(std::int64_t i, T value) const {
    store_as(type_, value, start_ + i * step_);
  }

 private:
  cudaDataType type_;
  std::int64_t step_;
  std::byte* start_;
};

// Space for the largest result, written in its own type when the work ends.
template <class F>
cublasStatus_t run_for_any(Call& call, const Entry& entry, void* result, cudaDataType type, F body) {
  if (!call.require(result != nullptr).ok()) return call.status();
  bool const on_device = call.device_scalars();
  if (on_device) call.writes(result, type_bytes(type));
  cublasStatus_t const queued = call.run([=] { body(result); });
  if (queued != CUBLAS_STATUS_SUCCESS || on_device) return queued;
  if (dry_run()) std::memset(result, 0, type_bytes(type));
  return synchronize(entry.handle->stream);
}

template <class T>
Real<T> magnitude(T value) {
  if constexpr (kIsComplex<T>) {
    return std::abs(value.real()) + std::abs(value.imag());
  } else {
    return std::abs(value);
  }
}

template <bool conjugated, class I>
cublasStatus_t dot_any(Entry entry, I n, const void* x, cudaDataType xt, I incx, const void* y, cudaDataType yt, I incy,
                       void* result, cudaDataType rt, cudaDataType execution) {
  Call call(entry);
  call.require(vector_types(xt, yt, execution) && rt == xt, CUBLAS_STATUS_NOT_SUPPORTED);
  call.reads(x, Call::vector_bytes(n, incx, type_bytes(xt))).reads(y, Call::vector_bytes(n, incy, type_bytes(yt)));
  return run_for_any(call, entry, result, rt, [=](void* out) {
    AnyVector const xs(x, xt, n, incx), ys(y, yt, n, incy);
    in_execution_type(xt, [&](auto sum) {
      using T = decltype(sum);
      for (std::int64_t i = 0; i < n; ++i) {
        T const left = xs.get<T>(i);
        sum += (conjugated ? conjugate(left) : left) * ys.get<T>(i);
      }
      store_as(rt, sum, out);
    });
  });
}
template <class I>
cublasStatus_t dot_ex(Entry entry, I n, const void* x, cudaDataType xt, I incx, const void* y, cudaDataType yt, I incy,
                      void* result, cudaDataType rt, cudaDataType execution) {
  return dot_any<false>(entry, n, x, xt, incx, y, yt, incy, result, rt, execution);
}
template <class I>
cublasStatus_t dotc_ex(Entry entry, I n, const void* x, cudaDataType xt, I incx, const void* y, cudaDataType yt, I incy,
                       void* result, cudaDataType rt, cudaDataType execution) {
  return dot_any<true>(entry, n, x, xt, incx, y, yt, incy, result, rt, execution);
}

// A sum over the vector, finished by `finish`.
template <class I, class Add, class Finish>
cublasStatus_t reduce_any(Entry entry, I n, const void* x, cudaDataType xt, I incx, void* result, cudaDataType rt,
                          cudaDataType execution, Add add, Finish finish) {
  Call call(entry);
  bool const types = is_vector_type(xt) && rt == real_type(xt) &&
                     (execution == execution_type(xt) || execution == real_type(execution_type(xt)));
  call.require(types, CUBLAS_STATUS_NOT_SUPPORTED);
  I const length = incx <= 0 || n < 0 ? I{0} : n;
  call.reads(x, Call::vector_bytes(length, incx, type_bytes(xt)));
  return run_for_any(call, entry, result, rt, [=](void* out) {
    AnyVector const xs(x, xt, length, incx);
    in_execution_type(xt, [&](auto zero) {
      using T = decltype(zero);
      double sum = 0;
      for (std::int64_t i = 0; i < length; ++i) sum = add(sum, xs.get<T>(i));
      store_as(rt, static_cast<Real<T>>(finish(sum)), out);
    });
  });
}
template <class I>
cublasStatus_t nrm2_ex(Entry entry, I n, const void* x, cudaDataType xt, I incx, void* result, cudaDataType rt,
                       cudaDataType execution) {
  return reduce_any(
      entry, n, x, xt, incx, result, rt, execution,
      [](double sum, auto value) { return std::hypot(sum, static_cast<double>(std::abs(value))); },
      [](double sum) { return sum; });
}
template <class I>
cublasStatus_t asum_ex(Entry entry, I n, const void* x, cudaDataType xt, I incx, void* result, cudaDataType rt,
                       cudaDataType execution) {
  return reduce_any(
      entry, n, x, xt, incx, result, rt, execution,
      [](double sum, auto value) { return sum + static_cast<double>(magnitude(value)); },
      [](double sum) { return sum; });
}

template <class I, class Better>
cublasStatus_t find_any(Entry entry, I n, const void* x, cudaDataType xt, I incx, I* result, Better better) {
  Call call(entry);
  call.require(is_vector_type(xt), CUBLAS_STATUS_NOT_SUPPORTED);
  I const length = incx <= 0 || n < 0 ? I{0} : n;
  call.reads(x, Call::vector_bytes(length, incx, type_bytes(xt)));
  return call.run_for(result, [=]() -> I {
    AnyVector const xs(x, xt, length, incx);
    return in_execution_type(xt, [&](auto zero) -> I {
      using T = decltype(zero);
      I best = 0;
      for (I i = 1; i < length; ++i)
        if (better(magnitude(xs.get<T>(i)), magnitude(xs.get<T>(best)))) best = i;
      return length == 0 ? 0 : best + 1;
    });
  });
}
template <class I>
cublasStatus_t iamax_ex(Entry entry, I n, const void* x, cudaDataType xt, I incx, I* result) {
  return find_any(entry, n, x, xt, incx, result, [](auto a, auto b) { return a > b; });
}
template <class I>
cublasStatus_t iamin_ex(Entry entry, I n, const void* x, cudaDataType xt, I incx, I* result) {
  return find_any(entry, n, x, xt, incx, result, [](auto a, auto b) { return a < b; });
}

template <class I>
cublasStatus_t scal_ex(Entry entry, I n, const void* alpha, cudaDataType alpha_type, void* x, cudaDataType xt, I incx,
                       cudaDataType execution) {
  Call call(entry);
  call.require(vector_types(xt, xt, execution) && scalar_type(alpha_type, xt), CUBLAS_STATUS_NOT_SUPPORTED);
  auto const al = call.any_scalar(alpha, alpha_type);
  if (call.done(n <= 0 || incx <= 0)) return call.status();
  call.writes(x, Call::vector_bytes(n, incx, type_bytes(xt)));
  return call.run([=] {
    AnyVector const xs(x, xt, n, incx);
    in_execution_type(xt, [&](auto zero) {
      using T = decltype(zero);
      T const factor = al.template get<T>();
      for (std::int64_t i = 0; i < n; ++i) xs.set(i, factor * xs.get<T>(i));
    });
  });
}

template <class I>
cublasStatus_t axpy_ex(Entry entry, I n, const void* alpha, cudaDataType alpha_type, const void* x, cudaDataType xt,
                       I incx, void* y, cudaDataType yt, I incy, cudaDataType execution) {
  Call call(entry);
  call.require(vector_types(xt, yt, execution) && scalar_type(alpha_type, xt), CUBLAS_STATUS_NOT_SUPPORTED);
  auto const al = call.any_scalar(alpha, alpha_type);
  if (call.done(n <= 0)) return call.status();
  call.reads(x, Call::vector_bytes(n, incx, type_bytes(xt))).writes(y, Call::vector_bytes(n, incy, type_bytes(yt)));
  return call.run([=] {
    AnyVector const xs(x, xt, n, incx), ys(y, yt, n, incy);
    in_execution_type(xt, [&](auto zero) {
      using T = decltype(zero);
      T const factor = al.template get<T>();
      for (std::int64_t i = 0; i < n; ++i) ys.set(i, factor * xs.get<T>(i) + ys.get<T>(i));
    });
  });
}

template <class I>
cublasStatus_t copy_ex(Entry entry, I n, const void* x, cudaDataType xt, I incx, void* y, cudaDataType yt, I incy) {
  Call call(entry);
  call.require(is_vector_type(xt) && xt == yt, CUBLAS_STATUS_NOT_SUPPORTED);
  if (call.done(n <= 0)) return call.status();
  call.reads(x, Call::vector_bytes(n, incx, type_bytes(xt))).writes(y, Call::vector_bytes(n, incy, type_bytes(yt)));
  return call.run([=] {
    AnyVector const xs(x, xt, n, incx), ys(y, yt, n, incy);
    in_execution_type(xt, [&](auto zero) {
      for (std::int64_t i = 0; i < n; ++i) ys.set(i, xs.get<decltype(zero)>(i));
    });
  });
}
template <class I>
cublasStatus_t swap_ex(Entry entry, I n, void* x, cudaDataType xt, I incx, void* y, cudaDataType yt, I incy) {
  Call call(entry);
  call.require(is_vector_type(xt) && xt == yt, CUBLAS_STATUS_NOT_SUPPORTED);
  if (call.done(n <= 0)) return call.status();
  call.writes(x, Call::vector_bytes(n, incx, type_bytes(xt))).writes(y, Call::vector_bytes(n, incy, type_bytes(yt)));
  return call.run([=] {
    AnyVector const xs(x, xt, n, incx), ys(y, yt, n, incy);
    in_execution_type(xt, [&](auto zero) {
      using T = decltype(zero);
      for (std::int64_t i = 0; i < n; ++i) {
        T const kept = xs.get<T>(i);
        xs.set(i, ys.get<T>(i));
        ys.set(i, kept);
      }
    });
  });
}

template <class I>
cublasStatus_t rot_ex(Entry entry, I n, void* x, cudaDataType xt, I incx, void* y, cudaDataType yt, I incy,
                      const void* c, const void* s, cudaDataType cs_type, cudaDataType execution) {
  Call call(entry);
  call.require(vector_types(xt, yt, execution) && scalar_type(cs_type, xt), CUBLAS_STATUS_NOT_SUPPORTED);
  auto const cosine = call.any_scalar(c, cs_type);
  auto const sine = call.any_scalar(s, cs_type);
  if (call.done(n <= 0)) return call.status();
  call.writes(x, Call::vector_bytes(n, incx, type_bytes(xt))).writes(y, Call::vector_bytes(n, incy, type_bytes(yt)));
  return call.run([=] {
    AnyVector const xs(x, xt, n, incx), ys(y, yt, n, incy);
    in_execution_type(xt, [&](auto zero) {
      using T = decltype(zero);
      T const cs = cosine.template get<T>(), sn = sine.template get<T>();
      for (std::int64_t i = 0; i < n; ++i) {
        T const xi = xs.get<T>(i), yi = ys.get<T>(i);
        xs.set(i, cs * xi + sn * yi);
        ys.set(i, cs * yi - conjugate(sn) * xi);
      }
    });
  });
}

}  // namespace tidemark::softgpu::blas::api
