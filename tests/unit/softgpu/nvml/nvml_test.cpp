// SPDX-License-Identifier: Apache-2.0
#define NVML_NO_UNVERSIONED_FUNC_DEFS
#include <gtest/gtest.h>
#include <nvml.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "tests/unit/softgpu/fake/fake_device.h"

namespace {

struct Nvml : ::testing::Test {
  fake::Scope scope;
  nvmlDevice_t first = nullptr, second = nullptr;
  void SetUp() override {
    ASSERT_EQ(nvmlInit_v2(), NVML_SUCCESS);
    ASSERT_EQ(nvmlDeviceGetHandleByIndex_v2(0, &first), NVML_SUCCESS);
    ASSERT_EQ(nvmlDeviceGetHandleByIndex_v2(1, &second), NVML_SUCCESS);
  }
  void TearDown() override { EXPECT_EQ(nvmlShutdown(), NVML_SUCCESS); }
};

TEST(NvmlSession, CallsBeforeInitAndAfterTheLastShutdownAreRefused) {
  fake::Scope scope;
  unsigned count = 0;
  nvmlMemory_t memory;
  EXPECT_EQ(nvmlDeviceGetCount_v2(&count), NVML_ERROR_UNINITIALIZED);
  EXPECT_EQ(nvmlDeviceGetMemoryInfo(nullptr, &memory), NVML_ERROR_UNINITIALIZED);
  EXPECT_EQ(nvmlDeviceGetTemperature(nullptr, NVML_TEMPERATURE_GPU, &count), NVML_ERROR_UNINITIALIZED);
  EXPECT_EQ(nvmlShutdown(), NVML_ERROR_UNINITIALIZED);
  ASSERT_EQ(nvmlInit(), NVML_SUCCESS);
  ASSERT_EQ(nvmlInitWithFlags(NVML_INIT_FLAG_NO_ATTACH), NVML_SUCCESS);
  EXPECT_EQ(nvmlShutdown(), NVML_SUCCESS);
  EXPECT_EQ(nvmlDeviceGetCount_v2(&count), NVML_SUCCESS);
  EXPECT_EQ(nvmlShutdown(), NVML_SUCCESS);
  EXPECT_EQ(nvmlDeviceGetCount_v2(&count), NVML_ERROR_UNINITIALIZED);
  EXPECT_EQ(nvmlInitWithFlags(64), NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(Nvml, MemoryAgreesWithTheDeviceToTheByte) {
  fake::state().total_bytes = 11552948224ull;
  fake::state().used_bytes = 1234567890ull;
  nvmlMemory_t memory;
  ASSERT_EQ(nvmlDeviceGetMemoryInfo(first, &memory), NVML_SUCCESS);
  EXPECT_EQ(memory.total, 11552948224ull);
  EXPECT_EQ(memory.used, 1234567890ull);
  EXPECT_EQ(memory.free, 11552948224ull - 1234567890ull);
  nvmlMemory_v2_t v2{};
  EXPECT_EQ(nvmlDeviceGetMemoryInfo_v2(first, &v2), NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
  v2.version = nvmlMemory_v2;
  ASSERT_EQ(nvmlDeviceGetMemoryInfo_v2(first, &v2), NVML_SUCCESS);
  EXPECT_EQ(v2.total, v2.used + v2.free + v2.reserved);
  EXPECT_EQ(v2.used, 1234567890ull);
}

TEST_F(Nvml, HandlesAreFoundByUuidAndBus) {
  unsigned count = 0;
  ASSERT_EQ(nvmlDeviceGetCount(&count), NVML_SUCCESS);
  EXPECT_EQ(count, 2u);
  char uuid[NVML_DEVICE_UUID_BUFFER_SIZE];
  ASSERT_EQ(nvmlDeviceGetUUID(second, uuid, sizeof uuid), NVML_SUCCESS);
  EXPECT_STREQ(uuid, "GPU-01112131-4151-6171-8191-a1b1c1d1e1f1");
  nvmlDevice_t found = nullptr;
  ASSERT_EQ(nvmlDeviceGetHandleByUUID(uuid, &found), NVML_SUCCESS);
  EXPECT_EQ(found, second);
  EXPECT_EQ(nvmlDeviceGetHandleByUUID("GPU-none", &found), NVML_ERROR_NOT_FOUND);
  nvmlPciInfo_t pci;
  ASSERT_EQ(nvmlDeviceGetPciInfo_v3(first, &pci), NVML_SUCCESS);
  EXPECT_STREQ(pci.busId, "00000000:03:01.0");
  EXPECT_STREQ(pci.busIdLegacy, "0000:03:01.0");
  for (const char* id : {"00000000:04:01.0", "0000:04:01.0", "04:01.0"}) {
    ASSERT_EQ(nvmlDeviceGetHandleByPciBusId_v2(id, &found), NVML_SUCCESS) << id;
    EXPECT_EQ(found, second);
  }
  EXPECT_EQ(nvmlDeviceGetHandleByPciBusId("0000:09:01.0", &found), NVML_ERROR_NOT_FOUND);
  EXPECT_EQ(nvmlDeviceGetHandleByPciBusId("nonsense", &found), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvmlDeviceGetHandleByIndex(2, &found), NVML_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(nvmlDeviceGetHandleBySerial("1", &found), NVML_ERROR_NOT_FOUND);
  EXPECT_EQ(nvmlDeviceGetIndex(reinterpret_cast<nvmlDevice_t>(&count), &count), NVML_ERROR_INVALID_ARGUMENT);
}

TEST_F(Nvml, ProcessesComeInEveryVersion) {
  fake::state().processes = {{.pid = 41, .used_bytes = 1000}, {.pid = 42, .used_bytes = 5ull << 32}};
  unsigned count = 0;
  EXPECT_EQ(nvmlDeviceGetComputeRunningProcesses_v3(first, &count, nullptr), NVML_ERROR_INSUFFICIENT_SIZE);
  EXPECT_EQ(count, 2u);
  std::vector<nvmlProcessInfo_t> infos(count);
  ASSERT_EQ(nvmlDeviceGetComputeRunningProcesses_v3(first, &count, infos.data()), NVML_SUCCESS);
  EXPECT_EQ(infos[1].pid, 42u);
  EXPECT_EQ(infos[1].usedGpuMemory, 5ull << 32);
  EXPECT_EQ(infos[1].gpuInstanceId, 0xFFFFFFFFu);
  nvmlProcessInfo_v1_t v1[4];
  count = 4;
  ASSERT_EQ(nvmlDeviceGetComputeRunningProcesses(first, &count, v1), NVML_SUCCESS);
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(v1[0].usedGpuMemory, 1000u);
  nvmlProcessInfo_v2_t v2[1];
  count = 1;
  EXPECT_EQ(nvmlDeviceGetComputeRunningProcesses_v2(first, &count, v2), NVML_ERROR_INSUFFICIENT_SIZE);
  count = 1;
  EXPECT_EQ(nvmlDeviceGetGraphicsRunningProcesses_v3(first, &count, infos.data()), NVML_SUCCESS);
  EXPECT_EQ(count, 0u);
  fake::state().processes.clear();
  EXPECT_EQ(nvmlDeviceGetComputeRunningProcesses_v3(first, &count, nullptr), NVML_SUCCESS);
}

TEST_F(Nvml, SaysWhatItIs) {
  char text[NVML_DEVICE_NAME_V2_BUFFER_SIZE];
  ASSERT_EQ(nvmlDeviceGetName(first, text, sizeof text), NVML_SUCCESS);
  EXPECT_NE(std::string(text).find("software"), std::string::npos);
  EXPECT_EQ(nvmlDeviceGetName(first, text, 3), NVML_ERROR_INSUFFICIENT_SIZE);
  int major = 0, minor = 0, version = 0;
  ASSERT_EQ(nvmlDeviceGetCudaComputeCapability(first, &major, &minor), NVML_SUCCESS);
  EXPECT_EQ(major * 10 + minor, 86);
  ASSERT_EQ(nvmlSystemGetCudaDriverVersion_v2(&version), NVML_SUCCESS);
  EXPECT_EQ(version, 13000);
  ASSERT_EQ(nvmlSystemGetDriverVersion(text, sizeof text), NVML_SUCCESS);
  ASSERT_EQ(nvmlSystemGetProcessName(static_cast<unsigned>(getpid()), text, sizeof text), NVML_SUCCESS);
  EXPECT_NE(std::string(text).find("nvml"), std::string::npos);
  nvmlUtilization_t utilization{1, 1};
  ASSERT_EQ(nvmlDeviceGetUtilizationRates(first, &utilization), NVML_SUCCESS);
  EXPECT_EQ(utilization.gpu, 0u);
  EXPECT_STREQ(nvmlErrorString(NVML_ERROR_NOT_FOUND), "not found");
  nvmlPciInfoExt_t ext{};
  EXPECT_EQ(nvmlDeviceGetPciInfoExt(first, &ext), NVML_ERROR_ARGUMENT_VERSION_MISMATCH);
}

TEST_F(Nvml, WhatASoftwareDeviceLacksIsNotSupported) {
  unsigned value = 0, pending = 0;
  nvmlEventSet_t set = nullptr;
  nvmlEnableState_t state;
  EXPECT_EQ(nvmlDeviceGetTemperature(first, NVML_TEMPERATURE_GPU, &value), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(nvmlDeviceGetPowerUsage(first, &value), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(nvmlDeviceGetClockInfo(first, NVML_CLOCK_SM, &value), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(nvmlDeviceGetMigMode(first, &value, &pending), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(nvmlDeviceGetPersistenceMode(first, &state), NVML_ERROR_NOT_SUPPORTED);
  EXPECT_EQ(nvmlEventSetCreate(&set), NVML_ERROR_NOT_SUPPORTED);
  nvmlFieldValue_t field{};
  field.fieldId = NVML_FI_DEV_ECC_CURRENT;
  ASSERT_EQ(nvmlDeviceGetFieldValues(first, 1, &field), NVML_SUCCESS);
  EXPECT_EQ(field.nvmlReturn, NVML_ERROR_NOT_SUPPORTED);
}

}  // namespace
