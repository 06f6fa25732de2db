// SPDX-License-Identifier: Apache-2.0
// Who may allocate at once while a limit is set. Far from the limit everybody, and the driver is not asked what it
// gave: each request has its bytes and a generous addition for the driver's granules taken off a credit. Once that is
// used up requests go one by one, and after each the driver is asked: so the last byte that fits is served, and no
// thread is refused for what another takes back. The credit is measured anew each time.
//
// A pass is held across the real call, with cancellation off: a thread that left in between would stop all others.
// Allocating functions of the driver call nothing of the program's, so nothing is thrown through one. A signal handler
// that allocates while its thread holds a pass gets through without one.
#pragma once
#include <cstdint>

namespace tidemark::interpose {

struct Pass {
  enum class Kind : std::uint8_t { None, Together, Alone };
  Kind kind = Kind::None;
  std::uint8_t device = 0;
  int cancel_state = 0;
};

// None where no limit is set.
Pass enter_gate(std::uint8_t device, std::uint64_t more_bytes);
void leave_gate(const Pass& pass);

// What a device has given, as just measured by somebody who is alone there.
void set_credit(std::uint8_t device, std::uint64_t taken_bytes);
// The device has given more than was reckoned with: the next request measures.
void spoil_credit(std::uint8_t device, std::uint64_t taken_bytes);

}  // namespace tidemark::interpose
