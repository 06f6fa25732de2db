// SPDX-License-Identifier: Apache-2.0
// A scalar whose type is known at run time (alpha and beta of the Ex routines), by value or by device address.
#pragma once
#include <cstring>

#include "softgpu/blas/convert.h"

namespace tidemark::softgpu::blas {

// Reads one element of a known type as double, float, complex or int32.
template <class T>
T load_as(cudaDataType type, const void* source) {
  auto const get = [source](auto zero) {
    std::memcpy(&zero, source, sizeof zero);
    return zero;
  };
  if constexpr (kIsComplex<T>) {
    using R = Real<T>;
    if (type == CUDA_C_32F) return T(get(Complex32{}));
    if (type == CUDA_C_64F) {
      Complex64 const value = get(Complex64{});
      return T(static_cast<R>(value.real()), static_cast<R>(value.imag()));
    }
    return T(load_as<R>(type, source));
  } else {
    switch (type) {
      case CUDA_R_16F: return static_cast<T>(half_to_float(get(std::uint16_t{})));
      case CUDA_R_16BF: return static_cast<T>(bfloat_to_float(get(std::uint16_t{})));
      case CUDA_R_32F:
      case CUDA_C_32F: return static_cast<T>(get(0.0f));
      case CUDA_R_64F:
      case CUDA_C_64F: return static_cast<T>(get(0.0));
      case CUDA_R_8I: return static_cast<T>(get(std::int8_t{}));
      case CUDA_R_32I: return static_cast<T>(get(std::int32_t{}));
      default: return T{};
    }
  }
}

// Writes one element, narrowing as needed.
template <class T>
void store_as(cudaDataType type, T value, void* target) {
  auto const put = [target](auto stored) { std::memcpy(target, &stored, sizeof stored); };
  if constexpr (kIsComplex<T>) {
    if (type == CUDA_C_32F) return put(Complex32(static_cast<float>(value.real()), static_cast<float>(value.imag())));
    if (type == CUDA_C_64F) return put(Complex64(value.real(), value.imag()));
    store_as(type, value.real(), target);
  } else {
    switch (type) {
      case CUDA_R_32F: return put(static_cast<float>(value));
      case CUDA_R_64F: return put(static_cast<double>(value));
      case CUDA_C_32F: return put(Complex32(static_cast<float>(value)));
      case CUDA_C_64F: return put(Complex64(static_cast<double>(value)));
      default: {
        float const wide = static_cast<float>(value);
        narrow(type, &wide, target, 1);
      }
    }
  }
}

struct AnyScalar {
  cudaDataType type = CUDA_R_32F;
  alignas(16) std::byte value[16] = {};
  const void* device = nullptr;  // read when the work runs

  template <class T>
  T get() const {
    return load_as<T>(type, device != nullptr ? device : value);
  }
};

}  // namespace tidemark::softgpu::blas
