// SPDX-License-Identifier: Apache-2.0
#include "interpose/limit/limit.h"

#include <algorithm>

#include "interpose/process/process.h"
#include "interpose/record/devices.h"

namespace tidemark::interpose {

std::uint64_t limit_bytes() {
  return recording() ? options().limit_bytes : 0;
}

bool beyond_limit(std::uint8_t device, std::uint64_t more_bytes) {
  std::uint64_t const limit = limit_bytes();
  if (limit == 0) return false;
  std::uint64_t const taken = devices().overhead_bytes(device) + devices().live_bytes(device);
  return more_bytes > limit || taken > limit - more_bytes;
}

bool above_limit(std::uint8_t device) {
  std::uint64_t const limit = limit_bytes();
  return limit != 0 && devices().overhead_bytes(device) + devices().reserved_bytes(device) > limit;
}

Capacity limited(std::uint8_t device, Capacity real) {
  std::uint64_t const limit = limit_bytes();
  if (limit == 0 || limit >= real.total_bytes) return real;
  std::uint64_t const taken = devices().overhead_bytes(device) + devices().reserved_bytes(device);
  return {.free_bytes = std::min(real.free_bytes, limit > taken ? limit - taken : 0), .total_bytes = limit};
}

}  // namespace tidemark::interpose
