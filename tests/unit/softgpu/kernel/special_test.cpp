// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "tests/unit/softgpu/kernel/bodies/types.h"
#include "tests/unit/softgpu/kernel/support.h"

namespace tidemark::softgpu::testing {
namespace {

std::vector<SpecialResults> special(const std::vector<double>& in) {
  std::vector<SpecialResults> out(in.size());
  auto const n = static_cast<int>(in.size());
  Shape const shape{.grid = {static_cast<unsigned>(n + 31) / 32, 1, 1}, .block = {32, 1, 1}};
  EXPECT_EQ(launch("special_functions", shape, in.data(), out.data(), n), SOFTGPU_KERNEL_OK);
  return out;
}

void expect_near(double got, long double wanted, const char* what) {
  long double const error = std::fabs(got - wanted), unit = std::fabs(wanted) * std::numeric_limits<double>::epsilon();
  EXPECT_LE(error, 4 * unit) << what << ": " << got << " instead of " << static_cast<double>(wanted);
}

// Wrong by dx in the argument is wrong by dx times the slope in the value.
TEST(Special, InversesUndoTheirFunctions) {
  std::vector<double> in{1e-300, 1e-30, 1e-9, 0.01, 0.25, 0.4999, 0.5, 0.75, 0.999, 1 - 1e-12};
  auto const out = special(in);
  for (std::size_t i = 0; i < in.size(); ++i) {
    SCOPED_TRACE(in[i]);
    long double const x = out[i].erf_inverse, y = out[i].erfc_inverse;
    long double const slope_x = 1.1283791671L * std::exp(-x * x), slope_y = 1.1283791671L * std::exp(-y * y);
    long double const eps = std::numeric_limits<double>::epsilon();
    EXPECT_LE(std::fabs(std::erf(x) - in[i]), 2 * eps * std::fabs(x) * slope_x);
    EXPECT_LE(std::fabs(std::erfc(y) - in[i]), 2 * eps * std::fabs(y) * slope_y);
    expect_near(out[i].normal_inverse, -std::sqrt(2.0L) * special({2 * in[i]})[0].erfc_inverse, "normcdfinv");
    double const narrow = static_cast<float>(in[i]);
    EXPECT_EQ(out[i].erf_inverse_float, static_cast<float>(special({narrow})[0].erf_inverse));
  }
  auto const edges = special({0, 1, 2, -1, 1.5, std::nan("")});
  EXPECT_EQ(edges[0].erf_inverse, 0);
  EXPECT_EQ(edges[0].erfc_inverse, INFINITY);
  EXPECT_EQ(edges[1].erf_inverse, INFINITY);
  EXPECT_EQ(edges[2].erfc_inverse, -INFINITY);
  EXPECT_EQ(edges[3].erf_inverse, -INFINITY);
  EXPECT_TRUE(std::isnan(edges[4].erf_inverse) && std::isnan(edges[5].erf_inverse));
}

TEST(Special, TheScaledComplementIsSmoothWhereItsFactorsAreNot) {
  // Reference values of exp(x^2) erfc(x), to 17 digits.
  struct Row {
    double x, value;
  };
  for (Row const row :
       {Row{0, 1}, Row{1, 0.42758357615580700}, Row{5, 0.11070463773306863}, Row{10, 0.056140992743822586},
        Row{50, 0.011281536265323772}, Row{1e10, 5.6418958354775629e-11}, Row{-1, 5.0089800807622835}})
    expect_near(special({row.x})[0].erfc_scaled, row.value, "erfcx");
}

TEST(Special, BesselFunctionsAgreeWithTheirSeries) {
  for (double const x : {0.0, 0.1, 1.0, -2.5, 7.0, 20.0}) {
    long double i0 = 0, i1 = 0, term = 1;
    for (int k = 0; k < 120; ++k) {  // (x/2)^2k / k!^2, and times (x/2)/(k+1)
      i0 += term;
      i1 += term * (x / 2.0L) / (k + 1);
      term *= (x / 2.0L) * (x / 2.0L) / ((k + 1.0L) * (k + 1.0L));
    }
    auto const got = special({x})[0];
    EXPECT_NEAR(got.bessel_0, static_cast<double>(i0), 1e-13 * static_cast<double>(i0));
    EXPECT_NEAR(got.bessel_1, static_cast<double>(i1), 1e-13 * std::fabs(static_cast<double>(i1)));
  }
}

TEST(Special, NormsDoNotOverflowOnTheWay) {
  for (double const x : {1.0, -3.0, 1e-200, 1e200}) {
    auto const got = special({x})[0];
    expect_near(got.norm, std::sqrt(55.0L) * std::fabs(x), "norm");
    expect_near(got.reciprocal_norm, 1 / (std::sqrt(55.0L) * std::fabs(x)), "rnorm");
    expect_near(got.norm_4, 2 * std::fabs(x), "norm4d");
    expect_near(got.reciprocal_norm_3, 1 / (std::sqrt(3.0L) * std::fabs(x)), "rnorm3d");
    EXPECT_EQ(got.quotient, x / 3);
  }
}

float neighbour(float x, int steps) {  // in bfloat16, away from zero
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) + static_cast<std::uint32_t>(steps << 16));
}

TEST(Intrinsics, TheRarerOnesAgreeWithTheirDefinitions) {
  std::vector<unsigned> in{0, 1, ~0u, 1u << 31, 0x7fffffff, 0xff, 0x100, 0x1ff, 0xfffffeff};
  std::mt19937 random(7);
  while (in.size() < 500) in.push_back(random());
  auto const n = static_cast<int>(in.size());
  std::vector<RarerResults> out(in.size());
  const unsigned* const pin = in.data();
  Shape const shape{.grid = {16, 1, 1}, .block = {32, 1, 1}};
  ASSERT_EQ(launch("rarer_intrinsics", shape, pin, out.data(), n), SOFTGPU_KERNEL_OK);
  for (int i = 0; i < n; ++i) {
    SCOPED_TRACE(in[i]);
    const RarerResults& r = out[i];
    unsigned const a = in[i], b = in[n - 1 - i];
    auto const half = [&](int k) { return static_cast<std::int16_t>(a >> 16 * k); };
    auto const byte = [&](int k) { return static_cast<std::int8_t>(b >> 8 * k); };
    ASSERT_EQ(r.dot_low, 7 + half(0) * byte(0) + half(1) * byte(1));
    ASSERT_EQ(r.dot_high, 7 + half(0) * byte(2) + half(1) * byte(3));
    ASSERT_EQ(r.unsigned_dot_low, 7 + (a & 0xffff) * (b & 0xff) + (a >> 16) * (b >> 8 & 0xff));
    ASSERT_EQ(r.unsigned_dot_high, 7 + (a & 0xffff) * (b >> 16 & 0xff) + (a >> 16) * (b >> 24));
    ASSERT_EQ(r.most, std::max(static_cast<unsigned long long>(a) << 32 | b, static_cast<unsigned long long>(a)));
    int const base = static_cast<int>(b % 32), offset = static_cast<int>(b >> 8) % 9 - 4;
    std::vector<int> set;
    for (int at = base; at >= 0 && at < 32; at += offset < 0 ? -1 : 1)
      if (a >> at & 1) set.push_back(at);
    auto const wanted = static_cast<std::size_t>(std::abs(offset));
    unsigned found = ~0u;
    if (offset == 0 && (a >> base & 1)) found = static_cast<unsigned>(base);
    if (wanted != 0 && wanted <= set.size()) found = static_cast<unsigned>(set[wanted - 1]);
    ASSERT_EQ(r.found, found);
    float const down = __bfloat162float(r.rounded_rd), up = __bfloat162float(r.rounded_ru);
    double const exact = static_cast<int>(a);
    ASSERT_TRUE(down <= exact && exact <= up) << down << " " << up;
    ASSERT_EQ(__bfloat162float(r.rounded_rz), exact < 0 ? up : down);
    if (down != up) {
      ASSERT_EQ(exact < 0 ? neighbour(up, 1) : neighbour(down, 1), exact < 0 ? down : up);
    }
    ASSERT_EQ(__half2float(r.complex.x), -4.5f);
    ASSERT_EQ(__half2float(r.complex.y), 10.25f);
  }
}

}  // namespace
}  // namespace tidemark::softgpu::testing
