// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <bit>
#include <cfenv>
#include <climits>
#include <cmath>
#include <cstring>
#include <random>

#include "tests/unit/softgpu/kernel/bodies/types.h"
#include "tests/unit/softgpu/kernel/support.h"

namespace tidemark::softgpu::testing {
namespace {

Shape flat_shape(int n) {
  return {.grid = {static_cast<unsigned>(n + 127) / 128, 1, 1}, .block = {128, 1, 1}};
}

template <class T>
T reversed_bits(T x) {
  T result = 0;
  for (unsigned i = 0; i < sizeof(T) * 8; ++i) result |= (x >> i & 1) << (sizeof(T) * 8 - 1 - i);
  return result;
}

TEST(Integer, IntrinsicsAgreeWithPlainDefinitions) {
  std::vector<unsigned long long> in{
      0, 1, ~0ull, 1ull << 63, 0x80000000ull, 0x7fffffff7fffffffull, 0xff00ff00ff00ff00ull};
  std::mt19937_64 random(3);
  while (in.size() < 1000) in.push_back(random());
  int const n = static_cast<int>(in.size());
  std::vector<IntegerResults> out(in.size());
  const unsigned long long* pin = in.data();
  ASSERT_EQ(launch("integer_functions", flat_shape(n), pin, out.data(), n), SOFTGPU_KERNEL_OK);
  for (int i = 0; i < n; ++i) {
    SCOPED_TRACE(in[i]);
    const IntegerResults& r = out[i];
    unsigned long long const wide = in[i], other = in[n - 1 - i];
    auto const a = static_cast<unsigned>(wide), b = static_cast<unsigned>(wide >> 32);
    auto const sa = static_cast<int>(a), sb = static_cast<int>(b);
    ASSERT_EQ(r.population, std::popcount(a));
    ASSERT_EQ(r.leading, std::countl_zero(a));
    ASSERT_EQ(r.first, a ? std::countr_zero(a) + 1 : 0);
    ASSERT_EQ(r.wide_population, std::popcount(wide));
    ASSERT_EQ(r.wide_leading, std::countl_zero(wide));
    ASSERT_EQ(r.wide_first, wide ? std::countr_zero(wide) + 1 : 0);
    ASSERT_EQ(r.product24,
              static_cast<int>(static_cast<unsigned>((sa << 8 >> 8) * static_cast<long long>(sb << 8 >> 8))));
    ASSERT_EQ(r.high, static_cast<int>(static_cast<long long>(sa) * sb >> 32));
    ASSERT_EQ(r.average, static_cast<int>((static_cast<long long>(sa) + sb) >> 1));
    ASSERT_EQ(r.rounded_average, static_cast<int>((static_cast<long long>(sa) + sb + 1) >> 1));
    long long dot = 5;
    for (int k = 0; k < 32; k += 8) dot += static_cast<signed char>(a >> k) * static_cast<signed char>(b >> k);
    ASSERT_EQ(r.dot, dot);
    ASSERT_EQ(r.reversed, reversed_bits(a));
    ASSERT_EQ(r.wide_reversed, reversed_bits(wide));
    // Selector 0x7360: bytes 0, 6, 3, 7 of b:a from the lowest.
    ASSERT_EQ(r.permuted, (wide & 0xff) | (wide >> 48 & 0xff) << 8 | (wide >> 24 & 0xff) << 16 | (wide >> 56) << 24);
    ASSERT_EQ(r.left, static_cast<unsigned>(wide << 8 >> 32));
    ASSERT_EQ(r.left_clamped, a);
    ASSERT_EQ(r.right, static_cast<unsigned>(wide >> 7));
    ASSERT_EQ(r.right_clamped, b);
    ASSERT_EQ(r.unsigned_product24, (a & 0xffffff) * (b & 0xffffff));
    ASSERT_EQ(r.unsigned_high, static_cast<unsigned>(static_cast<unsigned long long>(a) * b >> 32));
    ASSERT_EQ(r.distance, static_cast<unsigned>(std::llabs(static_cast<long long>(sa) - sb)) + 3);
    ASSERT_EQ(r.unsigned_distance, (a > b ? a - b : b - a) + 3);
    ASSERT_EQ(r.unsigned_wide_high,
              static_cast<unsigned long long>(static_cast<unsigned __int128>(wide) * other >> 64));
    ASSERT_EQ(r.wide_high,
              static_cast<long long>(
                  static_cast<__int128>(static_cast<long long>(wide)) * static_cast<long long>(other) >> 64));
  }
}

std::vector<float> interesting_floats() {
  float const inf = INFINITY;
  std::vector<float> in{0.0f,  -0.0f,  0.5f, -0.5f, 1.5f, 2.5f,          -2.5f, 1e-45f, 1e-38f,
                        3e38f, -3e38f, inf,  -inf,  NAN,  2147483648.0f, -3e9f, 5e9f};
  std::mt19937 random(5);
  while (in.size() < 2000) in.push_back(std::bit_cast<float>(static_cast<unsigned>(random())));
  while (in.size() < 4001) in.push_back(static_cast<float>(static_cast<int>(random() % 2000000)) / 997.0f - 1000.0f);
  return in;
}

template <class Compute>
float with_rounding(int mode, Compute compute) {
  std::fesetround(mode);
  volatile float const result = compute();
  std::fesetround(FE_TONEAREST);
  return result;
}
bool same(float x, float y) {
  return (std::isnan(x) && std::isnan(y)) || std::bit_cast<unsigned>(x) == std::bit_cast<unsigned>(y);
}

TEST(Float, RoundedArithmeticAndConversions) {
  std::vector<float> const in = interesting_floats();
  int const n = static_cast<int>(in.size());
  std::vector<FloatResults> out(in.size());
  const float* pin = in.data();
  ASSERT_EQ(launch("float_functions", flat_shape(n), pin, out.data(), n), SOFTGPU_KERNEL_OK);
  for (int i = 0; i < n; ++i) {
    volatile float const a = in[i], b = in[n - 1 - i];
    SCOPED_TRACE(::testing::Message() << a << " " << b);
    const FloatResults& r = out[i];
    ASSERT_TRUE(same(r.add_rn, a + b));
    ASSERT_TRUE(same(r.add_rz, with_rounding(FE_TOWARDZERO, [&] { return a + b; })));
    ASSERT_TRUE(same(r.add_ru, with_rounding(FE_UPWARD, [&] { return a + b; })));
    ASSERT_TRUE(same(r.add_rd, with_rounding(FE_DOWNWARD, [&] { return a + b; })));
    ASSERT_TRUE(same(r.mul_rn, a * b));
    ASSERT_TRUE(same(r.mul_rz, with_rounding(FE_TOWARDZERO, [&] { return a * b; })));
    ASSERT_TRUE(same(r.div_rn, a / b));
    ASSERT_TRUE(same(r.div_ru, with_rounding(FE_UPWARD, [&] { return a / b; })));
    ASSERT_TRUE(same(r.root_rd, with_rounding(FE_DOWNWARD, [&] {
                       volatile float x = std::fabs(a);
                       return std::sqrt(x);
                     })));
    ASSERT_TRUE(same(r.saturated, a > 1 ? 1.0f : a >= 0 ? float{a} : 0.0f));
    if (a > 0 && std::isfinite(a)) {
      ASSERT_NEAR(r.reciprocal_root * std::sqrt(a), 1.0f, 1e-6f);
    }
    ASSERT_TRUE(same(r.fast_exp, std::exp(std::fmin(a, 50.0f))));
    ASSERT_TRUE(same(r.least, std::fmin(a, b)));
    ASSERT_TRUE(same(r.narrowed_rz, with_rounding(FE_TOWARDZERO,
                                                  [&] {
                                                    volatile double x = double{a} / 3.0;
                                                    return static_cast<float>(x);
                                                  })) ||
                std::isnan(a));
    ASSERT_EQ(r.bits, std::bit_cast<int>(float{a}));
    double const up = std::ceil(double{a}), down = std::floor(double{a}), zero = std::trunc(double{a}),
                 near = std::nearbyint(double{a});
    auto const clamped = [](double x, double low, double high) {
      return std::isnan(x) ? 0.0 : x < low ? low : x > high ? high : x;
    };
    ASSERT_EQ(r.to_int_rn, clamped(near, INT_MIN, INT_MAX));
    ASSERT_EQ(r.to_int_rz, clamped(zero, INT_MIN, INT_MAX));
    ASSERT_EQ(r.to_int_ru, clamped(up, INT_MIN, INT_MAX));
    ASSERT_EQ(r.to_int_rd, clamped(down, INT_MIN, INT_MAX));
    ASSERT_EQ(r.to_uint_rz, clamped(zero, 0, UINT_MAX));
    if (std::fabs(a) < 1e18f) {
      ASSERT_EQ(r.to_ll_rn, static_cast<long long>(near));
    }
  }
}

TEST(Float, TheHostsRoundingModeDoesNotReachKernels) {
  const float in[2] = {1.0f, 1e-10f};
  const float* pin = in;
  FloatResults out[2];
  std::fesetround(FE_UPWARD);
  SoftgpuKernelStatus const status = launch("float_functions", flat_shape(2), pin, &out[0], 2);
  int const mode = std::fegetround();
  std::fesetround(FE_TONEAREST);
  ASSERT_EQ(status, SOFTGPU_KERNEL_OK);
  EXPECT_EQ(out[0].add_rn, 1.0f);
  EXPECT_EQ(mode, FE_UPWARD);
}

// An independent rounding to a binary format with `bits` of precision, from a value and the sign of what it lacks.
struct Format {
  int bits, min_exponent, max_exponent;
};
constexpr Format kHalf{11, -14, 15}, kBrain{8, -126, 127};
using Quad = __float128;

Quad power_of_two(int exponent) {
  return std::ldexp(1.0, exponent);
}
double rounded_to(Format format, Quad value, Quad lacking) {
  if (value == 0) return static_cast<double>(value);
  Quad const magnitude = value < 0 ? -value : value;
  Quad const rest = value < 0 ? -lacking : lacking;
  int exponent = std::ilogb(static_cast<double>(magnitude));
  if (power_of_two(exponent) > magnitude) --exponent;
  if (power_of_two(exponent + 1) <= magnitude) ++exponent;
  if (exponent < format.min_exponent) exponent = format.min_exponent;
  Quad const unit = power_of_two(exponent - format.bits + 1);
  Quad const scaled = magnitude / unit;
  auto steps = static_cast<unsigned long long>(scaled);
  Quad const over = scaled - static_cast<Quad>(steps) - Quad{0.5};
  if (over > 0 || (over == 0 && (rest > 0 || (rest == 0 && steps % 2 == 1)))) ++steps;
  Quad const result = static_cast<Quad>(steps) * unit;
  bool const overflow = result >= power_of_two(format.max_exponent + 1);
  double const unsigned_result = overflow ? INFINITY : static_cast<double>(result);
  return value < 0 ? -unsigned_result : unsigned_result;
}
double fused_reference(Format format, double a, double b, double c) {
  if (!std::isfinite(a) || !std::isfinite(b) || !std::isfinite(c)) return a * b + c;
  Quad const product = static_cast<Quad>(a) * b, addend = c, sum = product + addend, back = sum - product;
  Quad const lacking = (product - (sum - back)) + (addend - back);
  if (sum == 0) return a * b + c;
  return rounded_to(format, sum, lacking);
}

float widen(__half x) {
  return __half2float(x);
}
float widen(__nv_bfloat16 x) {
  return __bfloat162float(x);
}

bool same_value(double x, double y) {
  return (std::isnan(x) && std::isnan(y)) || (x == y && std::signbit(x) == std::signbit(y));
}

template <class H>
void expect_half(const char* name, Format format) {
  std::mt19937 random(11);
  std::vector<H> in;
  // All values once as the first operand, then pairs whose exponents are near, where ties are.
  for (unsigned bits = 0; bits < 65536; ++bits)
    for (int k = 0; k < 3; ++k) {
      auto const word = static_cast<unsigned short>(k == 0 ? bits : bits % 2 ? random() : (bits ^ (random() & 0x87ff)));
      in.push_back(std::bit_cast<H>(word));
    }
  int const n = static_cast<int>(in.size() / 3);
  std::vector<HalfResults<H>> out(n);
  const H* pin = in.data();
  ASSERT_EQ(launch(name, flat_shape(n), pin, out.data(), n), SOFTGPU_KERNEL_OK);
  auto const exact = [&](double value) { return std::isfinite(value) ? rounded_to(format, value, 0) : value; };
  for (int i = 0; i < n; ++i) {
    double const a = widen(in[3 * i]), b = widen(in[3 * i + 1]), c = widen(in[3 * i + 2]);
    SCOPED_TRACE(::testing::Message() << a << " " << b << " " << c);
    const HalfResults<H>& r = out[i];
    ASSERT_TRUE(same_value(widen(r.sum), fused_reference(format, a, 1, b))) << widen(r.sum);
    ASSERT_TRUE(same_value(widen(r.difference), fused_reference(format, a, 1, -b)));
    ASSERT_TRUE(same_value(widen(r.product), exact(a * b)));
    ASSERT_TRUE(same_value(widen(r.quotient), exact(a / b)));
    ASSERT_TRUE(same_value(widen(r.fused), fused_reference(format, a, b, c))) << widen(r.fused);
    ASSERT_TRUE(same_value(widen(r.root), exact(std::sqrt(a))));
    ASSERT_TRUE(same_value(widen(r.exponential), exact(std::exp(a))));
    ASSERT_TRUE(same_value(widen(r.rounded), std::nearbyint(a)));
    double const up = std::ceil(a);
    ASSERT_EQ(r.whole_ru, std::isnan(up) ? 0.0 : up > INT_MAX ? INT_MAX : up < INT_MIN ? INT_MIN : up);
  }
}

TEST(HalfTypes, HalfRoundsAsIeee) {
  expect_half<__half>("half_functions<__half>", kHalf);
}
TEST(HalfTypes, BrainFloatRoundsAsIeee) {
  expect_half<__nv_bfloat16>("half_functions<__nv_bfloat16>", kBrain);
}

TEST(HalfTypes, PairsAndShuffles) {
  std::vector<__half2> in(32), out(32);
  for (int i = 0; i < 32; ++i) in[i] = __floats2half2_rn(static_cast<float>(i), 0.5f * static_cast<float>(i));
  const __half2* pin = in.data();
  ASSERT_EQ(launch("half2_functions", {.block = {32, 1, 1}}, pin, out.data()), SOFTGPU_KERNEL_OK);
  for (int i = 0; i < 32; ++i) {
    auto const x = static_cast<float>(i), y = static_cast<float>(i ^ 1);
    EXPECT_EQ(__low2float(out[i]), x * x + y);
    EXPECT_EQ(__high2float(out[i]), 0.25f * x * x + 0.5f * y);
  }
}

TEST(VectorTypes, LoadAndStore) {
  std::vector<float4> in(8), out(8);
  std::vector<int2> pairs(8);
  for (int i = 0; i < 8; ++i) in[i] = {static_cast<float>(i), 2, 3, 4};
  const float4* pin = in.data();
  ASSERT_EQ(launch("vector_types", {.block = {8, 1, 1}}, pin, out.data(), pairs.data()), SOFTGPU_KERNEL_OK);
  EXPECT_EQ(out[5].x, 4.0f);
  EXPECT_EQ(out[5].w, 5.0f);
  EXPECT_EQ(pairs[5].x, 5);
  EXPECT_EQ(pairs[5].y, 32);
}

TEST(Printf, WritesToStdoutAndTheClockRuns) {
  long long ticks[3] = {};
  ::testing::internal::CaptureStdout();
  ASSERT_EQ(launch("print_and_time", {.block = {3, 1, 1}}, &ticks[0], 42), SOFTGPU_KERNEL_OK);
  std::fflush(stdout);
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "thread 0 says 42\nthread 1 says 42\nthread 2 says 42\n");
  EXPECT_GT(ticks[0], 0);
}

}  // namespace
}  // namespace tidemark::softgpu::testing
