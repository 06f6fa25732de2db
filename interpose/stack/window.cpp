// SPDX-License-Identifier: Apache-2.0
#include "interpose/stack/window.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace tidemark::interpose {

// The kernel reads the new mask before it looks at what to do with it, and what we ask for does not exist: so nothing
// happens to the mask, and the error tells whether the mask could be read. Every filter of system calls lets it
// through.
bool is_readable(std::uintptr_t address) {
  constexpr long kNoSuchAction = ~0;
  constexpr std::size_t kMaskBytes = 8;
  long const result = syscall(SYS_rt_sigprocmask, kNoSuchAction, address, nullptr, kMaskBytes);
  return result == -1 && errno == EINVAL;
}

bool Window::extend(std::uintptr_t address) {
  if (address < low_ || address - low_ > kFarthest) return false;
  while (high_ <= address) {
    if (!is_readable(high_)) return false;
    high_ += kPage;
  }
  return true;
}

}  // namespace tidemark::interpose
