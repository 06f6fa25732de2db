// SPDX-License-Identifier: Apache-2.0
// Random matrices and plain loops to compare with. Integer-valued data makes every product exact.
#pragma once
#include <cublasLt.h>
#include <cublas_v2.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <random>
#include <type_traits>
#include <vector>

#include "softgpu/blas/convert.h"
#include "tests/unit/softgpu/fake/fake_device.h"

#define BLAS_OK(call) ASSERT_EQ(call, CUBLAS_STATUS_SUCCESS)

namespace blas_test {

using C32 = std::complex<float>;
using C64 = std::complex<double>;

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  int integer(int low, int high) { return std::uniform_int_distribution<int>(low, high)(engine_); }
  template <class T>
  T pick(std::initializer_list<T> choices) {
    return choices.begin()[integer(0, static_cast<int>(choices.size()) - 1)];
  }
  // Small whole numbers, so that sums are exact in every type, fp16 included.
  template <class T>
  T whole() {
    if constexpr (std::is_same_v<T, C32> || std::is_same_v<T, C64>) {
      return T(static_cast<typename T::value_type>(integer(-3, 3)),
               static_cast<typename T::value_type>(integer(-3, 3)));
    } else {
      return static_cast<T>(integer(-3, 3));
    }
  }
  template <class T>
  std::vector<T> vector(std::size_t n) {
    std::vector<T> v(n);
    for (auto& x : v) x = whole<T>();
    return v;
  }

 private:
  std::mt19937 engine_;
};

template <class T>
T conjugate(T v) {
  if constexpr (std::is_same_v<T, C32> || std::is_same_v<T, C64>) {
    return std::conj(v);
  } else {
    return v;
  }
}
template <class T>
T element(cublasOperation_t op, const T* a, std::int64_t ld, std::int64_t row, std::int64_t col) {
  if (op == CUBLAS_OP_N) return a[row + col * ld];
  return op == CUBLAS_OP_T ? a[col + row * ld] : conjugate(a[col + row * ld]);
}

// The reference product: c = alpha op(a) op(b) + beta c.
template <class T>
void naive_gemm(cublasOperation_t ta, cublasOperation_t tb, int m, int n, int k, T alpha, const T* a, int lda,
                const T* b, int ldb, T beta, T* c, int ldc) {
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < m; ++i) {
      T sum{};
      for (int p = 0; p < k; ++p) sum += element(ta, a, lda, i, p) * element(tb, b, ldb, p, j);
      c[i + j * ldc] = alpha * sum + (beta == T{} ? T{} : beta * c[i + j * ldc]);
    }
}

// Calls the typed form of a routine: cublas(SOFT_CALL(gemm_v2), ...) in tests goes through this.
template <class T>
struct Vendor {
  using type = T;
};
template <>
struct Vendor<C32> {
  using type = cuComplex;
};
template <>
struct Vendor<C64> {
  using type = cuDoubleComplex;
};
template <class T>
typename Vendor<T>::type* v(T* p) {
  return reinterpret_cast<typename Vendor<T>::type*>(p);
}
template <class T>
const typename Vendor<T>::type* v(const T* p) {
  return reinterpret_cast<const typename Vendor<T>::type*>(p);
}

// The S, D, C or Z function of a family, by type.
#define BLAS_TYPED(T, prefix, suffix)                     \
  [] {                                                    \
    if constexpr (std::is_same_v<T, float>)               \
      return &prefix##S##suffix;                          \
    else if constexpr (std::is_same_v<T, double>)         \
      return &prefix##D##suffix;                          \
    else if constexpr (std::is_same_v<T, blas_test::C32>) \
      return &prefix##C##suffix;                          \
    else                                                  \
      return &prefix##Z##suffix;                          \
  }()

struct Handle : fake::Scope {
  cublasHandle_t h = nullptr;
  Handle() { EXPECT_EQ(cublasCreate(&h), CUBLAS_STATUS_SUCCESS); }
  ~Handle() { EXPECT_EQ(cublasDestroy(h), CUBLAS_STATUS_SUCCESS); }
  operator cublasHandle_t() const { return h; }
};

using AllTypes = ::testing::Types<float, double, C32, C64>;

}  // namespace blas_test
