// SPDX-License-Identifier: Apache-2.0
// The device as the trainer uses it: one stream, one cuBLAS handle, plain cudaMalloc and cudaFree.
//
// Plain, not stream-ordered, allocation: it is what programs without an allocator of their own do, each tensor is then
// a block that tidemark sees and serves, and the caching allocator in front of it makes it cheap. Bare, on a card,
// every cudaFree waits for the device; that is the price a naive program pays, and it changes no value.
#pragma once
#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "kernels/launch.h"

namespace tidemark::trainer {

// C (rows x columns) = alpha * op(A) * op(B) + beta * C, all row by row; `depth` is what is summed over. Sums are float
// whatever the elements are.
struct Product {
  std::size_t rows = 0, columns = 0, depth = 0;
  const void* a = nullptr;
  const void* b = nullptr;
  void* c = nullptr;
  std::size_t lda = 0, ldb = 0, ldc = 0;
  bool transpose_a = false, transpose_b = false;
  float alpha = 1, beta = 0;
  kernels::Type type = kernels::Type::F32;         // of A and B
  kernels::Type result_type = kernels::Type::F32;  // of C
  // Several products at once: distances in elements.
  std::size_t count = 1, stride_a = 0, stride_b = 0, stride_c = 0;
};

// Blocks are counted as tidemark counts them, rounded up to 512 bytes each.
struct Account {
  std::uint64_t live_bytes = 0, peak_bytes = 0;
  std::uint64_t allocations = 0, frees = 0;
};

class Device {
 public:
  Device();
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  cudaStream_t stream() const { return stream_; }
  void multiply(const Product& product);
  // Ends the program, with what was asked for, where there is no memory left.
  void* allocate(std::size_t size_bytes);
  void free(void* block, std::size_t size_bytes);
  void clear(void* block, std::size_t size_bytes);
  void synchronize();
  const Account& account() const { return account_; }
  void forget_peak() { account_.peak_bytes = account_.live_bytes; }

 private:
  cudaStream_t stream_ = nullptr;
  cublasHandle_t blas_ = nullptr;
  Account account_;
};

}  // namespace tidemark::trainer
