// SPDX-License-Identifier: Apache-2.0
// Floating-point functions that C's library lacks, and the intrinsics. The fast ones (__expf, __sinf, …) are the exact
// library functions here: closer to the mathematical value than a GPU's, and the same on every machine.
#pragma once
#include <math.h>
#include <stdlib.h>

#include "softgpu/kernel/shim/convert.h"

inline float __fdividef(float x, float y) {
  return x / y;
}
inline float __expf(float x) {
  return expf(x);
}
inline float __exp10f(float x) {
  return powf(10.0f, x);
}
inline float __logf(float x) {
  return logf(x);
}
inline float __log2f(float x) {
  return log2f(x);
}
inline float __log10f(float x) {
  return log10f(x);
}
inline float __sinf(float x) {
  return sinf(x);
}
inline float __cosf(float x) {
  return cosf(x);
}
inline float __tanf(float x) {
  return tanf(x);
}
inline float __tanhf(float x) {
  return tanhf(x);
}
inline float __powf(float x, float y) {
  return powf(x, y);
}
inline void __sincosf(float x, float* sine, float* cosine) {
  *sine = sinf(x);
  *cosine = cosf(x);
}
inline float __saturatef(float x) {
  return x >= 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f;
}  // a NaN becomes 0

// Through double and rounded once: right for all but a few floats in a million.
#if !defined(__GLIBC_PREREQ) || !__GLIBC_PREREQ(2, 42)
inline float rsqrtf(float x) {
  return static_cast<float>(1.0 / ::sqrt(static_cast<double>(x)));
}
inline double rsqrt(double x) {
  return 1.0 / ::sqrt(x);
}
#endif
inline float rsqrt(float x) {
  return rsqrtf(x);
}
inline float __frsqrt_rn(float x) {
  return rsqrtf(x);
}
inline float rcbrtf(float x) {
  return static_cast<float>(1.0 / ::cbrt(static_cast<double>(x)));
}
inline double rcbrt(double x) {
  return 1.0 / ::cbrt(x);
}
inline float fdividef(float x, float y) {
  return x / y;
}
inline float normcdff(float x) {
  return static_cast<float>(0.5 * ::erfc(-x * 0.70710678118654752440));
}
inline double normcdf(double x) {
  return 0.5 * ::erfc(-x * 0.70710678118654752440);
}
inline float rhypotf(float x, float y) {
  return static_cast<float>(1.0 / ::hypot(static_cast<double>(x), y));
}
inline double rhypot(double x, double y) {
  return 1.0 / ::hypot(x, y);
}
inline float norm3df(float a, float b, float c) {
  return static_cast<float>(std::hypot(double{a}, double{b}, double{c}));
}
inline double norm3d(double a, double b, double c) {
  return std::hypot(a, b, c);
}
inline float rnorm3df(float a, float b, float c) {
  return static_cast<float>(1.0 / std::hypot(double{a}, double{b}, double{c}));
}

#if !defined(__GLIBC_PREREQ) || !__GLIBC_PREREQ(2, 41)
// The argument is first brought into [-1, 1], exactly.
inline double sinpi(double x) {
  return ::sin(3.14159265358979323846 * ::remainder(x, 2.0));
}
inline double cospi(double x) {
  return ::cos(3.14159265358979323846 * ::remainder(x, 2.0));
}
inline float sinpif(float x) {
  return static_cast<float>(sinpi(static_cast<double>(x)));
}
inline float cospif(float x) {
  return static_cast<float>(cospi(static_cast<double>(x)));
}
#endif
inline void sincospif(float x, float* sine, float* cosine) {
  *sine = sinpif(x);
  *cosine = cospif(x);
}
inline void sincospi(double x, double* sine, double* cosine) {
  *sine = sinpi(x);
  *cosine = cospi(x);
}

// One operation, one rounding, never contracted into another: __fadd_rn, __dmul_rz, …
#define SOFTGPU_UNARY(mode, prefix, T, name, expression)                                               \
  inline T __##prefix##name##_##mode(T a) {                                                            \
    volatile T const x = a;                                                                            \
    return ::tidemark::softgpu::rounded(::tidemark::softgpu::mode, [&]() -> T { return expression; }); \
  }
#define SOFTGPU_BINARY(mode, prefix, T, name, expression)                                              \
  inline T __##prefix##name##_##mode(T a, T b) {                                                       \
    volatile T const x = a, y = b;                                                                     \
    return ::tidemark::softgpu::rounded(::tidemark::softgpu::mode, [&]() -> T { return expression; }); \
  }
#define SOFTGPU_TERNARY(mode, prefix, T, name, expression)                                             \
  inline T __##prefix##name##_##mode(T a, T b, T c) {                                                  \
    volatile T const x = a, y = b, z = c;                                                              \
    return ::tidemark::softgpu::rounded(::tidemark::softgpu::mode, [&]() -> T { return expression; }); \
  }
#define SOFTGPU_ARITHMETIC(prefix, T, fma_name)                          \
  SOFTGPU_EACH_ROUNDING(SOFTGPU_BINARY, prefix, T, add, x + y)           \
  SOFTGPU_EACH_ROUNDING(SOFTGPU_BINARY, prefix, T, sub, x - y)           \
  SOFTGPU_EACH_ROUNDING(SOFTGPU_BINARY, prefix, T, mul, x* y)            \
  SOFTGPU_EACH_ROUNDING(SOFTGPU_BINARY, prefix, T, div, x / y)           \
  SOFTGPU_EACH_ROUNDING(SOFTGPU_UNARY, prefix, T, rcp, T{1} / x)         \
  SOFTGPU_EACH_ROUNDING(SOFTGPU_UNARY, prefix, T, sqrt, std::sqrt(T{x})) \
  SOFTGPU_EACH_ROUNDING(SOFTGPU_TERNARY, , T, fma_name, std::fma(T{x}, T{y}, T{z}))
SOFTGPU_ARITHMETIC(f, float, fmaf)
SOFTGPU_ARITHMETIC(d, double, fma)
#undef SOFTGPU_ARITHMETIC
#undef SOFTGPU_TERNARY
#undef SOFTGPU_BINARY
#undef SOFTGPU_UNARY
#undef SOFTGPU_EACH_ROUNDING
