// SPDX-License-Identifier: Apache-2.0
// The part of a stack that is known to be readable. Tables may be wrong, and a stack may be one that the program made
// itself: a word is read only where the kernel has said that there is one.
//
// For its own thread. What is asked once is remembered, so that in the end no call into the system is left. No memory,
// no lock; also in a signal handler.
#pragma once
#include <cstdint>

namespace tidemark::interpose {

class Window {
 public:
  constexpr Window() = default;

  // The stack pointer from which a walk begins: on another stack than before, everything is asked anew.
  void begin_at(std::uintptr_t rsp) {
    if (rsp - low_ < high_ - low_) return;
    low_ = high_ = rsp & ~(kPage - 1);
  }
  // False where there is nothing to be read, or too far above what is known.
  bool read(std::uintptr_t address, std::uintptr_t& out) {
    if (address - low_ >= high_ - low_ && !extend(address)) return false;
    if (address % sizeof out != 0) return false;
    out = *reinterpret_cast<const std::uintptr_t*>(address);
    return true;
  }

 private:
  static constexpr std::uintptr_t kPage = 4096;
  static constexpr std::uintptr_t kFarthest = std::uintptr_t{64} << 20;  // more than any frame
  bool extend(std::uintptr_t address);

  std::uintptr_t low_ = 0, high_ = 0;
};

// Whether the eight bytes at an aligned address can be read.
bool is_readable(std::uintptr_t address);

}  // namespace tidemark::interpose
