// SPDX-License-Identifier: Apache-2.0
// The few functions of NVML that `top` needs, opened at run time. Declared by hand: this folder builds without CUDA.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "cli/top/view.h"

namespace tidemark::cli {

class NvmlReader {
 public:
  NvmlReader();
  // Empty when it works.
  const std::string& why() const { return why_; }
  std::vector<DeviceUse> devices() const;
  // Bytes on all devices, by process.
  std::map<std::uint32_t, std::uint64_t> processes() const;

 private:
  using Device = void*;
  template <class... A>
  int call(const char* name, A... arguments) const;
  template <class F>
  void for_each_device(F f) const;

  void* library_ = nullptr;
  std::string why_;
};

}  // namespace tidemark::cli
