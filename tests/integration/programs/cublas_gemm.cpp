// SPDX-License-Identifier: Apache-2.0
// cuBLAS as an application uses it: handle, stream, matrices, products in two precisions.
#include <cublas_v2.h>

#include <vector>

#include "tests/integration/programs/check.h"

#define BLAS(...) check_true((__VA_ARGS__) == CUBLAS_STATUS_SUCCESS, #__VA_ARGS__, __FILE__, __LINE__)

int main(int argc, char** argv) {
  int const n = 64;
  float const one = 1, zero = 0;
  std::vector<float> a(n * n, 1), b(n * n, 2), c(n * n);
  float *da = nullptr, *db = nullptr, *dc = nullptr;
  cublasHandle_t handle = nullptr;
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreate(&stream));
  BLAS(cublasCreate(&handle));
  BLAS(cublasSetStream(handle, stream));
  BLAS(cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH));
  CHECK(cudaMalloc(&da, n * n * sizeof(float)));
  CHECK(cudaMalloc(&db, n * n * sizeof(float)));
  CHECK(cudaMalloc(&dc, n * n * sizeof(float)));
  BLAS(cublasSetMatrix(n, n, sizeof(float), a.data(), n, da, n));
  BLAS(cublasSetMatrix(n, n, sizeof(float), b.data(), n, db, n));
  BLAS(cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_T, n, n, n, &one, da, n, db, n, &zero, dc, n));
  BLAS(cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, da, CUDA_R_32F, n, db, CUDA_R_32F, n, &zero, dc,
                    CUDA_R_32F, n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  BLAS(cublasSscal(handle, n * n, &one, dc, 1));
  CHECK(cudaStreamSynchronize(stream));
  BLAS(cublasGetMatrix(n, n, sizeof(float), dc, n, c.data(), n));
  std::printf("c[0] = %g\n", c[0]);
  if (values_count(argc, argv)) REQUIRE(c[0] == 128);
  BLAS(cublasDestroy(handle));
  CHECK(cudaStreamDestroy(stream));
  CHECK(cudaFree(da));
  CHECK(cudaFree(db));
  CHECK(cudaFree(dc));
  return 0;
}
