// SPDX-License-Identifier: Apache-2.0
#include "cli/top/nvml.h"

#include <dlfcn.h>

#include <algorithm>

namespace tidemark::cli {
namespace {

// As nvml.h has them: the first version of the memory, the current one of a process.
struct Memory {
  unsigned long long total_bytes, free_bytes, used_bytes;
};
struct Process {
  unsigned pid;
  unsigned long long used_bytes;
  unsigned instance, compute_instance;
};
constexpr unsigned long long kNotAvailable = ~0ull;

}  // namespace

template <class... A>
int NvmlReader::call(const char* name, A... arguments) const {
  auto const function = library_ == nullptr ? nullptr : reinterpret_cast<int (*)(A...)>(dlsym(library_, name));
  return function == nullptr ? -1 : function(arguments...);
}

NvmlReader::NvmlReader() : library_(dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)) {
  if (library_ == nullptr)
    why_ = "libnvidia-ml.so.1 is not here";
  else if (int const result = call("nvmlInit_v2"); result != 0)
    why_ = "nvmlInit answers " + std::to_string(result);
}

template <class F>
void NvmlReader::for_each_device(F f) const {
  unsigned count = 0;
  if (!why_.empty() || call("nvmlDeviceGetCount_v2", &count) != 0) return;
  for (unsigned i = 0; i < count; ++i) {
    Device device = nullptr;
    if (call("nvmlDeviceGetHandleByIndex_v2", i, &device) == 0) f(i, device);
  }
}

std::vector<DeviceUse> NvmlReader::devices() const {
  std::vector<DeviceUse> all;
  for_each_device([&](unsigned number, Device device) {
    char name[96] = {};
    Memory memory{};
    call("nvmlDeviceGetName", device, static_cast<char*>(name), static_cast<unsigned>(sizeof name - 1));
    call("nvmlDeviceGetMemoryInfo", device, &memory);
    all.push_back({.number = number, .name = name, .used_bytes = memory.used_bytes, .total_bytes = memory.total_bytes});
  });
  return all;
}

std::map<std::uint32_t, std::uint64_t> NvmlReader::processes() const {
  std::map<std::uint32_t, std::uint64_t> all;
  for_each_device([&](unsigned, Device device) {
    std::vector<Process> found(256);
    auto count = static_cast<unsigned>(found.size());
    if (call("nvmlDeviceGetComputeRunningProcesses_v3", device, &count, found.data()) != 0) return;
    for (unsigned i = 0; i < std::min<std::size_t>(count, found.size()); ++i)
      all[found[i].pid] += found[i].used_bytes == kNotAvailable ? 0 : found[i].used_bytes;
  });
  return all;
}

}  // namespace tidemark::cli
