// SPDX-License-Identifier: Apache-2.0
// Bits as another type, and conversions with a rounding of their own: rn to nearest even, rz to zero, ru up, rd down.
#pragma once
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <limits>

inline int __float_as_int(float x) {
  return std::bit_cast<int>(x);
}
inline unsigned __float_as_uint(float x) {
  return std::bit_cast<unsigned>(x);
}
inline float __int_as_float(int x) {
  return std::bit_cast<float>(x);
}
inline float __uint_as_float(unsigned x) {
  return std::bit_cast<float>(x);
}
inline long long __double_as_longlong(double x) {
  return std::bit_cast<long long>(x);
}
inline double __longlong_as_double(long long x) {
  return std::bit_cast<double>(x);
}
inline int __double2hiint(double x) {
  return static_cast<int>(std::bit_cast<std::int64_t>(x) >> 32);
}
inline int __double2loint(double x) {
  return static_cast<int>(std::bit_cast<std::uint64_t>(x) & 0xffffffffu);
}
inline double __hiloint2double(int high, int low) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(static_cast<unsigned>(high)) << 32 |
                               static_cast<unsigned>(low));
}

namespace tidemark::softgpu {

enum Rounding { rn = FE_TONEAREST, rz = FE_TOWARDZERO, ru = FE_UPWARD, rd = FE_DOWNWARD };

// Computes under another rounding. The operands are volatile, so the operation stays between the two changes of mode.
template <class Compute>
inline auto rounded(Rounding rounding, Compute compute) {
  if (rounding == rn) return compute();
  std::fesetround(rounding);
  volatile auto const result = compute();
  std::fesetround(FE_TONEAREST);
  return static_cast<decltype(compute())>(result);
}

template <class To, class From>
inline To round_to(From from, Rounding rounding) {
  volatile From const operand = from;
  return rounded(rounding, [&] { return static_cast<To>(operand); });
}

// Out of range saturates, and a NaN is 0 (the lowest value for 64 bits), as the hardware's conversion does.
template <class To, class From>
inline To round_to_integer(From x, Rounding rounding) {
  using Limits = std::numeric_limits<To>;
  if (std::isnan(x)) return sizeof(To) < 8 ? To{0} : static_cast<To>(To{1} << (sizeof(To) * 8 - 1));
  From const whole = rounding == rz   ? std::trunc(x)
                     : rounding == ru ? std::ceil(x)
                     : rounding == rd ? std::floor(x)
                                      : std::nearbyint(x);
  // 2^digits is exact in every floating type, Limits::max() may not be.
  if (whole >= std::ldexp(From{1}, Limits::digits)) return Limits::max();
  if (whole <= static_cast<From>(Limits::min())) return Limits::min();
  return static_cast<To>(whole);
}

}  // namespace tidemark::softgpu

#define SOFTGPU_EACH_ROUNDING(M, ...) M(rn, __VA_ARGS__) M(rz, __VA_ARGS__) M(ru, __VA_ARGS__) M(rd, __VA_ARGS__)
#define SOFTGPU_TO_INTEGER(mode, name, From, To)                                    \
  inline To __##name##_##mode(From x) {                                             \
    return ::tidemark::softgpu::round_to_integer<To>(x, ::tidemark::softgpu::mode); \
  }
#define SOFTGPU_TO_FLOAT(mode, name, From, To)                              \
  inline To __##name##_##mode(From x) {                                     \
    return ::tidemark::softgpu::round_to<To>(x, ::tidemark::softgpu::mode); \
  }
SOFTGPU_EACH_ROUNDING(SOFTGPU_TO_INTEGER, float2int, float, int)
SOFTGPU_EACH_ROUNDING(SOFTGPU_TO_INTEGER, float2uint, float, unsigned)
SOFTGPU_EACH_ROUNDING(SOFTGPU_TO_INTEGER, float2ll, float, long long)
SOFTGPU_EACH_ROUNDING(SOFTGPU_TO_INTEGER, float2ull, float, unsigned long long)
SOFTGPU_EACH_ROUNDING(SOFTGPU_TO_INTEGER, double2int, double, int)
SOFTGPU_EACH_ROUNDING(SOFTGPU_TO_INTEGER, double2uint, double, unsigned)
SOFTGPU_EACH_ROUNDING(SOFTGPU_TO_INTEGER, double2ll, double, long long)
SOFTGPU_EACH_ROUNDING(SOFTGPU_TO_INTEGER, double2ull, double, unsigned long long)
SOFTGPU_EACH_ROUNDING(SOFTGPU_TO_FLOAT, int2float, int, float)
SOFTGPU_EACH_ROUNDING(SOFTGPU_TO_FLOAT, uint2float, unsigned, float)
SOFTGPU_EACH_ROUNDING(SOFTGPU_TO_FLOAT, ll2float, long long, float)
SOFTGPU_EACH_ROUNDING(SOFTGPU_TO_FLOAT, ull2float, unsigned long long, float)
SOFTGPU_EACH_ROUNDING(SOFTGPU_TO_FLOAT, ll2double, long long, double)
SOFTGPU_EACH_ROUNDING(SOFTGPU_TO_FLOAT, ull2double, unsigned long long, double)
SOFTGPU_EACH_ROUNDING(SOFTGPU_TO_FLOAT, double2float, double, float)
inline double __int2double_rn(int x) {
  return x;
}
inline double __uint2double_rn(unsigned x) {
  return x;
}
#undef SOFTGPU_TO_INTEGER
#undef SOFTGPU_TO_FLOAT
