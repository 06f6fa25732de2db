// SPDX-License-Identifier: Apache-2.0
// The element types of matrices: their sizes, and the C++ types that stand for the vendor's.
#pragma once
#include <complex>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "softgpu/blas/vendor.h"

namespace tidemark::softgpu::blas {

using Complex32 = std::complex<float>;
using Complex64 = std::complex<double>;

template <class T>
inline constexpr bool kIsComplex = false;
template <class R>
inline constexpr bool kIsComplex<std::complex<R>> = true;

template <class T>
struct RealOf {
  using type = T;
};
template <class R>
struct RealOf<std::complex<R>> {
  using type = R;
};
template <class T>
using Real = typename RealOf<T>::type;

template <class T>
T conjugate(T value) {
  if constexpr (kIsComplex<T>) {
    return std::conj(value);
  } else {
    return value;
  }
}

// 0 for a type that no routine here knows.
constexpr std::size_t type_bytes(cudaDataType type) {
  switch (type) {
    case CUDA_R_8I:
    case CUDA_R_8U:
    case CUDA_R_8F_E4M3:
    case CUDA_R_8F_E5M2: return 1;
    case CUDA_R_16F:
    case CUDA_R_16BF:
    case CUDA_C_8I: return 2;
    case CUDA_R_32F:
    case CUDA_R_32I: return 4;
    case CUDA_R_64F:
    case CUDA_C_32F: return 8;
    case CUDA_C_64F: return 16;
    default: return 0;
  }
}

template <class T>
constexpr cudaDataType type_code() {
  if constexpr (std::is_same_v<T, float>) return CUDA_R_32F;
  if constexpr (std::is_same_v<T, double>) return CUDA_R_64F;
  if constexpr (std::is_same_v<T, Complex32>) return CUDA_C_32F;
  if constexpr (std::is_same_v<T, Complex64>) return CUDA_C_64F;
  if constexpr (std::is_same_v<T, __half>) return CUDA_R_16F;
  if constexpr (std::is_same_v<T, __nv_bfloat16>) return CUDA_R_16BF;
  if constexpr (std::is_same_v<T, std::int8_t>) return CUDA_R_8I;
  if constexpr (std::is_same_v<T, std::int32_t>) return CUDA_R_32I;
}

// Vendor structs to the C++ types of the same layout; everything else unchanged.
template <class T>
T as(T value) {
  return value;
}
inline Complex32* as(cuComplex* p) {
  return reinterpret_cast<Complex32*>(p);
}
inline const Complex32* as(const cuComplex* p) {
  return reinterpret_cast<const Complex32*>(p);
}
inline Complex64* as(cuDoubleComplex* p) {
  return reinterpret_cast<Complex64*>(p);
}
inline const Complex64* as(const cuDoubleComplex* p) {
  return reinterpret_cast<const Complex64*>(p);
}
inline Complex32* const* as(cuComplex* const* p) {
  return reinterpret_cast<Complex32* const*>(p);
}
inline const Complex32* const* as(const cuComplex* const* p) {
  return reinterpret_cast<const Complex32* const*>(p);
}
inline Complex64* const* as(cuDoubleComplex* const* p) {
  return reinterpret_cast<Complex64* const*>(p);
}
inline const Complex64* const* as(const cuDoubleComplex* const* p) {
  return reinterpret_cast<const Complex64* const*>(p);
}

}  // namespace tidemark::softgpu::blas
