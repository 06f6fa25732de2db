// SPDX-License-Identifier: Apache-2.0
// Dry run: arguments are checked, work is queued, no memory is touched and OpenBLAS is not even loaded.
#include <fstream>
#include <string>

#include "tests/unit/softgpu/blas/support.h"

namespace blas_test {
namespace {

bool is_mapped(const std::string& library) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);)
    if (line.find(library) != std::string::npos) return true;
  return false;
}

// Addresses that nobody can read: touching one ends the test.
template <class T = float>
T* nowhere(std::uintptr_t at) {
  return reinterpret_cast<T*>(at << 12);
}

struct DryRun : ::testing::Test {
  fake::Scope scope;
  cublasHandle_t handle = nullptr;
  void SetUp() override {
    fake::state().dry_run = true;
    BLAS_OK(cublasCreate(&handle));
  }
  void TearDown() override { BLAS_OK(cublasDestroy(handle)); }
};

TEST_F(DryRun, QueuesWithoutTouchingMemory) {
  float const one = 1;
  BLAS_OK(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 1 << 20, 1 << 10, 1 << 10, &one, nowhere(1), 1 << 20,
                      nowhere(2), 1 << 10, &one, nowhere(3), 1 << 20));
  BLAS_OK(cublasSaxpy(handle, 1 << 30, &one, nowhere(1), 1, nowhere(2), 1));
  BLAS_OK(cublasSgemmBatched(handle, CUBLAS_OP_N, CUBLAS_OP_N, 8, 8, 8, &one, nowhere<const float*>(1), 8,
                             nowhere<const float*>(2), 8, &one, nowhere<float*>(3), 8, 1000));
  ASSERT_EQ(fake::state().queued.size(), 3u);
  EXPECT_EQ(fake::state().queued[0].touches.size(), 3u);
  EXPECT_EQ(fake::state().runs, 0);
  EXPECT_FALSE(is_mapped("openblas"));
}

TEST_F(DryRun, StillChecksArguments) {
  float const one = 1;
  EXPECT_EQ(
      cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &one, nowhere(1), 3, nowhere(2), 4, &one, nowhere(3), 4),
      CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, 4, 4, 4, &one, nowhere(1), CUDA_R_16F, 4, nowhere(2),
                         CUDA_R_64F, 4, &one, nowhere(3), CUDA_R_32F, 4, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
            CUBLAS_STATUS_NOT_SUPPORTED);
}

TEST_F(DryRun, HostResultsAreDefined) {
  float result = 42;
  int index = 42;
  BLAS_OK(cublasSdot(handle, 100, nowhere(1), 1, nowhere(2), 1, &result));
  EXPECT_EQ(result, 0);
  BLAS_OK(cublasIsamax(handle, 100, nowhere(1), 1, &index));
  EXPECT_EQ(index, 0);
}

TEST_F(DryRun, WhatIsNotComputedIsSkippedInOrder) {
  BLAS_OK(cublasSgetrfBatched(handle, 8, nowhere<float*>(1), 8, nowhere<int>(2), nowhere<int>(3), 4));
  float const one = 1;
  BLAS_OK(cublasSscal_v2_64(handle, std::int64_t{1} << 33, &one, nowhere(1), 1));
  ASSERT_EQ(fake::state().queued.size(), 2u);
  EXPECT_EQ(fake::state().queued[0].name, "cublasSgetrfBatched");
}

TEST_F(DryRun, LtMatmulIsQueued) {
  cublasLtMatmulDescOpaque_t desc;
  BLAS_OK(cublasLtMatmulDescInit(&desc, CUBLAS_COMPUTE_32F, CUDA_R_32F));
  cublasLtMatrixLayoutOpaque_t layout;
  BLAS_OK(cublasLtMatrixLayoutInit(&layout, CUDA_R_16BF, 4096, 4096, 4096));
  float const one = 1;
  BLAS_OK(cublasLtMatmul(reinterpret_cast<cublasLtHandle_t>(handle), &desc, &one, nowhere(1), &layout, nowhere(2),
                         &layout, &one, nowhere(3), &layout, nowhere(4), &layout, nullptr, nullptr, 0, nullptr));
  ASSERT_EQ(fake::state().queued.size(), 1u);
  EXPECT_EQ(fake::state().queued[0].touches.size(), 4u);
  EXPECT_EQ(fake::state().runs, 0);
}

}  // namespace
}  // namespace blas_test
