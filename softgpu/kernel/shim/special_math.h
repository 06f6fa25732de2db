// SPDX-License-Identifier: Apache-2.0
// Special functions that neither C nor C++ has, and the norms. Computed in a wider type and rounded once.
#pragma once
#include <cmath>
#include <limits>

#include "softgpu/kernel/shim/float_math.h"

namespace tidemark::softgpu {

inline constexpr long double kTwoOverSqrtPi = 1.12837916709551257389615890312154517L;

// The x in [0, inf) with erfc(x) = y, for y in (0, 1]: Halley's steps from a rough start (each triples the digits).
inline long double inverse_erfc(long double y) {
  long double const t = std::sqrt(-2 * std::log(y / 2));
  long double x = 0.70711L * (t - (2.30753L + t * 0.27061L) / (1 + t * (0.99229L + t * 0.04481L)));
  for (int i = 0; i < 4; ++i) {
    long double const step = (std::erfc(x) - y) / (-kTwoOverSqrtPi * std::exp(-x * x));
    x -= step / (1 + x * step);
  }
  return x;
}
inline long double erfc_inverse(long double y) {
  if (!(y >= 0 && y <= 2)) return std::numeric_limits<long double>::quiet_NaN();
  if (y == 0 || y == 2) return y == 0 ? INFINITY : -INFINITY;
  return y <= 1 ? inverse_erfc(y) : -inverse_erfc(2 - y);
}
inline long double erf_inverse(long double x) {
  long double const size = std::fabs(x);
  if (size >= 0.5L || std::isnan(x)) return x < 0 ? -erfc_inverse(1 - size) : erfc_inverse(1 - x);
  long double at = x / kTwoOverSqrtPi;
  for (int i = 0; i < 5; ++i) {
    long double const step = (std::erf(at) - x) / (kTwoOverSqrtPi * std::exp(-at * at));
    at -= step / (1 + at * step);
  }
  return at;
}
// exp(x*x) erfc(x), also where the factors overflow and vanish: there by its continued fraction.
inline long double erfc_scaled(long double x) {
  if (x < 10) return std::exp(x * x) * std::erfc(x);
  long double tail = x;
  for (int k = 40; k >= 1; --k) tail = x + k / 2.0L / tail;
  return kTwoOverSqrtPi / 2 / tail;
}
inline double bessel_i(int order, double x) {
  constexpr double kOverflows = 714;
  double const size = std::fabs(x);
  double const value = size < kOverflows ? std::cyl_bessel_i(static_cast<double>(order), size) : size * INFINITY;
  return order % 2 != 0 && x < 0 ? -value : value;
}

// The squares of doubles fit into a long double, those of floats into a double.
inline long double length(int n, const double* p) {
  long double sum = 0;
  for (int i = 0; i < n; ++i) sum += static_cast<long double>(p[i]) * p[i];
  return std::sqrt(sum);
}
inline double length(int n, const float* p) {
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += static_cast<double>(p[i]) * p[i];
  return std::sqrt(sum);
}

}  // namespace tidemark::softgpu

// A function of one argument for both types.
#define SOFTGPU_SPECIAL(name, expression)       \
  inline double name(double x) {                \
    return static_cast<double>(expression);     \
  }                                             \
  inline float name##f(float x) {               \
    return static_cast<float>(name(double{x})); \
  }
SOFTGPU_SPECIAL(erfinv, ::tidemark::softgpu::erf_inverse(x))
SOFTGPU_SPECIAL(erfcinv, ::tidemark::softgpu::erfc_inverse(x))
SOFTGPU_SPECIAL(normcdfinv,
                -1.41421356237309504880169L * ::tidemark::softgpu::erfc_inverse(2 * static_cast<long double>(x)))
SOFTGPU_SPECIAL(erfcx, ::tidemark::softgpu::erfc_scaled(x))
SOFTGPU_SPECIAL(cyl_bessel_i0, ::tidemark::softgpu::bessel_i(0, x))
SOFTGPU_SPECIAL(cyl_bessel_i1, ::tidemark::softgpu::bessel_i(1, x))
#undef SOFTGPU_SPECIAL

#define SOFTGPU_NORMS(T, f)                                       \
  inline T norm##f(int n, const T* p) {                           \
    return static_cast<T>(::tidemark::softgpu::length(n, p));     \
  }                                                               \
  inline T rnorm##f(int n, const T* p) {                          \
    return static_cast<T>(1 / ::tidemark::softgpu::length(n, p)); \
  }                                                               \
  inline T norm4d##f(T a, T b, T c, T d) {                        \
    T const all[] = {a, b, c, d};                                 \
    return norm##f(4, all);                                       \
  }                                                               \
  inline T rnorm4d##f(T a, T b, T c, T d) {                       \
    T const all[] = {a, b, c, d};                                 \
    return rnorm##f(4, all);                                      \
  }
SOFTGPU_NORMS(double, )
SOFTGPU_NORMS(float, f)
#undef SOFTGPU_NORMS
inline double rnorm3d(double a, double b, double c) {
  double const all[] = {a, b, c};
  return rnorm(3, all);
}
inline double fdivide(double x, double y) {
  return x / y;
}
