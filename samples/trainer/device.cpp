// SPDX-License-Identifier: Apache-2.0
#include "samples/trainer/device.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/bytes.h"
#include "samples/trainer/check.h"

namespace tidemark::trainer {
namespace {

constexpr std::uint64_t kRounding = 512;

cudaDataType_t data_type(kernels::Type type) {
  switch (type) {
    case kernels::Type::F16: return CUDA_R_16F;
    case kernels::Type::BF16: return CUDA_R_16BF;
    default: return CUDA_R_32F;
  }
}

}  // namespace

void check(cudaError_t error, const char* call, const char* file, int line) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "error: %s:%d: %s: %s (%s)\n", file, line, call, cudaGetErrorName(error),
               cudaGetErrorString(error));
  std::exit(1);
}

void check(cublasStatus_t status, const char* call, const char* file, int line) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  std::fprintf(stderr, "error: %s:%d: %s: %s\n", file, line, call, cublasGetStatusName(status));
  std::exit(1);
}

Device::Device() {
  TRAINER_CHECK(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
  TRAINER_CHECK(cublasCreate(&blas_));
  TRAINER_CHECK(cublasSetStream(blas_, stream_));
}

Device::~Device() {
  cublasDestroy(blas_);
  cudaStreamDestroy(stream_);
}

// cuBLAS counts down columns: a matrix row by row is its transpose there, and C' = B' A'.
void Device::multiply(const Product& p) {
  auto const op = [](bool transpose) { return transpose ? CUBLAS_OP_T : CUBLAS_OP_N; };
  auto const m = static_cast<int>(p.columns), n = static_cast<int>(p.rows), k = static_cast<int>(p.depth);
  TRAINER_CHECK(cublasGemmStridedBatchedEx(
      blas_, op(p.transpose_b), op(p.transpose_a), m, n, k, &p.alpha, p.b, data_type(p.type), static_cast<int>(p.ldb),
      static_cast<long long>(p.stride_b), p.a, data_type(p.type), static_cast<int>(p.lda),
      static_cast<long long>(p.stride_a), &p.beta, p.c, data_type(p.result_type), static_cast<int>(p.ldc),
      static_cast<long long>(p.stride_c), static_cast<int>(p.count), CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
}

void* Device::allocate(std::size_t size_bytes) {
  void* block = nullptr;
  cudaError_t const error = cudaMalloc(&block, size_bytes);
  if (error != cudaSuccess) {
    std::fprintf(stderr, "error: %s for %s while %s are live\n", cudaGetErrorName(error),
                 format_bytes({size_bytes}).c_str(), format_bytes({account_.live_bytes}).c_str());
    std::fprintf(stderr,
                 "hint: a smaller --batch, or --accumulate, --selective, --checkpoint optimal, --precision bf16\n");
    std::exit(1);
  }
  account_.live_bytes += round_up(size_bytes, kRounding);
  account_.peak_bytes = std::max(account_.peak_bytes, account_.live_bytes);
  ++account_.allocations;
  return block;
}

void Device::free(void* block, std::size_t size_bytes) {
  TRAINER_CHECK(cudaFree(block));
  account_.live_bytes -= round_up(size_bytes, kRounding);
  ++account_.frees;
}

void Device::clear(void* block, std::size_t size_bytes) {
  TRAINER_CHECK(cudaMemsetAsync(block, 0, size_bytes, stream_));
}

void Device::synchronize() {
  TRAINER_CHECK(cudaStreamSynchronize(stream_));
}

}  // namespace tidemark::trainer
