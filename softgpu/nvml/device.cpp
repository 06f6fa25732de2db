// SPDX-License-Identifier: Apache-2.0
// Devices: finding them, what they are, what their memory holds and for whom.
#include <strings.h>
#include <cstdio>
#include <cstring>
#include <type_traits>
#include <vector>

#include "softgpu/nvml/session.h"

using namespace tidemark::softgpu;
using namespace tidemark::softgpu::nvml;

namespace {

// The first device that `matches`; handles are given even for a device in use.
template <class F>
nvmlReturn_t find_device(nvmlDevice_t* out, F matches) {
  for (int i = 0; i < device().device_count(); ++i) {
    SoftgpuDeviceInfo info{};
    if (device().device_info(i, &info) != 0 || !matches(info)) continue;
    *out = handle_of(static_cast<unsigned>(i));
    return NVML_SUCCESS;
  }
  return NVML_ERROR_NOT_FOUND;
}

// "domain:bus:device.function" or without the domain, in hexadecimal.
bool parse_bus_id(const char* text, unsigned (&place)[3]) {
  unsigned function = 0;
  int used = 0;
  auto const complete = [&] { return text[used] == '\0' && function == 0; };
  if (std::sscanf(text, "%x:%x:%x.%x%n", &place[0], &place[1], &place[2], &function, &used) == 4 && complete())
    return true;
  place[0] = 0;
  return std::sscanf(text, "%x:%x.%x%n", &place[1], &place[2], &function, &used) == 3 && complete();
}

template <class Pci>
void fill_pci(const SoftgpuDeviceInfo& info, Pci& pci) {
  pci.domain = static_cast<unsigned>(info.pci_domain);
  pci.bus = static_cast<unsigned>(info.pci_bus);
  pci.device = static_cast<unsigned>(info.pci_device);
  pci.pciDeviceId = 0;  // no vendor's: the device is software
  pci.pciSubSystemId = 0;
  std::snprintf(pci.busId, sizeof pci.busId, NVML_DEVICE_PCI_BUS_ID_FMT, pci.domain, pci.bus, pci.device);
}

nvmlReturn_t pci_info(nvmlDevice_t handle, nvmlPciInfo_t* pci) {
  return with_device(handle, pci != nullptr, [&](int, const SoftgpuDeviceInfo& info) {
    *pci = {};
    fill_pci(info, *pci);
    std::snprintf(pci->busIdLegacy, sizeof pci->busIdLegacy, NVML_DEVICE_PCI_BUS_ID_LEGACY_FMT, pci->domain & 0xffffu,
                  pci->bus & 0xffu, pci->device & 0xffu);
    return NVML_SUCCESS;
  });
}

// Fills a caller's list the way NVML does: *count is the room there is, then the number there are.
template <class Info>
nvmlReturn_t compute_processes(nvmlDevice_t handle, unsigned* count, Info* infos) {
  return with_device(handle, count != nullptr && (infos != nullptr || *count == 0), [&](int index, auto const&) {
    int there = 0;
    if (device().processes(index, nullptr, 0, &there) != 0) return NVML_ERROR_UNKNOWN;
    std::vector<SoftgpuProcessInfo> processes(static_cast<std::size_t>(there));
    if (device().processes(index, processes.data(), there, &there) != 0) return NVML_ERROR_UNKNOWN;
    if (static_cast<std::size_t>(there) < processes.size()) processes.resize(static_cast<std::size_t>(there));
    unsigned const room = *count;
    *count = static_cast<unsigned>(processes.size());
    if (room < *count || infos == nullptr) return *count == 0 ? NVML_SUCCESS : NVML_ERROR_INSUFFICIENT_SIZE;
    for (std::size_t i = 0; i < processes.size(); ++i) {
      infos[i] = {};
      infos[i].pid = static_cast<unsigned>(processes[i].pid);
      infos[i].usedGpuMemory = processes[i].used_bytes;
      if constexpr (std::is_same_v<Info, nvmlProcessInfo_v2_t>)
        infos[i].gpuInstanceId = infos[i].computeInstanceId = 0xFFFFFFFFu;  // no MIG
    }
    return NVML_SUCCESS;
  });
}

// Graphics and MPS: nobody draws on this device, and there is no MPS server.
nvmlReturn_t no_processes(nvmlDevice_t handle, unsigned* count) {
  return with_device(handle, count != nullptr, [&](int, auto const&) {
    *count = 0;
    return NVML_SUCCESS;
  });
}

nvmlDeviceArchitecture_t architecture_of(int major, int minor) {
  if (major == 7) return minor >= 5 ? NVML_DEVICE_ARCH_TURING : NVML_DEVICE_ARCH_VOLTA;
  if (major == 8) return minor == 9 ? NVML_DEVICE_ARCH_ADA : NVML_DEVICE_ARCH_AMPERE;
  if (major == 6) return NVML_DEVICE_ARCH_PASCAL;
  return major == 9 ? NVML_DEVICE_ARCH_HOPPER : NVML_DEVICE_ARCH_UNKNOWN;
}

// A query whose answer is one value.
template <class T, class F>
nvmlReturn_t give(nvmlDevice_t handle, T* out, F value) {
  return with_device(handle, out != nullptr, [&](int index, const SoftgpuDeviceInfo& info) {
    *out = static_cast<T>(value(index, info));
    return NVML_SUCCESS;
  });
}

}  // namespace

extern "C" {

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned* count) {
  return in_session(count != nullptr, [&] {
    *count = static_cast<unsigned>(device().device_count());
    return NVML_SUCCESS;
  });
}
nvmlReturn_t nvmlDeviceGetCount(unsigned* count) {
  return nvmlDeviceGetCount_v2(count);
}

nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t* handle) {
  bool const open = is_open();
  bool const exists = open && index < kMaxDevices && index < static_cast<unsigned>(device().device_count());
  return in_session(handle != nullptr && exists, [&] {
    *handle = handle_of(index);
    return NVML_SUCCESS;
  });
}
nvmlReturn_t nvmlDeviceGetHandleByIndex(unsigned index, nvmlDevice_t* handle) {
  return nvmlDeviceGetHandleByIndex_v2(index, handle);
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char* uuid, nvmlDevice_t* handle) {
  return in_session(uuid != nullptr && handle != nullptr, [&] {
    return find_device(handle, [uuid](const SoftgpuDeviceInfo& info) {
      char text[NVML_DEVICE_UUID_BUFFER_SIZE];
      format_uuid(info.uuid, text);
      return strcasecmp(text, uuid) == 0;
    });
  });
}
nvmlReturn_t nvmlDeviceGetHandleByUUIDV(const nvmlUUID_t* uuid, nvmlDevice_t* handle) {
  return in_session(uuid != nullptr && handle != nullptr, [&] {
    if (uuid->version != nvmlUUID_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    if (uuid->type == NVML_UUID_TYPE_ASCII) return nvmlDeviceGetHandleByUUID(uuid->value.str, handle);
    if (uuid->type != NVML_UUID_TYPE_BINARY) return NVML_ERROR_INVALID_ARGUMENT;
    return find_device(handle, [uuid](const SoftgpuDeviceInfo& info) {
      return std::memcmp(uuid->value.bytes, info.uuid, sizeof info.uuid) == 0;
    });
  });
}

nvmlReturn_t nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, nvmlDevice_t* handle) {
  return in_session(bus_id != nullptr && handle != nullptr, [&]() -> nvmlReturn_t {
    unsigned place[3] = {};
    if (!parse_bus_id(bus_id, place)) return NVML_ERROR_INVALID_ARGUMENT;
    return find_device(handle, [&place](const SoftgpuDeviceInfo& info) {
      return place[0] == static_cast<unsigned>(info.pci_domain) && place[1] == static_cast<unsigned>(info.pci_bus) &&
             place[2] == static_cast<unsigned>(info.pci_device);
    });
  });
}
nvmlReturn_t nvmlDeviceGetHandleByPciBusId(const char* bus_id, nvmlDevice_t* handle) {
  return nvmlDeviceGetHandleByPciBusId_v2(bus_id, handle);
}

// No software device has a serial number on a board.
nvmlReturn_t nvmlDeviceGetHandleBySerial(const char* serial, nvmlDevice_t* handle) {
  return in_session(serial != nullptr && handle != nullptr, [] { return NVML_ERROR_NOT_FOUND; });
}
nvmlReturn_t nvmlDeviceGetSerial(nvmlDevice_t handle, char* serial, unsigned) {
  return with_device(handle, serial != nullptr, [](int, auto const&) { return NVML_ERROR_NOT_SUPPORTED; });
}

nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t handle, char* name, unsigned length) {
  return with_device(handle, name != nullptr,
                     [&](int, const SoftgpuDeviceInfo& info) { return give_text(info.name, name, length); });
}
nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t handle, char* uuid, unsigned length) {
  return with_device(handle, uuid != nullptr, [&](int, const SoftgpuDeviceInfo& info) {
    char text[NVML_DEVICE_UUID_BUFFER_SIZE];
    format_uuid(info.uuid, text);
    return give_text(text, uuid, length);
  });
}

nvmlReturn_t nvmlDeviceGetPciInfo(nvmlDevice_t handle, nvmlPciInfo_t* pci) {
  return pci_info(handle, pci);
}
nvmlReturn_t nvmlDeviceGetPciInfo_v2(nvmlDevice_t handle, nvmlPciInfo_t* pci) {
  return pci_info(handle, pci);
}
nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t handle, nvmlPciInfo_t* pci) {
  return pci_info(handle, pci);
}
nvmlReturn_t nvmlDeviceGetPciInfoExt(nvmlDevice_t handle, nvmlPciInfoExt_t* pci) {
  return with_device(handle, pci != nullptr, [&](int, const SoftgpuDeviceInfo& info) {
    if (pci->version != nvmlPciInfoExt_v1) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    fill_pci(info, *pci);
    pci->baseClass = 0x03;  // a display controller
    pci->subClass = 0x02;   // of the 3D kind
    return NVML_SUCCESS;
  });
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t handle, nvmlMemory_t* memory) {
  return with_device(handle, memory != nullptr, [&](int, const SoftgpuDeviceInfo& info) {
    *memory = {.total = info.total_bytes, .free = info.total_bytes - info.used_bytes, .used = info.used_bytes};
    return NVML_SUCCESS;
  });
}
nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t handle, nvmlMemory_v2_t* memory) {
  return with_device(handle, memory != nullptr, [&](int, const SoftgpuDeviceInfo& info) {
    if (memory->version != nvmlMemory_v2) return NVML_ERROR_ARGUMENT_VERSION_MISMATCH;
    memory->total = info.total_bytes;
    memory->reserved = 0;  // the model takes nothing for itself
    memory->free = info.total_bytes - info.used_bytes;
    memory->used = info.used_bytes;
    return NVML_SUCCESS;
  });
}
// The host reaches all of a software device's memory.
nvmlReturn_t nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t handle, nvmlBAR1Memory_t* memory) {
  return with_device(handle, memory != nullptr, [&](int, const SoftgpuDeviceInfo& info) {
    *memory = {.bar1Total = info.total_bytes, .bar1Free = info.total_bytes, .bar1Used = 0};
    return NVML_SUCCESS;
  });
}

nvmlReturn_t nvmlDeviceGetComputeRunningProcesses(nvmlDevice_t h, unsigned* count, nvmlProcessInfo_v1_t* infos) {
  return compute_processes(h, count, infos);
}
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v2(nvmlDevice_t h, unsigned* count, nvmlProcessInfo_v2_t* infos) {
  return compute_processes(h, count, infos);
}
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t h, unsigned* count, nvmlProcessInfo_t* infos) {
  return compute_processes(h, count, infos);
}
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses(nvmlDevice_t h, unsigned* count, nvmlProcessInfo_v1_t*) {
  return no_processes(h, count);
}
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v2(nvmlDevice_t h, unsigned* count, nvmlProcessInfo_v2_t*) {
  return no_processes(h, count);
}
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t h, unsigned* count, nvmlProcessInfo_t*) {
  return no_processes(h, count);
}
nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses(nvmlDevice_t h, unsigned* count, nvmlProcessInfo_v1_t*) {
  return no_processes(h, count);
}
nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses_v2(nvmlDevice_t h, unsigned* count, nvmlProcessInfo_v2_t*) {
  return no_processes(h, count);
}
nvmlReturn_t nvmlDeviceGetMPSComputeRunningProcesses_v3(nvmlDevice_t h, unsigned* count, nvmlProcessInfo_t*) {
  return no_processes(h, count);
}

nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t handle, int* major, int* minor) {
  return with_device(handle, major != nullptr && minor != nullptr, [&](int, const SoftgpuDeviceInfo& info) {
    *major = info.compute_major;
    *minor = info.compute_minor;
    return NVML_SUCCESS;
  });
}
nvmlReturn_t nvmlDeviceGetArchitecture(nvmlDevice_t handle, nvmlDeviceArchitecture_t* out) {
  return give(handle, out,
              [](int, auto const& info) { return architecture_of(info.compute_major, info.compute_minor); });
}
// Documented for MIG devices alone, of which there are none.
nvmlReturn_t nvmlDeviceGetAttributes_v2(nvmlDevice_t handle, nvmlDeviceAttributes_t* out) {
  return with_device(handle, out != nullptr, [](int, auto const&) { return NVML_ERROR_NOT_SUPPORTED; });
}
nvmlReturn_t nvmlDeviceGetAttributes(nvmlDevice_t handle, nvmlDeviceAttributes_t* out) {
  return nvmlDeviceGetAttributes_v2(handle, out);
}
nvmlReturn_t nvmlDeviceIsMigDeviceHandle(nvmlDevice_t handle, unsigned* out) {
  return give(handle, out, [](int, auto const&) { return 0; });
}
nvmlReturn_t nvmlDeviceGetMaxMigDeviceCount(nvmlDevice_t handle, unsigned* out) {
  return give(handle, out, [](int, auto const&) { return 0; });
}

nvmlReturn_t nvmlDeviceGetIndex(nvmlDevice_t handle, unsigned* out) {
  return give(handle, out, [](int index, auto const&) { return index; });
}
nvmlReturn_t nvmlDeviceGetMinorNumber(nvmlDevice_t handle, unsigned* out) {
  return give(handle, out, [](int index, auto const&) { return index; });
}
nvmlReturn_t nvmlDeviceGetBrand(nvmlDevice_t handle, nvmlBrandType_t* out) {
  return give(handle, out, [](int, auto const&) { return NVML_BRAND_UNKNOWN; });
}
nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t handle, nvmlComputeMode_t* out) {
  return give(handle, out, [](int, auto const&) { return NVML_COMPUTEMODE_DEFAULT; });
}
nvmlReturn_t nvmlDeviceGetDisplayMode(nvmlDevice_t handle, nvmlEnableState_t* out) {
  return give(handle, out, [](int, auto const&) { return NVML_FEATURE_DISABLED; });
}
nvmlReturn_t nvmlDeviceGetDisplayActive(nvmlDevice_t handle, nvmlEnableState_t* out) {
  return give(handle, out, [](int, auto const&) { return NVML_FEATURE_DISABLED; });
}
// Nothing is sampled: a software device is busy exactly when its host is.
nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t handle, nvmlUtilization_t* out) {
  return with_device(handle, out != nullptr, [&](int, auto const&) {
    *out = {.gpu = 0, .memory = 0};
    return NVML_SUCCESS;
  });
}
nvmlReturn_t nvmlDeviceOnSameBoard(nvmlDevice_t a, nvmlDevice_t b, int* out) {
  return with_device(a, out != nullptr && is_open() && index_of(b) >= 0, [&](int, auto const&) {
    *out = a == b;
    return NVML_SUCCESS;
  });
}

// Each value answers for itself; none of the counters and sensors behind them is there.
nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t handle, int count, nvmlFieldValue_t* values) {
  return with_device(handle, values != nullptr && count > 0, [&](int, auto const&) {
    for (int i = 0; i < count; ++i) values[i].nvmlReturn = NVML_ERROR_NOT_SUPPORTED;
    return NVML_SUCCESS;
  });
}

}  // extern "C"
