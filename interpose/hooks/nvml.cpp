// SPDX-License-Identifier: Apache-2.0
// NVML's answers under a limit: they agree with CUDA's own. Asking NVML starts no trace: a program that only watches is
// no CUDA program.
#include <nvml.h>

#include <algorithm>
#include <type_traits>

#include "interpose/limit/limit.h"
#include "interpose/process/process.h"
#include "interpose/real/library.h"
#include "interpose/record/devices.h"
#include "interpose/watch/nvml.h"

namespace tidemark::interpose {
namespace {

class Function {
 public:
  explicit constexpr Function(const char* name) : name_(name) {}
  template <class... P>
  nvmlReturn_t call(P... arguments) {
    void* address = found_.load(std::memory_order_acquire);
    if (address == nullptr) {
      address = library_symbol(Library::Nvml, name_);
      if (address == nullptr)
        address = behind_us(name_);
      else
        found_.store(address, std::memory_order_release);
    }
    if (address == nullptr) return NVML_ERROR_LIBRARY_NOT_FOUND;
    return reinterpret_cast<nvmlReturn_t (*)(P...)>(address)(arguments...);
  }

 private:
  const char* name_;
  std::atomic<void*> found_{nullptr};
};

// Of a device without blocks so far it is not known what this process has taken; what is free says enough then.
Capacity seen(nvmlDevice_t handle, const Capacity& real) {
  auto const device = recording() ? nvml().device_of(handle) : std::nullopt;
  if (!device) return limited(real, 0);
  if (Place const place = current_place(); place.context != 0 && place.device == *device) devices().meet(*device);
  return limited(real, devices().known(*device) ? devices().measure(*device) : 0);
}

template <class Memory>
nvmlReturn_t correct(nvmlDevice_t handle, nvmlReturn_t result, Memory* memory) {
  if (result != NVML_SUCCESS || memory == nullptr || coming_limit_bytes() == 0) return result;
  shield([&] {
    Capacity const now = seen(handle, {.free_bytes = memory->free, .total_bytes = memory->total});
    if (now.total_bytes == memory->total) return;
    memory->total = now.total_bytes;
    memory->free = now.free_bytes;
    memory->used = now.total_bytes - now.free_bytes;
    if constexpr (requires { memory->reserved; }) {
      memory->reserved = std::min(memory->reserved, memory->used);
      memory->used -= memory->reserved;
    }
  });
  return result;
}

// Of a part of a card (MIG): its capacity in MiB.
nvmlReturn_t correct_attributes(nvmlReturn_t result, nvmlDeviceAttributes_t* attributes) {
  std::uint64_t const limit = result == NVML_SUCCESS && attributes != nullptr ? coming_limit_bytes() : 0;
  if (limit != 0) attributes->memorySizeMB = std::min<unsigned long long>(attributes->memorySizeMB, limit >> 20);
  return result;
}

constinit Function real_memory("nvmlDeviceGetMemoryInfo"), real_memory_v2("nvmlDeviceGetMemoryInfo_v2"),
    real_attributes("nvmlDeviceGetAttributes"), real_attributes_v2("nvmlDeviceGetAttributes_v2");

}  // namespace
}  // namespace tidemark::interpose

using namespace tidemark::interpose;

#define TIDEMARK_NVML_HOOK(name) extern "C" __attribute__((visibility("hidden"))) nvmlReturn_t tidemark_hook_##name

TIDEMARK_NVML_HOOK(nvmlDeviceGetMemoryInfo)(nvmlDevice_t device, nvmlMemory_t* memory) {
  return correct(device, real_memory.call(device, memory), memory);
}
TIDEMARK_NVML_HOOK(nvmlDeviceGetMemoryInfo_v2)(nvmlDevice_t device, nvmlMemory_v2_t* memory) {
  return correct(device, real_memory_v2.call(device, memory), memory);
}
TIDEMARK_NVML_HOOK(nvmlDeviceGetAttributes)(nvmlDevice_t device, nvmlDeviceAttributes_t* attributes) {
  return correct_attributes(real_attributes.call(device, attributes), attributes);
}
TIDEMARK_NVML_HOOK(nvmlDeviceGetAttributes_v2)(nvmlDevice_t device, nvmlDeviceAttributes_t* attributes) {
  return correct_attributes(real_attributes_v2.call(device, attributes), attributes);
}

static_assert(std::is_same_v<decltype(tidemark_hook_nvmlDeviceGetMemoryInfo), decltype(::nvmlDeviceGetMemoryInfo)>);
static_assert(
    std::is_same_v<decltype(tidemark_hook_nvmlDeviceGetMemoryInfo_v2), decltype(::nvmlDeviceGetMemoryInfo_v2)>);
static_assert(
    std::is_same_v<decltype(tidemark_hook_nvmlDeviceGetAttributes_v2), decltype(::nvmlDeviceGetAttributes_v2)>);
