// SPDX-License-Identifier: Apache-2.0
// Contexts as owners of memory: which ones a program made itself, and what they took. Everything else that is current
// on a device is its primary context; green contexts share that one's memory. Any thread, through the shield.
#pragma once
#include <cstdint>
#include <optional>

#include "base/address_map.h"
#include "base/spin_lock.h"

namespace tidemark::interpose {

struct MadeContext {
  std::uint64_t overhead_bytes = 0;  // 0: not known
  std::uint8_t device = 0;
};

class Contexts {
 public:
  constexpr Contexts() = default;

  // False when the system gives no memory.
  bool made(std::uint64_t handle, const MadeContext& context);
  // Takes it out; nothing for one that is not known.
  std::optional<MadeContext> ended(std::uint64_t handle);
  bool is_made(std::uint64_t handle);
  // One of a device's; 0: there is none.
  std::uint64_t any(std::uint8_t device);
  // How many of a device's are there.
  std::size_t count(std::uint8_t device);

 private:
  SpinLock lock_;
  AddressMap<MadeContext> made_;
};

Contexts& contexts();
Contexts& green_contexts();

}  // namespace tidemark::interpose
