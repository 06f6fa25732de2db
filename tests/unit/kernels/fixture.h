// SPDX-License-Identifier: Apache-2.0
// Numbers on the device, in each of the three types.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <stdexcept>
#include <vector>

#include "kernels/launch.h"

namespace tidemark::kernels {

inline void must(cudaError_t error) {
  if (error != cudaSuccess) throw std::runtime_error(cudaGetErrorName(error));
}

// A block of the device's memory; bytes are copied both ways.
class Block {
 public:
  explicit Block(std::size_t size_bytes) : size_(size_bytes) { must(cudaMalloc(&address_, size_bytes)); }
  template <class T>
  explicit Block(const std::vector<T>& values) : Block(values.size() * sizeof(T)) {
    must(cudaMemcpy(address_, values.data(), size_, cudaMemcpyHostToDevice));
  }
  ~Block() { cudaFree(address_); }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  void* get() const { return address_; }
  template <class T>
  T* as() const {
    return static_cast<T*>(address_);
  }
  template <class T>
  std::vector<T> read() const {
    std::vector<T> values(size_ / sizeof(T));
    must(cudaDeviceSynchronize());
    must(cudaMemcpy(values.data(), address_, size_, cudaMemcpyDeviceToHost));
    return values;
  }

 private:
  void* address_ = nullptr;
  std::size_t size_;
};

// Elements of a type, seen from the host as doubles. What goes in is rounded to bf16 first: then it is the same number
// in all types.
class Tensor {
 public:
  Tensor(Type type, const std::vector<double>& values)
      : type_(type), n_(values.size()), block_(values.size() * type_bytes(type)) {
    std::vector<std::byte> bytes(n_ * type_bytes(type));
    for (std::size_t i = 0; i < n_; ++i) {
      auto const x = static_cast<float>(values[i]);
      if (type == Type::F32) std::memcpy(&bytes[4 * i], &x, 4);
      __half const h = __float2half_rn(x);
      if (type == Type::F16) std::memcpy(&bytes[2 * i], &h, 2);
      __nv_bfloat16 const b = __float2bfloat16_rn(x);
      if (type == Type::BF16) std::memcpy(&bytes[2 * i], &b, 2);
    }
    must(cudaMemcpy(block_.get(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice));
  }
  Tensor(Type type, std::size_t n) : Tensor(type, std::vector<double>(n, 7.0)) {}
  void* get() const { return block_.get(); }
  float* floats() const { return block_.as<float>(); }
  std::vector<double> read() const {
    std::vector<double> values(n_);
    auto const bytes = block_.read<std::byte>();
    for (std::size_t i = 0; i < n_; ++i) {
      float x = 0;
      __half h;
      __nv_bfloat16 b;
      if (type_ == Type::F32) std::memcpy(&x, &bytes[4 * i], 4);
      if (type_ == Type::F16) std::memcpy(&h, &bytes[2 * i], 2), x = __half2float(h);
      if (type_ == Type::BF16) std::memcpy(&b, &bytes[2 * i], 2), x = __bfloat162float(b);
      values[i] = x;
    }
    return values;
  }

 private:
  Type type_;
  std::size_t n_;
  Block block_;
};

// In (-scale, scale), each a number of bf16.
inline std::vector<double> draw(std::size_t n, unsigned seed, double scale = 2) {
  std::mt19937 random(seed);
  std::vector<double> values(n);
  for (double& v : values)
    v = static_cast<double>(
        __bfloat162float(__float2bfloat16_rn(static_cast<float>((random() / 2147483648.0 - 1) * scale))));
  return values;
}

// One rounding of the type, and what float sums lose on the way.
inline double tolerance(Type type, double value) {
  double const relative = type == Type::F32 ? 2e-6 : type == Type::F16 ? 6e-4 : 4.5e-3;
  return relative * std::abs(value) + (type == Type::F32 ? 3e-6 : 1e-5);
}

inline void expect_close(Type type, const std::vector<double>& got, const std::vector<double>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], expected[i], tolerance(type, expected[i])) << "element " << i;
}

}  // namespace tidemark::kernels
