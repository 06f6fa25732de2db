// SPDX-License-Identifier: Apache-2.0
#include "softgpu/blas/convert.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#define SOFTGPU_AVX2 __attribute__((target("avx2,f16c")))
#endif

namespace tidemark::softgpu::blas {

float half_to_float(std::uint16_t bits) {
  std::uint32_t const sign = static_cast<std::uint32_t>(bits & 0x8000u) << 16;
  std::uint32_t const exponent = (bits >> 10) & 0x1fu;
  std::uint32_t const mantissa = bits & 0x3ffu;
  // Subnormals: the mantissa counts units of 2^-24.
  if (exponent == 0) return std::copysign(std::ldexp(static_cast<float>(mantissa), -24), std::bit_cast<float>(sign));
  if (exponent == 31) {
    std::uint32_t const quiet = mantissa != 0 ? 0x400000u : 0u;  // as the hardware's conversion does
    return std::bit_cast<float>(sign | 0x7f800000u | quiet | (mantissa << 13));
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (mantissa << 13));
}

std::uint16_t float_to_half(float value) {
  std::uint32_t const bits = std::bit_cast<std::uint32_t>(value);
  auto const sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000u);
  std::uint32_t const magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u | ((magnitude >> 13) & 0x3ffu));
  if (magnitude >= 0x47800000u) return static_cast<std::uint16_t>(sign | 0x7c00u);  // 65536 and above
  if (magnitude < 0x38800000u) {                                                    // below 2^-14: subnormal
    // Adding 0.5 puts units of 2^-24 into the last mantissa bits, rounded by the addition itself.
    float const shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u));
  }
  std::uint32_t const rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return static_cast<std::uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

float bfloat_to_float(std::uint16_t bits) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
}

std::uint16_t float_to_bfloat(float value) {
  std::uint32_t const bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

namespace {

// Element by element, for the tail of a vector and for processors without the instructions.
template <class Stored, class F>
void widen_each(const Stored* from, float* to, std::size_t first, std::size_t count, F convert) {
  for (std::size_t i = first; i < count; ++i) to[i] = convert(from[i]);
}
template <class Stored, class F>
void narrow_each(const float* from, Stored* to, std::size_t first, std::size_t count, F convert) {
  for (std::size_t i = first; i < count; ++i) to[i] = convert(from[i]);
}

template <class Int>
Int saturate(float value) {
  // The largest int32 is not a float; the comparison is with the next one, 2^31.
  constexpr double kLow = std::numeric_limits<Int>::min(), kHigh = std::numeric_limits<Int>::max();
  if (std::isnan(value)) return 0;
  return static_cast<Int>(std::clamp(static_cast<double>(std::nearbyint(value)), kLow, kHigh));
}

#if defined(__x86_64__)
// F16C, of which clang 14 does not know the name.
bool converts_halves() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
}
bool has_vectors() {
  static bool const has = __builtin_cpu_supports("avx2") && converts_halves();
  return has;
}

// Each handles the whole groups of 8 and says how many elements that were.
SOFTGPU_AVX2 std::size_t widen_half8(const std::uint16_t* source, float* target, std::size_t count) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm256_storeu_ps(target + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(source + i))));
  return i;
}
SOFTGPU_AVX2 std::size_t narrow_half8(const float* source, std::uint16_t* target, std::size_t count) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(target + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(source + i), _MM_FROUND_TO_NEAREST_INT));
  return i;
}
SOFTGPU_AVX2 std::size_t widen_bfloat8(const std::uint16_t* source, float* target, std::size_t count) {
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    __m256i const wide = _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(source + i)));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(target + i), _mm256_slli_epi32(wide, 16));
  }
  return i;
}
SOFTGPU_AVX2 std::size_t narrow_bfloat8(const float* source, std::uint16_t* target, std::size_t count) {
  __m256i const bias = _mm256_set1_epi32(0x7fff), one = _mm256_set1_epi32(1), quiet = _mm256_set1_epi32(0x400000);
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    __m256 const value = _mm256_loadu_ps(source + i);
    __m256i const bits = _mm256_castps_si256(value);
    __m256i const odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), one);
    __m256i const rounded = _mm256_add_epi32(bits, _mm256_add_epi32(bias, odd));
    __m256i const nan = _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q));
    __m256i const kept = _mm256_srli_epi32(_mm256_blendv_epi8(rounded, _mm256_or_si256(bits, quiet), nan), 16);
    __m128i const packed = _mm_packus_epi32(_mm256_castsi256_si128(kept), _mm256_extracti128_si256(kept, 1));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(target + i), packed);
  }
  return i;
}
#else
bool has_vectors() {
  return false;
}
std::size_t widen_half8(const std::uint16_t*, float*, std::size_t) {
  return 0;
}
std::size_t narrow_half8(const float*, std::uint16_t*, std::size_t) {
  return 0;
}
std::size_t widen_bfloat8(const std::uint16_t*, float*, std::size_t) {
  return 0;
}
std::size_t narrow_bfloat8(const float*, std::uint16_t*, std::size_t) {
  return 0;
}
#endif

}  // namespace

bool converts_to_float(cudaDataType type) {
  return type == CUDA_R_16F || type == CUDA_R_16BF || type == CUDA_R_32F || type == CUDA_R_8I || type == CUDA_R_32I;
}

Instructions best_instructions() {
  return has_vectors() ? Instructions::Vector : Instructions::Portable;
}

void widen(cudaDataType type, const void* source, float* target, std::size_t count, Instructions instructions) {
  auto const* const bits = static_cast<const std::uint16_t*>(source);
  bool const vectors = instructions == Instructions::Vector;
  switch (type) {
    case CUDA_R_16F:
      return widen_each(bits, target, vectors ? widen_half8(bits, target, count) : 0, count, half_to_float);
    case CUDA_R_16BF:
      return widen_each(bits, target, vectors ? widen_bfloat8(bits, target, count) : 0, count, bfloat_to_float);
    case CUDA_R_8I:
      return widen_each(static_cast<const std::int8_t*>(source), target, 0, count,
                        [](std::int8_t v) { return static_cast<float>(v); });
    case CUDA_R_32I:
      return widen_each(static_cast<const std::int32_t*>(source), target, 0, count,
                        [](std::int32_t v) { return static_cast<float>(v); });
    default: std::memcpy(target, source, count * sizeof(float));
  }
}

void narrow(cudaDataType type, const float* source, void* target, std::size_t count, Instructions instructions) {
  auto* const bits = static_cast<std::uint16_t*>(target);
  bool const vectors = instructions == Instructions::Vector;
  switch (type) {
    case CUDA_R_16F:
      return narrow_each(source, bits, vectors ? narrow_half8(source, bits, count) : 0, count, float_to_half);
    case CUDA_R_16BF:
      return narrow_each(source, bits, vectors ? narrow_bfloat8(source, bits, count) : 0, count, float_to_bfloat);
    case CUDA_R_8I: return narrow_each(source, static_cast<std::int8_t*>(target), 0, count, saturate<std::int8_t>);
    case CUDA_R_32I: return narrow_each(source, static_cast<std::int32_t*>(target), 0, count, saturate<std::int32_t>);
    default: std::memcpy(target, source, count * sizeof(float));
  }
}

}  // namespace tidemark::softgpu::blas
