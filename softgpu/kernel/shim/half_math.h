// SPDX-License-Identifier: Apache-2.0
// half and bfloat16 functions that the toolkit's headers keep for nvcc; conversions, operators and comparisons are
// theirs. Each computes in a wider type and rounds once to nearest even.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <bit>
#include <cmath>
#include <cstdint>

#include "softgpu/kernel/shim/convert.h"

namespace tidemark::softgpu {

inline double widen(__half x) {
  return static_cast<double>(__half2float(x));
}
inline double widen(__nv_bfloat16 x) {
  return static_cast<double>(__bfloat162float(x));
}
template <class H>
inline H narrow(double x);
template <>
inline __half narrow<__half>(double x) {
  return __double2half(x);
}
template <>
inline __nv_bfloat16 narrow<__nv_bfloat16>(double x) {
  return __double2bfloat16(x);
}

// a*b + c, rounded once. The product is exact in a double; the sum is made odd in its last bit when it is inexact, so
// that the rounding to 16 bits cannot meet a tie that the first rounding made.
inline double sum_rounded_to_odd(double product, double c) {
  double const sum = product + c;
  double const back = sum - product;
  double const error = (product - (sum - back)) + (c - back);
  if (error == 0 || !std::isfinite(sum) || std::bit_cast<std::uint64_t>(sum) & 1) return sum;
  return std::nextafter(sum, error > 0 ? INFINITY : -INFINITY);
}
template <class H>
inline H fused(H a, H b, H c) {
  return narrow<H>(sum_rounded_to_odd(widen(a) * widen(b), widen(c)));
}
template <class H>
inline H clamp_unit(H x) {
  double const wide = widen(x);
  return wide >= 0 ? narrow<H>(wide < 1 ? wide : 1.0) : narrow<H>(0.0);
}
template <class H>
inline H clamp_positive(H x) {
  return widen(x) < 0 ? narrow<H>(0.0) : x;
}

}  // namespace tidemark::softgpu

// One body for both types and for their pairs.
#define SOFTGPU_HALF_FMA(H, H2)                                        \
  inline H __hfma(H a, H b, H c) {                                     \
    return ::tidemark::softgpu::fused(a, b, c);                        \
  }                                                                    \
  inline H __hfma_sat(H a, H b, H c) {                                 \
    return ::tidemark::softgpu::clamp_unit(__hfma(a, b, c));           \
  }                                                                    \
  inline H __hfma_relu(H a, H b, H c) {                                \
    return ::tidemark::softgpu::clamp_positive(__hfma(a, b, c));       \
  }                                                                    \
  inline H2 __hfma2(H2 a, H2 b, H2 c) {                                \
    return H2(__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y));           \
  }                                                                    \
  inline H2 __hfma2_sat(H2 a, H2 b, H2 c) {                            \
    return H2(__hfma_sat(a.x, b.x, c.x), __hfma_sat(a.y, b.y, c.y));   \
  }                                                                    \
  inline H2 __hfma2_relu(H2 a, H2 b, H2 c) {                           \
    return H2(__hfma_relu(a.x, b.x, c.x), __hfma_relu(a.y, b.y, c.y)); \
  }
SOFTGPU_HALF_FMA(__half, __half2)
SOFTGPU_HALF_FMA(__nv_bfloat16, __nv_bfloat162)
#undef SOFTGPU_HALF_FMA

#define SOFTGPU_HALF_FUNCTION(name, expression)                    \
  inline __half h##name(__half h) {                                \
    double const x = ::tidemark::softgpu::widen(h);                \
    return ::tidemark::softgpu::narrow<__half>(expression);        \
  }                                                                \
  inline __nv_bfloat16 h##name(__nv_bfloat16 h) {                  \
    double const x = ::tidemark::softgpu::widen(h);                \
    return ::tidemark::softgpu::narrow<__nv_bfloat16>(expression); \
  }                                                                \
  inline __half2 h2##name(__half2 h) {                             \
    return __half2(h##name(h.x), h##name(h.y));                    \
  }                                                                \
  inline __nv_bfloat162 h2##name(__nv_bfloat162 h) {               \
    return __nv_bfloat162(h##name(h.x), h##name(h.y));             \
  }
SOFTGPU_HALF_FUNCTION(sqrt, std::sqrt(x))
SOFTGPU_HALF_FUNCTION(rsqrt, 1.0 / std::sqrt(x))
SOFTGPU_HALF_FUNCTION(rcp, 1.0 / x)
SOFTGPU_HALF_FUNCTION(exp, std::exp(x))
SOFTGPU_HALF_FUNCTION(exp2, std::exp2(x))
SOFTGPU_HALF_FUNCTION(exp10, std::pow(10.0, x))
SOFTGPU_HALF_FUNCTION(log, std::log(x))
SOFTGPU_HALF_FUNCTION(log2, std::log2(x))
SOFTGPU_HALF_FUNCTION(log10, std::log10(x))
SOFTGPU_HALF_FUNCTION(sin, std::sin(x))
SOFTGPU_HALF_FUNCTION(cos, std::cos(x))
SOFTGPU_HALF_FUNCTION(tanh, std::tanh(x))
SOFTGPU_HALF_FUNCTION(tanh_approx, std::tanh(x))
SOFTGPU_HALF_FUNCTION(floor, std::floor(x))
SOFTGPU_HALF_FUNCTION(ceil, std::ceil(x))
SOFTGPU_HALF_FUNCTION(trunc, std::trunc(x))
SOFTGPU_HALF_FUNCTION(rint, std::nearbyint(x))
#undef SOFTGPU_HALF_FUNCTION

// To integers; rz is the toolkit's own.
#define SOFTGPU_HALF_TO_INTEGER(mode, H, name, To)                                                              \
  inline To __##name##_##mode(H x) {                                                                            \
    return ::tidemark::softgpu::round_to_integer<To>(::tidemark::softgpu::widen(x), ::tidemark::softgpu::mode); \
  }
#define SOFTGPU_HALF_TO_INTEGERS(mode)                                          \
  SOFTGPU_HALF_TO_INTEGER(mode, __half, half2short, short)                      \
  SOFTGPU_HALF_TO_INTEGER(mode, __half, half2ushort, unsigned short)            \
  SOFTGPU_HALF_TO_INTEGER(mode, __half, half2int, int)                          \
  SOFTGPU_HALF_TO_INTEGER(mode, __half, half2uint, unsigned)                    \
  SOFTGPU_HALF_TO_INTEGER(mode, __half, half2ll, long long)                     \
  SOFTGPU_HALF_TO_INTEGER(mode, __half, half2ull, unsigned long long)           \
  SOFTGPU_HALF_TO_INTEGER(mode, __nv_bfloat16, bfloat162short, short)           \
  SOFTGPU_HALF_TO_INTEGER(mode, __nv_bfloat16, bfloat162ushort, unsigned short) \
  SOFTGPU_HALF_TO_INTEGER(mode, __nv_bfloat16, bfloat162int, int)               \
  SOFTGPU_HALF_TO_INTEGER(mode, __nv_bfloat16, bfloat162uint, unsigned)         \
  SOFTGPU_HALF_TO_INTEGER(mode, __nv_bfloat16, bfloat162ll, long long)          \
  SOFTGPU_HALF_TO_INTEGER(mode, __nv_bfloat16, bfloat162ull, unsigned long long)
SOFTGPU_HALF_TO_INTEGERS(rn)
SOFTGPU_HALF_TO_INTEGERS(ru)
SOFTGPU_HALF_TO_INTEGERS(rd)
#undef SOFTGPU_HALF_TO_INTEGERS
#undef SOFTGPU_HALF_TO_INTEGER

// From integers; rn is the toolkit's own.
namespace tidemark::softgpu {
template <class From>
inline __nv_bfloat16 bfloat16_from(From x, Rounding rounding) {
  // In the direction of the rounding to 24 bits and then to 8: twice the same direction is once.
  float const wide = round_to<float>(x, rounding);
  auto const bits = std::bit_cast<std::uint32_t>(wide);
  bool const away = (bits & 0xffff) != 0 && rounding != rz && (rounding == ru) == (wide > 0);
  return __ushort_as_bfloat16(static_cast<unsigned short>((bits >> 16) + (away ? 1 : 0)));
}
}  // namespace tidemark::softgpu
#define SOFTGPU_TO_BFLOAT16(mode, name, From)                                \
  inline __nv_bfloat16 __##name##2bfloat16_##mode(From x) {                  \
    return ::tidemark::softgpu::bfloat16_from(x, ::tidemark::softgpu::mode); \
  }
#define SOFTGPU_EACH_INTEGER(mode)                  \
  SOFTGPU_TO_BFLOAT16(mode, short, short)           \
  SOFTGPU_TO_BFLOAT16(mode, ushort, unsigned short) \
  SOFTGPU_TO_BFLOAT16(mode, int, int)               \
  SOFTGPU_TO_BFLOAT16(mode, uint, unsigned)         \
  SOFTGPU_TO_BFLOAT16(mode, ll, long long)          \
  SOFTGPU_TO_BFLOAT16(mode, ull, unsigned long long)
SOFTGPU_EACH_INTEGER(rz)
SOFTGPU_EACH_INTEGER(ru)
SOFTGPU_EACH_INTEGER(rd)
#undef SOFTGPU_EACH_INTEGER
#undef SOFTGPU_TO_BFLOAT16

// a*b + c of complex numbers (x + iy), each part by two fused operations.
#define SOFTGPU_COMPLEX_FMA(H2)                                                                          \
  inline H2 __hcmadd(H2 a, H2 b, H2 c) {                                                                 \
    return H2(__hfma(__hneg(a.y), b.y, __hfma(a.x, b.x, c.x)), __hfma(a.y, b.x, __hfma(a.x, b.y, c.y))); \
  }
SOFTGPU_COMPLEX_FMA(__half2)
SOFTGPU_COMPLEX_FMA(__nv_bfloat162)
#undef SOFTGPU_COMPLEX_FMA
