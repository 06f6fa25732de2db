// SPDX-License-Identifier: Apache-2.0
// Vectors against plain loops, with increments of both signs; results on the host and on the device.
#include "tests/unit/softgpu/blas/support.h"

namespace blas_test {
namespace {

template <class T>
class Level1 : public ::testing::Test {};
TYPED_TEST_SUITE(Level1, AllTypes);

template <class T>
using RealOf = decltype(std::abs(T{}));

// Where element i of a vector stands.
std::size_t at(int n, int inc, int i) {
  return static_cast<std::size_t>(inc < 0 ? (i - n + 1) * inc : i * inc);
}

template <class T>
struct Vectors {
  int n, incx, incy;
  std::vector<T> x, y;
  // Short ones for the ends of loops, long ones for their middle.
  Vectors(Random& random, bool positive = false) : n(random.integer(1, random.integer(0, 3) == 0 ? 3000 : 50)) {
    incx = positive ? random.integer(1, 3) : random.pick({1, 2, -1, -3});
    incy = positive ? random.integer(1, 3) : random.pick({1, 3, -2});
    x = random.vector<T>(static_cast<std::size_t>(n * std::abs(incx)));
    y = random.vector<T>(static_cast<std::size_t>(n * std::abs(incy)));
  }
  T& xi(int i) { return x[at(n, incx, i)]; }
  T& yi(int i) { return y[at(n, incy, i)]; }
};

TYPED_TEST(Level1, AxpyCopySwapScalEqualPlainLoops) {
  using T = TypeParam;
  Handle handle;
  Random random(21);
  for (int round = 0; round < 20; ++round) {
    Vectors<T> v1(random);
    T const alpha = random.whole<T>();
    auto expected = v1;
    for (int i = 0; i < v1.n; ++i) expected.yi(i) += alpha * expected.xi(i);
    BLAS_OK(BLAS_TYPED(T, cublas, axpy)(handle, v1.n, v(&alpha), v(v1.x.data()), v1.incx, v(v1.y.data()), v1.incy));
    ASSERT_EQ(v1.y, expected.y);
    for (int i = 0; i < v1.n; ++i) std::swap(expected.xi(i), expected.yi(i));
    BLAS_OK(BLAS_TYPED(T, cublas, swap)(handle, v1.n, v(v1.x.data()), v1.incx, v(v1.y.data()), v1.incy));
    ASSERT_EQ(v1.x, expected.x);
    ASSERT_EQ(v1.y, expected.y);
    for (int i = 0; i < v1.n; ++i) expected.yi(i) = expected.xi(i);
    BLAS_OK(BLAS_TYPED(T, cublas, copy_v2_64)(handle, v1.n, v(v1.x.data()), v1.incx, v(v1.y.data()), v1.incy));
    ASSERT_EQ(v1.y, expected.y);
    if (v1.incx > 0)
      for (int i = 0; i < v1.n; ++i) expected.xi(i) *= alpha;
    BLAS_OK(BLAS_TYPED(T, cublas, scal)(handle, v1.n, v(&alpha), v(v1.x.data()), v1.incx));
    ASSERT_EQ(v1.x, expected.x);
  }
}

TYPED_TEST(Level1, ReductionsEqualPlainLoopsOnHostAndDevice) {
  using T = TypeParam;
  using R = RealOf<T>;
  Handle handle;
  Random random(22);
  auto const nrm2 = [] {
    if constexpr (std::is_same_v<T, float>)
      return &cublasSnrm2;
    else if constexpr (std::is_same_v<T, double>)
      return &cublasDnrm2;
    else if constexpr (std::is_same_v<T, C32>)
      return &cublasScnrm2;
    else
      return &cublasDznrm2;
  }();
  auto const asum = [] {
    if constexpr (std::is_same_v<T, float>)
      return &cublasSasum;
    else if constexpr (std::is_same_v<T, double>)
      return &cublasDasum;
    else if constexpr (std::is_same_v<T, C32>)
      return &cublasScasum;
    else
      return &cublasDzasum;
  }();
  auto const amax = [] {
    if constexpr (std::is_same_v<T, float>)
      return &cublasIsamax;
    else if constexpr (std::is_same_v<T, double>)
      return &cublasIdamax;
    else if constexpr (std::is_same_v<T, C32>)
      return &cublasIcamax;
    else
      return &cublasIzamax;
  }();
  auto const amin = [] {
    if constexpr (std::is_same_v<T, float>)
      return &cublasIsamin;
    else if constexpr (std::is_same_v<T, double>)
      return &cublasIdamin;
    else if constexpr (std::is_same_v<T, C32>)
      return &cublasIcamin;
    else
      return &cublasIzamin;
  }();
  for (auto mode : {CUBLAS_POINTER_MODE_HOST, CUBLAS_POINTER_MODE_DEVICE}) {
    BLAS_OK(cublasSetPointerMode(handle, mode));
    for (int round = 0; round < 10; ++round) {
      Vectors<T> v1(random, true);
      R sum2 = 0, sum = 0;
      int largest = 0, smallest = 0;
      auto const size = [](T value) { return std::abs(std::real(value)) + std::abs(std::imag(value)); };
      for (int i = 0; i < v1.n; ++i) {
        sum2 += std::norm(v1.xi(i));
        sum += size(v1.xi(i));
        if (size(v1.xi(i)) > size(v1.xi(largest))) largest = i;
        if (size(v1.xi(i)) < size(v1.xi(smallest))) smallest = i;
      }
      R result = -1;
      int index = -1;
      BLAS_OK(nrm2(handle, v1.n, v(v1.x.data()), v1.incx, &result));
      EXPECT_NEAR(result, std::sqrt(sum2), 1e-5 * result);
      BLAS_OK(asum(handle, v1.n, v(v1.x.data()), v1.incx, &result));
      EXPECT_EQ(result, sum);
      BLAS_OK(amax(handle, v1.n, v(v1.x.data()), v1.incx, &index));
      EXPECT_EQ(index, largest + 1);
      BLAS_OK(amin(handle, v1.n, v(v1.x.data()), v1.incx, &index));
      EXPECT_EQ(index, smallest + 1);
      BLAS_OK(amax(handle, 0, v(v1.x.data()), v1.incx, &index));
      EXPECT_EQ(index, 0);
    }
  }
}

template <class T, class F>
void check_dot(F function, bool conjugated) {
  Handle handle;
  Random random(23);
  for (int round = 0; round < 20; ++round) {
    Vectors<T> v1(random);
    T expected{}, result(7);
    for (int i = 0; i < v1.n; ++i) expected += (conjugated ? conjugate(v1.xi(i)) : v1.xi(i)) * v1.yi(i);
    BLAS_OK(function(handle, v1.n, v(v1.x.data()), v1.incx, v(v1.y.data()), v1.incy, v(&result)));
    ASSERT_EQ(result, expected);
  }
}
TEST(Level1Dot, EqualsPlainLoop) {
  check_dot<float>(cublasSdot, false);
  check_dot<double>(cublasDdot_v2_64, false);
  check_dot<C32>(cublasCdotu, false);
  check_dot<C32>(cublasCdotc, true);
  check_dot<C64>(cublasZdotu, false);
  check_dot<C64>(cublasZdotc, true);
}

template <class T, class C, class S, class F>
void check_rot(F function, C c, S s) {
  Handle handle;
  Random random(24);
  for (int round = 0; round < 10; ++round) {
    Vectors<T> v1(random);
    auto expected = v1;
    for (int i = 0; i < v1.n; ++i) {
      T const x = expected.xi(i), y = expected.yi(i);
      expected.xi(i) = c * x + s * y;
      expected.yi(i) = c * y - conjugate(s) * x;
    }
    BLAS_OK(function(handle, v1.n, v(v1.x.data()), v1.incx, v(v1.y.data()), v1.incy, &c, v(&s)));
    ASSERT_EQ(v1.x, expected.x);
    ASSERT_EQ(v1.y, expected.y);
  }
}
TEST(Level1Rot, EqualsPlainLoop) {
  check_rot<float>(cublasSrot, 2.0f, 3.0f);
  check_rot<double>(cublasDrot, 2.0, -3.0);
  check_rot<C32>(cublasCrot, 2.0f, C32(1, -2));
  check_rot<C32>(cublasCsrot, 2.0f, 3.0f);
  check_rot<C64>(cublasZrot, 2.0, C64(1, 2));
  check_rot<C64>(cublasZdrot, -1.0, 3.0);
}

TEST(Level1Rot, GivensAndModifiedRotations) {
  Handle handle;
  float a = 3, b = 4, c = 0, s = 0;
  BLAS_OK(cublasSrotg(handle, &a, &b, &c, &s));
  EXPECT_FLOAT_EQ(a, 5);
  EXPECT_FLOAT_EQ(c, 0.6f);
  EXPECT_FLOAT_EQ(s, 0.8f);
  double const param[5] = {-1, 2, 3, 4, 5};  // a full matrix: h11, h21, h12, h22
  std::vector<double> x = {1, 2}, y = {3, 4};
  BLAS_OK(cublasDrotm(handle, 2, x.data(), 1, y.data(), 1, param));
  EXPECT_EQ(x, (std::vector<double>{2 * 1 + 4 * 3, 2 * 2 + 4 * 4}));
  EXPECT_EQ(y, (std::vector<double>{3 * 1 + 5 * 3, 3 * 2 + 5 * 4}));
  float d1 = 1, d2 = 1, x1 = 3, made[5] = {};
  float const y1 = 4;
  BLAS_OK(cublasSrotmg(handle, &d1, &d2, &x1, &y1, made));
  EXPECT_EQ(made[0], 1);  // |y| is the larger
}

TEST(Level1Ex, HalfIsComputedInFp32) {
  Handle handle;
  std::vector<__half> x, y;
  for (int i = 0; i < 9; ++i) {
    x.push_back(__float2half(static_cast<float>(i)));
    y.push_back(__float2half(1));
  }
  __half result;
  BLAS_OK(cublasDotEx(handle, 9, x.data(), CUDA_R_16F, 1, y.data(), CUDA_R_16F, 1, &result, CUDA_R_16F, CUDA_R_32F));
  EXPECT_EQ(__half2float(result), 36);
  BLAS_OK(cublasNrm2Ex(handle, 2, x.data() + 3, CUDA_R_16F, 1, &result, CUDA_R_16F, CUDA_R_32F));
  EXPECT_EQ(__half2float(result), 5);
  BLAS_OK(cublasAsumEx(handle, 9, x.data(), CUDA_R_16F, 1, &result, CUDA_R_16F, CUDA_R_32F));
  EXPECT_EQ(__half2float(result), 36);
  float const two = 2;
  BLAS_OK(cublasAxpyEx(handle, 9, &two, CUDA_R_32F, x.data(), CUDA_R_16F, 1, y.data(), CUDA_R_16F, 1, CUDA_R_32F));
  BLAS_OK(cublasScalEx(handle, 9, &two, CUDA_R_32F, y.data(), CUDA_R_16F, 1, CUDA_R_32F));
  for (int i = 0; i < 9; ++i) EXPECT_EQ(__half2float(y[static_cast<std::size_t>(i)]), 2 * (2 * i + 1));
  int index = 0;
  BLAS_OK(cublasIamaxEx(handle, 9, y.data(), CUDA_R_16F, 1, &index));
  EXPECT_EQ(index, 9);
  BLAS_OK(cublasIaminEx(handle, 9, y.data(), CUDA_R_16F, 1, &index));
  EXPECT_EQ(index, 1);
  BLAS_OK(cublasSwapEx(handle, 9, x.data(), CUDA_R_16F, 1, y.data(), CUDA_R_16F, 1));
  EXPECT_EQ(__half2float(x[8]), 34);
  BLAS_OK(cublasCopyEx(handle, 9, x.data(), CUDA_R_16F, 1, y.data(), CUDA_R_16F, 1));
  EXPECT_EQ(__half2float(y[8]), 34);
  float const c = 0, s = 1;
  BLAS_OK(cublasRotEx(handle, 9, x.data(), CUDA_R_16F, 1, y.data(), CUDA_R_16F, 1, &c, &s, CUDA_R_32F, CUDA_R_32F));
  EXPECT_EQ(__half2float(y[8]), -34);
  EXPECT_EQ(cublasDotEx(handle, 9, x.data(), CUDA_R_16F, 1, y.data(), CUDA_R_32F, 1, &result, CUDA_R_16F, CUDA_R_32F),
            CUBLAS_STATUS_NOT_SUPPORTED);
}

TEST(Level1Arguments, NullsAndDeadHandlesAreRefused) {
  Handle handle;
  float x = 1, one = 1;
  EXPECT_EQ(cublasSaxpy(nullptr, 1, &one, &x, 1, &x, 1), CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(cublasSaxpy(handle, 1, nullptr, &x, 1, &x, 1), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasSaxpy(handle, 1, &one, nullptr, 1, &x, 1), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasSdot(handle, 1, &x, 1, &x, 1, nullptr), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasSaxpy(handle, 0, &one, nullptr, 1, nullptr, 1), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasSrotg(nullptr, &x, &x, &x, &x), CUBLAS_STATUS_NOT_INITIALIZED);
}

TEST(Handles, AreDestroyedOnce) {
  cublasHandle_t handle = nullptr, other = nullptr;
  BLAS_OK(cublasCreate(&handle));
  BLAS_OK(cublasDestroy(handle));
  float x = 1, one = 1;
  EXPECT_EQ(cublasDestroy(handle), CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(cublasSaxpy(handle, 1, &one, &x, 1, &x, 1), CUBLAS_STATUS_NOT_INITIALIZED);
  BLAS_OK(cublasCreate(&other));
  BLAS_OK(cublasDestroy(other));
  cublasLtHandle_t light = nullptr;
  BLAS_OK(cublasLtCreate(&light));
  BLAS_OK(cublasLtDestroy(light));
  EXPECT_EQ(cublasLtDestroy(light), CUBLAS_STATUS_NOT_INITIALIZED);
  cublasLtMatmulDesc_t desc = nullptr;
  BLAS_OK(cublasLtMatmulDescCreate(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  BLAS_OK(cublasLtMatmulDescDestroy(desc));
  EXPECT_EQ(cublasLtMatmulDescDestroy(desc), CUBLAS_STATUS_INVALID_VALUE);
  cublasLtMatmulDescOpaque_t own{};
  EXPECT_EQ(cublasLtMatmulDescDestroy(&own), CUBLAS_STATUS_INVALID_VALUE);
}

}  // namespace
}  // namespace blas_test
