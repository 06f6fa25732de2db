// SPDX-License-Identifier: Apache-2.0
// Opening and closing the library, versions, error words, and the answer of everything that is not there.
#include <array>
#include <cstdio>
#include <string>
#include <string_view>

#include "base/log.h"
#include "softgpu/nvml/session.h"

using namespace tidemark::softgpu::nvml;

namespace {

// Sensors, modes and events that a software device has no part for. "Not supported" is NVML's documented answer on
// hardware without them, so it is given without a word; tools poll these.
constexpr std::array<std::string_view, 33> kAbsentParts = {"nvmlDeviceGetTemperature",
                                                           "nvmlDeviceGetTemperatureV",
                                                           "nvmlDeviceGetTemperatureThreshold",
                                                           "nvmlDeviceGetPowerUsage",
                                                           "nvmlDeviceGetPowerState",
                                                           "nvmlDeviceGetPerformanceState",
                                                           "nvmlDeviceGetPowerManagementLimit",
                                                           "nvmlDeviceGetPowerManagementMode",
                                                           "nvmlDeviceGetEnforcedPowerLimit",
                                                           "nvmlDeviceGetPowerManagementDefaultLimit",
                                                           "nvmlDeviceGetPowerManagementLimitConstraints",
                                                           "nvmlDeviceGetTotalEnergyConsumption",
                                                           "nvmlDeviceGetFanSpeed",
                                                           "nvmlDeviceGetFanSpeed_v2",
                                                           "nvmlDeviceGetNumFans",
                                                           "nvmlDeviceGetClockInfo",
                                                           "nvmlDeviceGetMaxClockInfo",
                                                           "nvmlDeviceGetClock",
                                                           "nvmlDeviceGetApplicationsClock",
                                                           "nvmlDeviceGetPersistenceMode",
                                                           "nvmlDeviceGetEccMode",
                                                           "nvmlDeviceGetTotalEccErrors",
                                                           "nvmlDeviceGetMigMode",
                                                           "nvmlDeviceGetNvLinkState",
                                                           "nvmlDeviceGetNvLinkRemoteDeviceType",
                                                           "nvmlDeviceGetNvLinkRemotePciInfo_v2",
                                                           "nvmlDeviceGetGpuFabricInfo",
                                                           "nvmlDeviceGetGpuFabricInfoV",
                                                           "nvmlEventSetCreate",
                                                           "nvmlDeviceRegisterEvents",
                                                           "nvmlDeviceGetSupportedEventTypes",
                                                           "nvmlEventSetWait_v2",
                                                           "nvmlEventSetFree"};

struct ErrorWords {
  nvmlReturn_t code;
  const char* text;
};
constexpr ErrorWords kErrors[] = {
    {NVML_SUCCESS, "success"},
    {NVML_ERROR_UNINITIALIZED, "the library was not initialized"},
    {NVML_ERROR_INVALID_ARGUMENT, "an argument is invalid"},
    {NVML_ERROR_NOT_SUPPORTED, "not supported by this device"},
    {NVML_ERROR_NO_PERMISSION, "no permission"},
    {NVML_ERROR_ALREADY_INITIALIZED, "already initialized"},
    {NVML_ERROR_NOT_FOUND, "not found"},
    {NVML_ERROR_INSUFFICIENT_SIZE, "the buffer is too small"},
    {NVML_ERROR_INSUFFICIENT_POWER, "power cables are not attached"},
    {NVML_ERROR_DRIVER_NOT_LOADED, "the driver is not loaded"},
    {NVML_ERROR_TIMEOUT, "the time is over"},
    {NVML_ERROR_IRQ_ISSUE, "an interrupt problem"},
    {NVML_ERROR_LIBRARY_NOT_FOUND, "a library was not found"},
    {NVML_ERROR_FUNCTION_NOT_FOUND, "the function was not found"},
    {NVML_ERROR_CORRUPTED_INFOROM, "the inforom is corrupted"},
    {NVML_ERROR_GPU_IS_LOST, "the device is lost"},
    {NVML_ERROR_RESET_REQUIRED, "the device needs a reset"},
    {NVML_ERROR_OPERATING_SYSTEM, "the operating system refused"},
    {NVML_ERROR_LIB_RM_VERSION_MISMATCH, "driver and library versions differ"},
    {NVML_ERROR_IN_USE, "in use"},
    {NVML_ERROR_MEMORY, "out of memory"},
    {NVML_ERROR_NO_DATA, "no data"},
    {NVML_ERROR_VGPU_ECC_NOT_SUPPORTED, "not supported with ECC"},
    {NVML_ERROR_INSUFFICIENT_RESOURCES, "resources are exhausted"},
    {NVML_ERROR_FREQ_NOT_SUPPORTED, "the frequency is not supported"},
    {NVML_ERROR_ARGUMENT_VERSION_MISMATCH, "the struct's version is not known"},
    {NVML_ERROR_DEPRECATED, "deprecated"},
    {NVML_ERROR_NOT_READY, "not ready"},
    {NVML_ERROR_GPU_NOT_FOUND, "no device was found"},
    {NVML_ERROR_INVALID_STATE, "invalid state"},
    {NVML_ERROR_UNKNOWN, "an unknown error"},
};

constexpr const char* kDriverVersion = "580.00-softgpu";
constexpr const char* kNvmlVersion = "13.580.00-softgpu";

}  // namespace

extern "C" {

int softgpu_nvml_not_supported(const char* name) {
  if (!is_open()) return NVML_ERROR_UNINITIALIZED;
  for (std::string_view const absent : kAbsentParts)
    if (absent == name) return NVML_ERROR_NOT_SUPPORTED;
  tidemark::say_once(name, "softgpu NVML", std::string(name) + ": not supported by softgpu");
  return NVML_ERROR_NOT_SUPPORTED;
}

nvmlReturn_t nvmlInit(void) {
  return open_session(0);
}
nvmlReturn_t nvmlInit_v2(void) {
  return open_session(0);
}
nvmlReturn_t nvmlInitWithFlags(unsigned flags) {
  return open_session(flags);
}
nvmlReturn_t nvmlShutdown(void) {
  return close_session();
}

const char* nvmlErrorString(nvmlReturn_t result) {
  for (auto const& words : kErrors)
    if (words.code == result) return words.text;
  return "an unknown error";
}

nvmlReturn_t nvmlSystemGetDriverVersion(char* version, unsigned length) {
  return in_session(version != nullptr, [&] { return give_text(kDriverVersion, version, length); });
}
nvmlReturn_t nvmlSystemGetNVMLVersion(char* version, unsigned length) {
  return in_session(version != nullptr, [&] { return give_text(kNvmlVersion, version, length); });
}
nvmlReturn_t nvmlSystemGetCudaDriverVersion(int* version) {
  return in_session(version != nullptr, [&] {
    *version = device().driver_version();
    return NVML_SUCCESS;
  });
}
nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int* version) {
  return nvmlSystemGetCudaDriverVersion(version);
}

nvmlReturn_t nvmlSystemGetProcessName(unsigned pid, char* name, unsigned length) {
  return in_session(name != nullptr && length > 0, [&] {
    char path[48], text[1024] = {};
    std::snprintf(path, sizeof path, "/proc/%u/cmdline", pid);
    std::FILE* const file = std::fopen(path, "re");
    if (file == nullptr) return NVML_ERROR_NOT_FOUND;
    // Arguments are separated by zeros: the text ends with the program's name.
    std::size_t const read = std::fread(text, 1, sizeof text - 1, file);
    std::fclose(file);
    if (read == 0) return NVML_ERROR_NOT_FOUND;
    std::snprintf(name, length, "%s", text);  // documented to be cut to the length
    return NVML_SUCCESS;
  });
}

nvmlReturn_t nvmlUnitGetCount(unsigned* count) {
  return in_session(count != nullptr, [&] {
    *count = 0;
    return NVML_SUCCESS;
  });
}

}  // extern "C"
