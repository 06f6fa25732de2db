// SPDX-License-Identifier: Apache-2.0
// cuBLAS and NVML above softgpu's own device: run by CTest under an eager and a late schedule with the checker on, and
// in dry run.
#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <cublas_v2.h>
#include <cuda.h>
#include <gtest/gtest.h>
#include <nvml.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

#include "softgpu/interface/softgpu.h"

#define CU_OK(call) ASSERT_EQ(call, CUDA_SUCCESS)
#define BLAS_OK(call) ASSERT_EQ(call, CUBLAS_STATUS_SUCCESS)

namespace {

struct OnDevice : ::testing::Test {
  cublasHandle_t handle = nullptr;
  CUstream stream = nullptr;
  void SetUp() override {
    // As a program that only knows cuBLAS: the handle makes the context.
    BLAS_OK(cublasCreate(&handle));
    CU_OK(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
    BLAS_OK(cublasSetStream(handle, stream));
  }
  void TearDown() override {
    BLAS_OK(cublasDestroy(handle));
    CU_OK(cuStreamDestroy(stream));
    EXPECT_EQ(softgpu_check_reports(), 0u);
  }
  static float* floats(CUdeviceptr p) { return reinterpret_cast<float*>(p); }
};

TEST_F(OnDevice, ComputesInStreamOrder) {
  constexpr int n = 64;
  constexpr std::size_t bytes = n * n * sizeof(float);
  std::vector<float> host(n * n), out(n * n, -1);
  for (int i = 0; i < n; ++i) host[static_cast<std::size_t>(i * (n + 1))] = 2;
  CUdeviceptr a = 0, b = 0;
  CU_OK(cuMemAlloc(&a, bytes));
  CU_OK(cuMemAlloc(&b, bytes));
  float const one = 1, zero = 0;
  CU_OK(cuMemcpyHtoDAsync(a, host.data(), bytes, stream));
  CU_OK(cuMemsetD32Async(b, 0x3f800000, n * n, stream));
  for (int i = 0; i < 3; ++i)
    BLAS_OK(
        cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, floats(a), n, floats(a), n, &one, floats(b), n));
  BLAS_OK(cublasSgeam(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, &one, floats(b), n, &zero, floats(b), n, floats(a), n));
  CU_OK(cuMemcpyDtoHAsync(out.data(), a, bytes, stream));
  CU_OK(cuStreamSynchronize(stream));
  if (softgpu_dry_run() == 0) {
    for (int j = 0; j < n; ++j)
      for (int i = 0; i < n; ++i) ASSERT_EQ(out[static_cast<std::size_t>(i + j * n)], i == j ? 13 : 1);
    float sum = 0;
    BLAS_OK(cublasSasum(handle, n * n, floats(a), 1, &sum));
    EXPECT_EQ(sum, n * n + 12 * n);
  }
  CU_OK(cuMemFree(a));
  CU_OK(cuMemFree(b));
}

TEST_F(OnDevice, WorkIsCapturedIntoAGraph) {
  CUdeviceptr x = 0;
  CU_OK(cuMemAlloc(&x, 4 * sizeof(float)));
  CU_OK(cuMemsetD32Async(x, 0x3f800000, 4, stream));
  float const two = 2;
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  CUresult const begun = cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  if (begun == CUDA_ERROR_NOT_SUPPORTED) GTEST_SKIP() << "no stream capture here";
  CU_OK(begun);
  BLAS_OK(cublasSscal(handle, 4, &two, floats(x), 1));
  CU_OK(cuStreamEndCapture(stream, &graph));
  CU_OK(cuGraphInstantiate(&exec, graph, 0));
  for (int i = 0; i < 3; ++i) CU_OK(cuGraphLaunch(exec, stream));
  std::vector<float> out(4);
  CU_OK(cuMemcpyDtoHAsync(out.data(), x, 4 * sizeof(float), stream));
  CU_OK(cuStreamSynchronize(stream));
  if (softgpu_dry_run() == 0) {
    EXPECT_EQ(out, std::vector<float>(4, 8));
  }
  CU_OK(cuGraphExecDestroy(exec));
  CU_OK(cuGraphDestroy(graph));
  CU_OK(cuMemFree(x));
}

TEST_F(OnDevice, NvmlAndTheDriverAgreeToTheByte) {
  ASSERT_EQ(nvmlInit_v2(), NVML_SUCCESS);
  nvmlDevice_t device = nullptr;
  ASSERT_EQ(nvmlDeviceGetHandleByIndex_v2(0, &device), NVML_SUCCESS);
  auto const compare = [&] {
    std::size_t free = 0, total = 0;
    nvmlMemory_t memory{};
    CU_OK(cuMemGetInfo(&free, &total));
    ASSERT_EQ(nvmlDeviceGetMemoryInfo(device, &memory), NVML_SUCCESS);
    EXPECT_EQ(memory.total, total);
    EXPECT_EQ(memory.free, free);
    EXPECT_EQ(memory.used, total - free);
  };
  compare();
  CUdeviceptr p = 0;
  CU_OK(cuMemAlloc(&p, 12345678));
  compare();
  nvmlProcessInfo_t processes[8];
  unsigned count = 8;
  ASSERT_EQ(nvmlDeviceGetComputeRunningProcesses_v3(device, &count, processes), NVML_SUCCESS);
  ASSERT_EQ(count, 1u);
  EXPECT_EQ(processes[0].pid, static_cast<unsigned>(getpid()));
  EXPECT_GE(processes[0].usedGpuMemory, 12345678u);
  char name[96];
  ASSERT_EQ(nvmlDeviceGetName(device, name, sizeof name), NVML_SUCCESS);
  char driver_name[96];
  CU_OK(cuDeviceGetName(driver_name, sizeof driver_name, 0));
  EXPECT_STREQ(name, driver_name);
  char bus[32];
  CU_OK(cuDeviceGetPCIBusId(bus, sizeof bus, 0));
  nvmlDevice_t found = nullptr;
  ASSERT_EQ(nvmlDeviceGetHandleByPciBusId_v2(bus, &found), NVML_SUCCESS);
  EXPECT_EQ(found, device);
  CU_OK(cuMemFree(p));
  EXPECT_EQ(nvmlShutdown(), NVML_SUCCESS);
}

}  // namespace
