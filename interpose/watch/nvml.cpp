// SPDX-License-Identifier: Apache-2.0
#include "interpose/watch/nvml.h"

#include <dlfcn.h>
#include <nvml.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <mutex>

#include "base/spin_lock.h"
#include "interpose/real/driver.h"
#include "interpose/real/system.h"
#include "interpose/record/devices.h"

namespace tidemark::interpose {
namespace {

struct Functions {
  decltype(&nvmlInit_v2) init = nullptr;
  decltype(&nvmlDeviceGetHandleByUUID) by_uuid = nullptr;
  decltype(&nvmlDeviceGetUUID) uuid = nullptr;
  decltype(&nvmlDeviceGetMemoryInfo) memory = nullptr;
  decltype(&nvmlDeviceGetComputeRunningProcesses_v3) processes = nullptr;
};

constexpr unsigned long long kNotAvailable = ~0ull;  // what NVML_VALUE_NOT_AVAILABLE becomes in an unsigned field

enum class State : unsigned char { Closed, Open, Absent };

constinit Nvml the_nvml;
constinit Functions functions;
constinit std::atomic<State> state{State::Closed};
constinit SpinLock opening;
constinit std::array<std::atomic<void*>, Devices::kMost> handles{};

template <class F>
void look_up(void* library, const char* name, F& out) {
  out = reinterpret_cast<F>(real_dlsym()(library, name));
}

// "GPU-" and the sixteen bytes in groups, as NVML writes it.
bool uuid_text(std::uint8_t device, char (&text)[64]) {
  CUdevice handle = 0;
  CUuuid uuid{};
  if (call(&Driver::cuDeviceGet, &handle, static_cast<int>(device)) != CUDA_SUCCESS ||
      call(&Driver::cuDeviceGetUuid_v2, &uuid, handle) != CUDA_SUCCESS)
    return false;
  int at = snprintf(text, sizeof text, "GPU-");
  for (int i = 0; i < 16; ++i) {
    const char* const dash = i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "";
    at += snprintf(text + at, sizeof text - static_cast<std::size_t>(at), "%s%02x", dash,
                   static_cast<unsigned char>(uuid.bytes[i]));
  }
  return true;
}

std::uint64_t process_bytes(nvmlDevice_t device) {
  constexpr unsigned kMost = 256;
  nvmlProcessInfo_t processes[kMost];
  unsigned count = kMost;
  if (functions.processes == nullptr || functions.processes(device, &count, processes) != NVML_SUCCESS) return 0;
  auto const self = static_cast<unsigned>(getpid());
  for (unsigned i = 0; i < count && i < kMost; ++i)
    if (processes[i].pid == self && processes[i].usedGpuMemory != kNotAvailable) return processes[i].usedGpuMemory;
  return 0;
}

}  // namespace

Nvml& nvml() {
  return the_nvml;
}

bool Nvml::load() {
  void* const library = dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) {
    why_ = "no libnvidia-ml.so.1";
    return false;
  }
  look_up(library, "nvmlInit_v2", functions.init);
  look_up(library, "nvmlDeviceGetHandleByUUID", functions.by_uuid);
  look_up(library, "nvmlDeviceGetUUID", functions.uuid);
  look_up(library, "nvmlDeviceGetMemoryInfo", functions.memory);
  look_up(library, "nvmlDeviceGetComputeRunningProcesses_v3", functions.processes);
  if (functions.init == nullptr || functions.by_uuid == nullptr || functions.memory == nullptr) {
    why_ = "libnvidia-ml.so.1 lacks functions";
    return false;
  }
  if (functions.init() != NVML_SUCCESS) {
    why_ = "nvmlInit failed";
    return false;
  }
  why_ = "on";
  return true;
}

bool Nvml::open() {
  if (state.load(std::memory_order_acquire) == State::Closed) {
    std::scoped_lock const guard(opening);
    if (state.load(std::memory_order_relaxed) == State::Closed)
      state.store(load() ? State::Open : State::Absent, std::memory_order_release);
  }
  return state.load(std::memory_order_acquire) == State::Open;
}

void* Nvml::handle_of(std::uint8_t device) {
  std::atomic<void*>& known = handles[device % Devices::kMost];
  if (void* const handle = known.load(std::memory_order_relaxed)) return handle;
  char uuid[64];
  nvmlDevice_t handle = nullptr;
  if (!uuid_text(device, uuid) || functions.by_uuid(uuid, &handle) != NVML_SUCCESS) return nullptr;
  known.store(handle, std::memory_order_relaxed);
  return handle;
}

std::optional<Nvml::Use> Nvml::use(std::uint8_t device) {
  if (!open()) return std::nullopt;
  auto const handle = static_cast<nvmlDevice_t>(handle_of(device));
  nvmlMemory_t memory{};
  if (handle == nullptr || functions.memory(handle, &memory) != NVML_SUCCESS) return std::nullopt;
  return Use{.used_bytes = memory.used, .total_bytes = memory.total, .process_bytes = process_bytes(handle)};
}

std::optional<std::uint8_t> Nvml::device_of(void* nvml_device) {
  char wanted[96] = {}, uuid[64] = {};
  if (!open() || functions.uuid == nullptr ||
      functions.uuid(static_cast<nvmlDevice_t>(nvml_device), wanted, sizeof wanted) != NVML_SUCCESS)
    return std::nullopt;
  int count = 0;
  if (call(&Driver::cuDeviceGetCount, &count) != CUDA_SUCCESS) return std::nullopt;
  for (int i = 0; i < count; ++i)
    if (uuid_text(static_cast<std::uint8_t>(i), uuid) && strcmp(uuid, wanted) == 0) return static_cast<std::uint8_t>(i);
  return std::nullopt;
}

}  // namespace tidemark::interpose
