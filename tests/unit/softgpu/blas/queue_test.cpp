// SPDX-License-Identifier: Apache-2.0
// What a call does around its computation: handle, stream, scalars, the memory it announces, failures.
#include "tests/unit/softgpu/blas/support.h"

namespace blas_test {
namespace {

TEST(CublasHandle, KeepsItsSettingsAndRefusesBadOnes) {
  Handle handle;
  int version = 0, value = 0;
  BLAS_OK(cublasGetVersion(handle, &version));
  EXPECT_EQ(version, CUBLAS_VERSION);
  BLAS_OK(cublasGetProperty(MAJOR_VERSION, &value));
  EXPECT_EQ(value, CUBLAS_VER_MAJOR);
  EXPECT_EQ(cublasGetProperty(static_cast<libraryPropertyType>(9), &value), CUBLAS_STATUS_INVALID_VALUE);
  cublasMath_t math;
  BLAS_OK(cublasSetMathMode(handle, CUBLAS_TF32_TENSOR_OP_MATH));
  BLAS_OK(cublasGetMathMode(handle, &math));
  EXPECT_EQ(math, CUBLAS_TF32_TENSOR_OP_MATH);
  EXPECT_EQ(cublasSetMathMode(handle, static_cast<cublasMath_t>(77)), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasSetPointerMode(handle, static_cast<cublasPointerMode_t>(5)), CUBLAS_STATUS_INVALID_VALUE);
  cublasAtomicsMode_t atomics;
  BLAS_OK(cublasSetAtomicsMode(handle, CUBLAS_ATOMICS_ALLOWED));
  BLAS_OK(cublasGetAtomicsMode(handle, &atomics));
  EXPECT_EQ(atomics, CUBLAS_ATOMICS_ALLOWED);
  alignas(256) char workspace[512];
  BLAS_OK(cublasSetWorkspace(handle, workspace, sizeof workspace));
  EXPECT_EQ(cublasSetWorkspace(handle, workspace + 1, 8), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasSetStream(nullptr, nullptr), CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(cublasDestroy(nullptr), CUBLAS_STATUS_NOT_INITIALIZED);
  EXPECT_EQ(cublasCreate(nullptr), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_STREQ(cublasGetStatusName(CUBLAS_STATUS_NOT_SUPPORTED), "CUBLAS_STATUS_NOT_SUPPORTED");
  EXPECT_STREQ(cublasGetStatusString(CUBLAS_STATUS_SUCCESS), "success");
}

std::string logged;
TEST(CublasHandle, CallbackSeesEveryCall) {
  Handle handle;
  cublasLogCallback back = nullptr;
  BLAS_OK(cublasSetLoggerCallback([](const char* line) { logged += line; }));
  BLAS_OK(cublasGetLoggerCallback(&back));
  EXPECT_NE(back, nullptr);
  float x = 1, one = 1;
  BLAS_OK(cublasSscal(handle, 1, &one, &x, 1));
  EXPECT_NE(logged.find("cublasSscal"), std::string::npos);
  BLAS_OK(cublasSetLoggerCallback(nullptr));
}

TEST(CublasQueue, WorkGoesToTheHandlesStreamWithTheMemoryItTouches) {
  Handle handle;
  auto const stream = reinterpret_cast<cudaStream_t>(0x1230);
  BLAS_OK(cublasSetStream(handle, stream));
  float const alpha = 1, beta = 0;
  std::vector<float> a(4 * 5), b(6 * 3), c(5 * 3);
  BLAS_OK(cublasSgemm(handle, CUBLAS_OP_T, CUBLAS_OP_N, 3, 2, 4, &alpha, a.data(), 5, b.data(), 6, &beta, c.data(), 5));
  ASSERT_EQ(fake::state().queued.size(), 1u);
  auto const& work = fake::state().queued[0];
  EXPECT_EQ(work.name, "cublasSgemm_v2");
  EXPECT_EQ(work.stream, stream);
  ASSERT_EQ(work.touches.size(), 3u);
  EXPECT_EQ(work.touches[0].address, reinterpret_cast<std::uintptr_t>(a.data()));
  EXPECT_EQ(work.touches[0].bytes, (2 * 5 + 4) * sizeof(float));
  EXPECT_EQ(work.touches[1].bytes, (1 * 6 + 4) * sizeof(float));
  EXPECT_EQ(work.touches[2].bytes, (1 * 5 + 3) * sizeof(float));
  EXPECT_EQ(work.touches[0].writes, 0);
  EXPECT_EQ(work.touches[2].writes, 1);
}

TEST(CublasQueue, HostScalarsAreTakenAtTheCallDeviceScalarsWhenItRuns) {
  Handle handle;
  fake::state().deferred = true;
  float alpha = 2;
  std::vector<float> x = {1}, y = {0};
  BLAS_OK(cublasSaxpy(handle, 1, &alpha, x.data(), 1, y.data(), 1));
  alpha = 100;
  EXPECT_EQ(y[0], 0);
  fake::run_pending();
  EXPECT_EQ(y[0], 2);
  BLAS_OK(cublasSetPointerMode(handle, CUBLAS_POINTER_MODE_DEVICE));
  BLAS_OK(cublasSaxpy(handle, 1, &alpha, x.data(), 1, y.data(), 1));
  ASSERT_EQ(fake::state().queued.back().touches.size(), 3u);  // alpha too
  alpha = 5;
  fake::run_pending();
  EXPECT_EQ(y[0], 7);
  float dot = -1;
  BLAS_OK(cublasSdot(handle, 1, x.data(), 1, y.data(), 1, &dot));
  EXPECT_EQ(dot, -1);
  fake::run_pending();
  EXPECT_EQ(dot, 7);
}

TEST(CublasQueue, AHostResultWaitsForItsStream) {
  Handle handle;
  fake::state().deferred = true;
  std::vector<float> x = {3, 4};
  float norm = 0;
  BLAS_OK(cublasSnrm2(handle, 2, x.data(), 1, &norm));
  EXPECT_FLOAT_EQ(norm, 5);
}

TEST(CublasQueue, AFailedSubmissionIsReported) {
  Handle handle;
  float x = 1;
  fake::state().submit_result = 700;
  EXPECT_EQ(cublasSscal(handle, 1, &x, &x, 1), CUBLAS_STATUS_EXECUTION_FAILED);
  fake::state().submit_result = 2;
  EXPECT_EQ(cublasSscal(handle, 1, &x, &x, 1), CUBLAS_STATUS_ALLOC_FAILED);
}

TEST(CublasQueue, WhatIsNotComputedIsRefused) {
  Handle handle;
  EXPECT_EQ(cublasSgetrfBatched(handle, 1, nullptr, 1, nullptr, nullptr, 1), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(cublasSgetrfBatched(nullptr, 1, nullptr, 1, nullptr, nullptr, 1), CUBLAS_STATUS_NOT_INITIALIZED);
  float x = 1;
  EXPECT_EQ(cublasSscal_v2_64(handle, std::int64_t{1} << 32, &x, &x, 1), CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_TRUE(fake::state().queued.empty());
}

TEST(CublasCopies, VectorsAndMatricesWithTheirStrides) {
  Handle handle;
  std::vector<float> const host = {1, 2, 3, 4, 5, 6};
  std::vector<float> device(12), back(6);
  BLAS_OK(cublasSetVector(3, sizeof(float), host.data(), 2, device.data(), 3));
  EXPECT_EQ(device[0], 1);
  EXPECT_EQ(device[3], 3);
  EXPECT_EQ(device[6], 5);
  BLAS_OK(cublasGetVectorAsync(3, sizeof(float), device.data(), 3, back.data(), 1, nullptr));
  EXPECT_EQ(back, (std::vector<float>{1, 3, 5, 0, 0, 0}));
  BLAS_OK(cublasSetMatrix(2, 3, sizeof(float), host.data(), 2, device.data(), 4));
  EXPECT_EQ(device[8], 5);
  BLAS_OK(cublasGetMatrix_64(2, 3, sizeof(float), device.data(), 4, back.data(), 2));
  EXPECT_EQ(back, host);
  EXPECT_EQ(cublasSetVector(3, 0, host.data(), 1, device.data(), 1), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasSetVector(3, 4, host.data(), 0, device.data(), 1), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_EQ(cublasSetMatrix(4, 3, 4, host.data(), 2, device.data(), 4), CUBLAS_STATUS_INVALID_VALUE);
}

}  // namespace
}  // namespace blas_test
