// SPDX-License-Identifier: Apache-2.0
// Which device each pool of stream-ordered memory is on, and what the pools of a device hold. A pool needs no context
// and outlives them all. Any thread, through the shield.
#pragma once
#include <cstdint>

#include "base/address_map.h"
#include "base/spin_lock.h"

namespace tidemark::interpose {

class Pools {
 public:
  constexpr Pools() = default;

  // Of the program's own, that is: a device's default pool is there anyway.
  void made(std::uint64_t pool, std::uint8_t device);
  void ended(std::uint64_t pool);
  // -1: the current one, as far as can be told.
  int device_of(std::uint64_t pool);
  // What the device has given them, by their own word.
  std::uint64_t reserved_bytes(std::uint8_t device);
  // Of that, what no block is in.
  std::uint64_t idle_bytes(std::uint8_t device);

 private:
  template <class F>
  std::uint64_t sum(std::uint8_t device, F of_pool);

  SpinLock lock_;
  AddressMap<std::uint8_t> devices_;
};

Pools& pools();

// With one device alone nobody needs to be asked which it is.
bool several_devices();

}  // namespace tidemark::interpose
