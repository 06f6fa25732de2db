// SPDX-License-Identifier: Apache-2.0
// Names of kernels. A record has the address of one, which may be of a module that is no longer there: the system is
// asked to copy it, which fails where a look would crash.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "trace/write/dictionary.h"

namespace tidemark::interpose {

// The text at an address of this process up to its zero byte, or as much as fits; nothing when it cannot be read.
std::optional<std::string_view> copy_text(std::uint64_t address, std::span<char> out);

// One thread.
class KernelNames {
 public:
  constexpr KernelNames() = default;
  // The String of the name at an address; 0 when there is none.
  std::uint32_t find(std::uint64_t address, trace::Dictionary& names);
  // What stands at the same address later may be another name.
  void forget() { known_.fill({}); }

 private:
  struct Known {
    std::uint64_t address = 0;
    std::uint32_t name = 0;
  };
  std::array<Known, 1024> known_{};
};

}  // namespace tidemark::interpose
