// SPDX-License-Identifier: Apache-2.0
// The runtime on a machine without a driver: error 35 everywhere, version 0, no crash, nothing on stderr.
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

class NoDriver : public testing::Test {
 protected:
  void SetUp() override {
    if (dlopen("libcuda.so.1", RTLD_NOW) != nullptr)
      GTEST_SKIP() << "this machine has a libcuda.so.1 on its library path";
  }
};

TEST_F(NoDriver, EveryCallSaysThatTheDriverIsInsufficient) {
  int count = 7;
  EXPECT_EQ(cudaGetDeviceCount(&count), cudaErrorInsufficientDriver);
  EXPECT_EQ(count, 0);
  void* pointer = nullptr;
  EXPECT_EQ(cudaMalloc(&pointer, 1), cudaErrorInsufficientDriver);
  EXPECT_EQ(cudaSetDevice(0), cudaErrorInsufficientDriver);
  EXPECT_EQ(cudaFree(nullptr), cudaErrorInsufficientDriver);
  EXPECT_EQ(cudaLaunchKernel(&count, dim3(1), dim3(1), nullptr, 0, nullptr), cudaErrorInsufficientDriver);
  EXPECT_EQ(cudaGetLastError(), cudaErrorInsufficientDriver);
}

TEST_F(NoDriver, VersionsAreKnown) {
  int version = 7;
  EXPECT_EQ(cudaDriverGetVersion(&version), cudaSuccess);
  EXPECT_EQ(version, 0);
  EXPECT_EQ(cudaRuntimeGetVersion(&version), cudaSuccess);
  EXPECT_EQ(version, CUDART_VERSION);
}
