// SPDX-License-Identifier: Apache-2.0
// Conversions with the processor's own instructions and without them: the same bits, whatever the length.
#include "softgpu/blas/convert.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <vector>

namespace tidemark::softgpu::blas {
namespace {

class Convert : public testing::TestWithParam<Instructions> {
 protected:
  void SetUp() override {
    if (GetParam() == Instructions::Vector && best_instructions() != Instructions::Vector)
      GTEST_SKIP() << "this processor has no AVX2 with F16C";
  }
  static std::vector<float> widened(cudaDataType type, const std::vector<std::uint16_t>& from) {
    std::vector<float> wide(from.size());
    widen(type, from.data(), wide.data(), from.size(), GetParam());
    return wide;
  }
  static std::vector<std::uint16_t> narrowed(cudaDataType type, const std::vector<float>& from) {
    std::vector<std::uint16_t> out(from.size());
    narrow(type, from.data(), out.data(), from.size(), GetParam());
    return out;
  }
};

std::vector<std::uint16_t> all_bits() {
  std::vector<std::uint16_t> all(65536);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::uint16_t>(i);
  return all;
}

// What the bits mean, by the definition of the format.
float meaning(cudaDataType type, std::uint16_t bits) {
  int const mantissa_bits = type == CUDA_R_16F ? 10 : 7, exponent_bits = 15 - mantissa_bits;
  int const bias = (1 << (exponent_bits - 1)) - 1;
  int const exponent = (bits & 0x7fff) >> mantissa_bits, mantissa = bits & ((1 << mantissa_bits) - 1);
  double value = exponent == 0 ? std::ldexp(mantissa, 1 - bias - mantissa_bits)
                               : std::ldexp(mantissa + (1 << mantissa_bits), exponent - bias - mantissa_bits);
  if (exponent == (1 << exponent_bits) - 1) value = mantissa == 0 ? INFINITY : NAN;
  return static_cast<float>((bits & 0x8000) != 0 ? -value : value);
}

TEST_P(Convert, EveryStoredValueIsWhatTheFormatSays) {
  for (cudaDataType const type : {CUDA_R_16F, CUDA_R_16BF}) {
    auto const all = all_bits();
    auto const wide = widened(type, all);
    auto const back = narrowed(type, wide);
    for (std::size_t i = 0; i < all.size(); ++i) {
      float const expected = meaning(type, all[i]);
      if (std::isnan(expected)) {
        ASSERT_TRUE(std::isnan(wide[i])) << i;
        ASSERT_TRUE(std::isnan(meaning(type, back[i]))) << i;
      } else {
        ASSERT_EQ(std::bit_cast<std::uint32_t>(expected), std::bit_cast<std::uint32_t>(wide[i])) << i;
        ASSERT_EQ(all[i], back[i]) << i;
      }
    }
  }
}

TEST_P(Convert, RoundsToNearestAndTiesToEven) {
  auto const half = [](float value) { return narrowed(CUDA_R_16F, std::vector<float>(9, value)).front(); };
  auto const bfloat = [](float value) { return narrowed(CUDA_R_16BF, std::vector<float>(9, value)).front(); };
  EXPECT_EQ(half(1.0f + 0x1p-11f), 0x3c00);
  EXPECT_EQ(half(1.0f + 3 * 0x1p-11f), 0x3c02);
  EXPECT_EQ(half(65520.0f), 0x7c00);  // the tie above the largest is infinite
  EXPECT_EQ(half(65519.0f), 0x7bff);
  EXPECT_EQ(half(0x1p-25f), 0);  // a tie between nothing and the smallest
  EXPECT_EQ(half(0x1.8p-25f), 1);
  EXPECT_EQ(half(-0.0f), 0x8000);
  EXPECT_EQ(bfloat(1.0f + 0x1p-8f), 0x3f80);
  EXPECT_EQ(bfloat(1.0f + 3 * 0x1p-8f), 0x3f82);
  EXPECT_EQ(bfloat(std::numeric_limits<float>::max()), 0x7f80);
}

// Groups of eight and what is left over; every start, so that no alignment is counted on.
TEST_P(Convert, AnyLengthAndPlaceGivesTheSameBitsAsOneByOne) {
  std::mt19937 random(1);
  std::vector<float> values(4096);
  for (float& value : values) value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
  for (cudaDataType const type : {CUDA_R_16F, CUDA_R_16BF})
    for (std::size_t start = 0; start < 9; ++start)
      for (std::size_t count : {0u, 1u, 7u, 8u, 9u, 15u, 16u, 17u, 1000u, 4000u}) {
        std::vector<std::uint16_t> narrow_bits(count + 1, 0xabcd);
        narrow(type, values.data() + start, narrow_bits.data(), count, GetParam());
        ASSERT_EQ(0xabcd, narrow_bits[count]);
        for (std::size_t i = 0; i < count; ++i) {
          float const value = values[start + i];
          ASSERT_EQ(narrow_bits[i], type == CUDA_R_16F ? float_to_half(value) : float_to_bfloat(value)) << value;
        }
        std::vector<float> wide(count + 1, 1.5f);
        widen(type, narrow_bits.data(), wide.data(), count, GetParam());
        ASSERT_EQ(1.5f, wide[count]);
        for (std::size_t i = 0; i < count; ++i) {
          float const one = type == CUDA_R_16F ? half_to_float(narrow_bits[i]) : bfloat_to_float(narrow_bits[i]);
          ASSERT_EQ(std::bit_cast<std::uint32_t>(one), std::bit_cast<std::uint32_t>(wide[i]));
        }
      }
}

INSTANTIATE_TEST_SUITE_P(Both, Convert, testing::Values(Instructions::Portable, Instructions::Vector),
                         [](auto const& given) {
                           return given.param == Instructions::Portable ? "Portable" : "Vector";
                         });

}  // namespace
}  // namespace tidemark::softgpu::blas
