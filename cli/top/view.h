// SPDX-License-Identifier: Apache-2.0
// What `tidemark top` shows, as data, and as text. Pure: tested without a device.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace tidemark::cli {

struct DeviceUse {
  unsigned number = 0;
  std::string name;
  std::uint64_t used_bytes = 0, total_bytes = 0;
};

struct ProcessUse {
  std::uint32_t pid = 0;
  std::string program;
  bool recorded = false;           // else only what NVML says
  std::uint64_t device_bytes = 0;  // by NVML, over all devices; 0: not known
  std::uint64_t live_bytes = 0, peak_live_bytes = 0, reserved_bytes = 0, allocations = 0;
  std::string trace;
};

struct TopView {
  std::vector<DeviceUse> devices;
  std::string no_devices;  // why there are none
  std::vector<ProcessUse> processes;
};

struct TopStyle {
  std::size_t width = 100;
  bool colour = false, unicode = true;
};
std::string render(const TopView& view, const TopStyle& style);

}  // namespace tidemark::cli
