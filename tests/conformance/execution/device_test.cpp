// SPDX-License-Identifier: Apache-2.0
// Devices: choosing them, asking about them, several at once.
#include <algorithm>
#include <cstring>
#include <thread>

#include "tests/conformance/support/device.h"
#include "tests/conformance/support/kernels.h"

namespace conformance {
namespace {

class DeviceApi : public Conformance {};

int current() {
  int device = -1;
  EXPECT_OK(cudaGetDevice(&device));
  return device;
}

TEST_F(DeviceApi, IsChosenPerThread) {
  NEEDS_DEVICES(2);
  ASSERT_OK(cudaSetDevice(1));
  EXPECT_EQ(1, current());
  std::thread([] { EXPECT_EQ(0, current()); }).join();
  ASSERT_OK(cudaSetDevice(0));
  EXPECT_EQ(0, current());
}

TEST_F(DeviceApi, RefusesBadOrdinals) {
  int const count = device_count();
  EXPECT_CUDA(cudaErrorInvalidDevice, cudaSetDevice(count));
  EXPECT_CUDA(cudaErrorInvalidDevice, cudaSetDevice(-1));
  cudaDeviceProp prop{};
  EXPECT_CUDA(cudaErrorInvalidDevice, cudaGetDeviceProperties(&prop, count));
  int value = 0;
  EXPECT_CUDA(cudaErrorInvalidDevice, cudaDeviceGetAttribute(&value, cudaDevAttrWarpSize, count));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaGetDeviceCount(nullptr));
  EXPECT_CUDA(cudaErrorInvalidValue, cudaGetDevice(nullptr));
  EXPECT_EQ(0, current());
}

TEST_F(DeviceApi, PropertiesAgreeWithAttributes) {
  cudaDeviceProp prop{};
  ASSERT_OK(cudaGetDeviceProperties(&prop, 0));
  struct Pair {
    cudaDeviceAttr attribute;
    int value;
  };
  for (Pair const& pair : {Pair{cudaDevAttrComputeCapabilityMajor, prop.major},
                           {cudaDevAttrComputeCapabilityMinor, prop.minor},
                           {cudaDevAttrMultiProcessorCount, prop.multiProcessorCount},
                           {cudaDevAttrWarpSize, prop.warpSize},
                           {cudaDevAttrMaxThreadsPerBlock, prop.maxThreadsPerBlock},
                           {cudaDevAttrMaxSharedMemoryPerBlock, static_cast<int>(prop.sharedMemPerBlock)},
                           {cudaDevAttrMaxGridDimX, prop.maxGridSize[0]},
                           {cudaDevAttrMaxBlockDimZ, prop.maxThreadsDim[2]}}) {
    int value = 0;
    EXPECT_OK(cudaDeviceGetAttribute(&value, pair.attribute, 0));
    EXPECT_EQ(pair.value, value) << pair.attribute;
  }
  EXPECT_EQ(memory_info().total_bytes, prop.totalGlobalMem);
  EXPECT_GT(std::strlen(prop.name), 0u);
  EXPECT_EQ(32, prop.warpSize);
  EXPECT_GE(prop.major * 10 + prop.minor, 75);
  if (is_softgpu()) {
    EXPECT_NE(nullptr, std::strstr(prop.name, "SoftGPU"));
  }
}

TEST_F(DeviceApi, IsFoundByItsBusId) {
  char text[32] = {};
  ASSERT_OK(cudaDeviceGetPCIBusId(text, sizeof text, 0));
  int device = -1;
  EXPECT_OK(cudaDeviceGetByPCIBusId(&device, text));
  EXPECT_EQ(0, device);
}

TEST_F(DeviceApi, VersionsAreThirteen) {
  int driver = 0, runtime = 0;
  ASSERT_OK(cudaDriverGetVersion(&driver));
  ASSERT_OK(cudaRuntimeGetVersion(&runtime));
  EXPECT_GE(driver, 13000);
  EXPECT_EQ(CUDART_VERSION / 1000, runtime / 1000);
}

TEST_F(DeviceApi, MemoryIsTheDevicesOwn) {
  NEEDS_DEVICES(2);
  std::size_t const first = memory_info().free_bytes;
  ASSERT_OK(cudaSetDevice(1));
  std::size_t const second = memory_info().free_bytes;
  void* p = nullptr;
  ASSERT_OK(cudaMalloc(&p, 32 * kMiB));
  EXPECT_LE(memory_info().free_bytes + 32 * kMiB, second);
  cudaPointerAttributes attributes{};
  EXPECT_OK(cudaPointerGetAttributes(&attributes, p));
  EXPECT_EQ(1, attributes.device);
  ASSERT_OK(cudaSetDevice(0));
  if (is_softgpu()) {
    EXPECT_EQ(first, memory_info().free_bytes);
  }
  EXPECT_OK(cudaFree(p));  // from another device: memory is found by its address
  ASSERT_OK(cudaSetDevice(1));
  EXPECT_GE(memory_info().free_bytes, second);
  ASSERT_OK(cudaSetDevice(0));
}

TEST_F(DeviceApi, KernelsRunOnEachDevice) {
  NEEDS_VALUES();
  for (int device = 0; device < std::min(device_count(), 4); ++device) {
    ASSERT_OK(cudaSetDevice(device));
    DeviceBytes const memory(4000);
    ASSERT_OK(launch_fill(memory.words(), 1000, static_cast<std::uint32_t>(device), nullptr));
    EXPECT_EQ(0u, wrong_on_device(memory.words(), 1000, static_cast<std::uint32_t>(device)));
  }
  ASSERT_OK(cudaSetDevice(0));
}

TEST_F(DeviceApi, SynchroniseIsOfTheCurrentDevice) {
  NEEDS_DEVICES(2);
  NEEDS_VALUES();
  ASSERT_OK(cudaSetDevice(1));
  {
    DeviceBytes const memory(4000);
    PinnedBytes const out(4000);
    Stream const stream(cudaStreamNonBlocking);
    ASSERT_OK(launch_fill(memory.words(), 1000, 4, stream));
    ASSERT_OK(cudaMemcpyAsync(out.get(), memory.get(), 4000, cudaMemcpyDeviceToHost, stream));
    ASSERT_OK(cudaDeviceSynchronize());
    EXPECT_EQ(0u, wrong_words({out.words(), out.words() + 1000}, 4));
  }
  ASSERT_OK(cudaSetDevice(0));
}

TEST_F(DeviceApi, EntryPointsAreFoundByName) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  ASSERT_OK(cudaGetDriverEntryPointByVersion("cuMemAlloc", &function, 12000, cudaEnableDefault, &found));
  EXPECT_EQ(cudaDriverEntryPointSuccess, found);
  CUdeviceptr p = 0;
  ASSERT_OK(reinterpret_cast<CUresult (*)(CUdeviceptr*, std::size_t)>(function)(&p, 100));
  EXPECT_OK(cuMemFree(p));
  ASSERT_OK(cudaGetDriverEntryPointByVersion("cuNoSuchThing", &function, 12000, cudaEnableDefault, &found));
  EXPECT_EQ(cudaDriverEntryPointSymbolNotFound, found);
  EXPECT_EQ(nullptr, function);
  CUdriverProcAddressQueryResult status{};
  EXPECT_OK(cuGetProcAddress("cuMemFree", &function, 13000, CU_GET_PROC_ADDRESS_DEFAULT, &status));
  EXPECT_EQ(CU_GET_PROC_ADDRESS_SUCCESS, status);
}

}  // namespace
}  // namespace conformance
