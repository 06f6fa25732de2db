// SPDX-License-Identifier: Apache-2.0
// Level 1: vectors. One template per routine, for all types and both widths of integers; entries are generated.
#pragma once
#include "softgpu/blas/call.h"
#include "softgpu/blas/openblas.h"

namespace tidemark::softgpu::blas::api {

// The first element in BLAS' order: a negative increment walks from the end of the memory.
template <class T, class I>
T* vector_start(T* x, I n, I inc) {
  return inc < 0 ? x - static_cast<std::int64_t>(n - 1) * inc : x;
}

template <class T, class I>
cublasStatus_t axpy(Entry entry, I n, const T* alpha, const T* x, I incx, T* y, I incy) {
  Call call(entry);
  auto const a = call.scalar(alpha);
  if (call.done(n <= 0)) return call.status();
  call.dims({n}).reads_vector(x, n, incx).writes_vector(y, n, incy);
  return call.run([=] { cblas(routine::axpy<T>(), n, a.get(), x, incx, y, incy); });
}

template <class A, class T, class I>
cublasStatus_t scal(Entry entry, I n, const A* alpha, T* x, I incx) {
  Call call(entry);
  auto const a = call.scalar(alpha);
  if (call.done(n <= 0 || incx <= 0)) return call.status();
  call.dims({n}).writes_vector(x, n, incx);
  return call.run([=] { cblas(routine::scal<T>(), n, T(a.get()), x, incx); });
}

template <class T, class I>
cublasStatus_t copy(Entry entry, I n, const T* x, I incx, T* y, I incy) {
  Call call(entry);
  if (call.done(n <= 0)) return call.status();
  call.dims({n}).reads_vector(x, n, incx).writes_vector(y, n, incy);
  return call.run([=] { cblas(routine::copy<T>(), n, x, incx, y, incy); });
}

template <class T, class I>
cublasStatus_t swap(Entry entry, I n, T* x, I incx, T* y, I incy) {
  Call call(entry);
  if (call.done(n <= 0)) return call.status();
  call.dims({n}).writes_vector(x, n, incx).writes_vector(y, n, incy);
  return call.run([=] { cblas(routine::swap<T>(), n, x, incx, y, incy); });
}

// OpenBLAS reads one element too many of complex vectors with a stride: outside of the vector, so perhaps of the
// memory.
template <bool conjugated, class T, class I>
T strided_dot(I n, const T* x, I incx, const T* y, I incy) {
  x = vector_start(x, n, incx);
  y = vector_start(y, n, incy);
  T sum{};
  for (std::int64_t i = 0; i < n; ++i) sum += (conjugated ? std::conj(x[i * incx]) : x[i * incx]) * y[i * incy];
  return sum;
}

template <bool conjugated, class T, class I>
cublasStatus_t dot_product(Entry entry, I n, const T* x, I incx, const T* y, I incy, T* result) {
  Call call(entry);
  call.dims({n < 0 ? I{0} : n}).reads_vector(x, n, incx).reads_vector(y, n, incy);
  return call.run_for(result, [=]() -> T {
    if (n <= 0) return T{};
    if constexpr (kIsComplex<T>) {
      if (incx != 1 || incy != 1) return strided_dot<conjugated>(n, x, incx, y, incy);
      T sum{};
      cblas(conjugated ? routine::dotc_sub<T>() : routine::dotu_sub<T>(), n, x, incx, y, incy,
            static_cast<void*>(&sum));
      return sum;
    } else {
      return cblas(routine::dot<T>(), n, x, incx, y, incy);
    }
  });
}
template <class T, class I>
cublasStatus_t dot(Entry entry, I n, const T* x, I incx, const T* y, I incy, T* result) {
  return dot_product<false>(entry, n, x, incx, y, incy, result);
}
template <class T, class I>
cublasStatus_t dotu(Entry entry, I n, const T* x, I incx, const T* y, I incy, T* result) {
  return dot_product<false>(entry, n, x, incx, y, incy, result);
}
template <class T, class I>
cublasStatus_t dotc(Entry entry, I n, const T* x, I incx, const T* y, I incy, T* result) {
  return dot_product<true>(entry, n, x, incx, y, incy, result);
}

// A reduction of one vector; nothing to reduce gives 0, as documented.
template <class R, class T, class I, class F>
cublasStatus_t reduce(Entry entry, I n, const T* x, I incx, R* result, F function) {
  Call call(entry);
  bool const empty = n <= 0 || incx <= 0;
  if (!empty) call.dims({n}).reads_vector(x, n, incx);
  return call.run_for(result, [=]() -> R { return empty ? R{} : function(n, x, incx); });
}
template <class T, class I>
cublasStatus_t nrm2(Entry entry, I n, const T* x, I incx, Real<T>* result) {
  return reduce(entry, n, x, incx, result, [](I m, const T* v, I inc) { return cblas(routine::nrm2<T>(), m, v, inc); });
}
// OpenBLAS 0.3.21 sums complex numbers wrongly on processors with AVX-512 and BF16 (its pull request 4326). A complex
// vector is one of twice as many reals.
template <class T, class I>
cublasStatus_t asum(Entry entry, I n, const T* x, I incx, Real<T>* result) {
  return reduce(entry, n, x, incx, result, [](I m, const T* v, I inc) -> Real<T> {
    if constexpr (kIsComplex<T>) {
      if (inc == 1 && m <= INT_MAX / 2)
        return cblas(routine::asum<Real<T>>(), 2 * m, reinterpret_cast<const Real<T>*>(v), 1);
      Real<T> sum = 0;
      for (std::int64_t i = 0; i < m; ++i) sum += std::abs(v[i * inc].real()) + std::abs(v[i * inc].imag());
      return sum;
    } else {
      return cblas(routine::asum<T>(), m, v, inc);
    }
  });
}
// Indices count from 1.
template <class T, class I>
cublasStatus_t iamax(Entry entry, I n, const T* x, I incx, I* result) {
  return reduce(entry, n, x, incx, result,
                [](I m, const T* v, I inc) { return static_cast<I>(cblas(routine::iamax<T>(), m, v, inc) + 1); });
}
template <class T, class I>
cublasStatus_t iamin(Entry entry, I n, const T* x, I incx, I* result) {
  return reduce(entry, n, x, incx, result,
                [](I m, const T* v, I inc) { return static_cast<I>(cblas(routine::iamin<T>(), m, v, inc) + 1); });
}

// CBLAS lacks the rotation with a complex sine: one loop serves all.
template <class T, class C, class S, class I>
cublasStatus_t rot(Entry entry, I n, T* x, I incx, T* y, I incy, const C* c, const S* s) {
  Call call(entry);
  auto const cosine = call.scalar(c);
  auto const sine = call.scalar(s);
  if (call.done(n <= 0)) return call.status();
  call.dims({n}).writes_vector(x, n, incx).writes_vector(y, n, incy);
  return call.run([=] {
    C const cs = cosine.get();
    S const sn = sine.get();
    T* xi = vector_start(x, n, incx);
    T* yi = vector_start(y, n, incy);
    for (I i = 0; i < n; ++i, xi += incx, yi += incy) {
      T const turned = cs * *xi + sn * *yi;
      *yi = cs * *yi - conjugate(sn) * *xi;
      *xi = turned;
    }
  });
}

template <class T, class S>
cublasStatus_t rotg(Entry entry, T* a, T* b, Real<T>* c, S* s) {
  Call call(entry);
  call.require(a != nullptr && b != nullptr && c != nullptr && s != nullptr);
  if (call.ok() && call.device_scalars())
    call.writes(a, sizeof *a).writes(b, sizeof *b).writes(c, sizeof *c).writes(s, sizeof *s);
  return call.run_on_scalars([=] { routine::rotg<T>()(a, b, c, s); });
}

template <class T, class I>
cublasStatus_t rotm(Entry entry, I n, T* x, I incx, T* y, I incy, const T* param) {
  struct Five {
    T value[5];
  };
  Call call(entry);
  auto const p = call.scalar(reinterpret_cast<const Five*>(param));
  if (call.done(n <= 0)) return call.status();
  call.dims({n}).writes_vector(x, n, incx).writes_vector(y, n, incy);
  return call.run([=] {
    Five const five = p.get();
    cblas(routine::rotm<T>(), n, x, incx, y, incy, static_cast<const T*>(five.value));
  });
}

template <class T>
cublasStatus_t rotmg(Entry entry, T* d1, T* d2, T* x1, const T* y1, T* param) {
  Call call(entry);
  call.require(d1 != nullptr && d2 != nullptr && x1 != nullptr && y1 != nullptr && param != nullptr);
  if (call.ok() && call.device_scalars())
    call.writes(d1, sizeof *d1)
        .writes(d2, sizeof *d2)
        .writes(x1, sizeof *x1)
        .reads(y1, sizeof *y1)
        .writes(param, 5 * sizeof *param);
  return call.run_on_scalars([=] { routine::rotmg<T>()(d1, d2, x1, *y1, param); });
}

}  // namespace tidemark::softgpu::blas::api
