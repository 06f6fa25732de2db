// SPDX-License-Identifier: Apache-2.0
#include "cli/top/collect.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <set>

#include "cli/top/nvml.h"
#include "trace/format/layout.h"

namespace tidemark::cli {
namespace {

namespace fs = std::filesystem;

bool read_header(const std::string& path, trace::FileHeader& header) {
  int const file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  bool const whole = pread(file, &header, sizeof header, 0) == static_cast<ssize_t>(sizeof header);
  close(file);
  return whole && header.magic == trace::kMagic && header.version == trace::kVersion;
}

std::string program_of(std::uint32_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/comm");
  std::string name;
  std::getline(file, name);
  return name;
}

// The traces that a process has mapped; usually none or one.
std::set<std::string> traces_of(std::uint32_t pid) {
  std::set<std::string> paths;
  std::ifstream file("/proc/" + std::to_string(pid) + "/maps");
  for (std::string line; std::getline(file, line);) {
    std::size_t const slash = line.find('/');
    if (slash != std::string::npos && line.ends_with(".tide")) paths.insert(line.substr(slash));
  }
  return paths;
}

std::vector<std::uint32_t> process_numbers() {
  std::vector<std::uint32_t> all;
  std::error_code failure;
  for (fs::directory_iterator at("/proc", failure), end; !failure && at != end; at.increment(failure)) {
    std::string const name = at->path().filename();
    std::uint32_t pid = 0;
    auto const [stop, error] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (error == std::errc{} && stop == name.data() + name.size()) all.push_back(pid);
  }
  return all;
}

std::vector<ProcessUse> recorded_processes() {
  std::vector<ProcessUse> all;
  for (std::uint32_t const pid : process_numbers())
    for (std::string const& path : traces_of(pid)) {
      trace::FileHeader header;
      // A viewer maps traces too; their own process is the one that counts.
      if (!read_header(path, header) || header.pid != pid) continue;
      all.push_back({.pid = pid,
                     .program = program_of(pid),
                     .recorded = true,
                     .live_bytes = header.totals.live_bytes,
                     .peak_live_bytes = header.totals.peak_live_bytes,
                     .reserved_bytes = header.totals.reserved_bytes,
                     .allocations = header.totals.allocations,
                     .trace = path});
    }
  return all;
}

}  // namespace

TopView collect() {
  static const NvmlReader nvml;
  TopView view{.devices = nvml.devices(), .no_devices = nvml.why(), .processes = recorded_processes()};
  for (auto const& [pid, bytes] : nvml.processes()) {
    auto const known = std::find_if(view.processes.begin(), view.processes.end(),
                                    [pid = pid](const ProcessUse& p) { return p.pid == pid; });
    if (known != view.processes.end())
      known->device_bytes = bytes;
    else
      view.processes.push_back({.pid = pid, .program = program_of(pid), .device_bytes = bytes});
  }
  std::sort(view.processes.begin(), view.processes.end(), [](const ProcessUse& a, const ProcessUse& b) {
    return std::max(a.live_bytes, a.device_bytes) > std::max(b.live_bytes, b.device_bytes);
  });
  return view;
}

}  // namespace tidemark::cli
