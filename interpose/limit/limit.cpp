// SPDX-License-Identifier: Apache-2.0
#include "interpose/limit/limit.h"

#include <algorithm>
#include <atomic>

#include "base/env.h"
#include "interpose/process/process.h"
#include "interpose/record/devices.h"

namespace tidemark::interpose {
namespace {

constexpr std::uint64_t kNotRead = ~std::uint64_t{0};
constinit std::atomic<std::uint64_t> from_environment{kNotRead};

}  // namespace

std::uint64_t limit_bytes() {
  return recording() ? options().limit_bytes : 0;
}

std::uint64_t coming_limit_bytes() {
  if (detail::stage_page.load(std::memory_order_acquire) != nullptr) return limit_bytes();
  std::uint64_t known = from_environment.load(std::memory_order_relaxed);
  if (known == kNotRead) {
    auto const set = env_bytes("TIDEMARK_LIMIT", {});
    known = set.ok() ? set->n : 0;  // what cannot be read will be told when the recording begins
    from_environment.store(known, std::memory_order_relaxed);
  }
  return known;
}

bool beyond_limit(std::uint8_t device, std::uint64_t more_bytes) {
  std::uint64_t const limit = limit_bytes();
  if (limit == 0) return false;
  std::uint64_t const taken = devices().overhead_bytes(device) + devices().live_bytes(device);
  return more_bytes > limit || taken > limit - more_bytes;
}

Capacity limited(const Capacity& real, std::uint64_t taken_bytes) {
  std::uint64_t const limit = coming_limit_bytes();
  if (limit == 0 || limit >= real.total_bytes) return real;
  return {.free_bytes = std::min(real.free_bytes, limit > taken_bytes ? limit - taken_bytes : 0), .total_bytes = limit};
}

}  // namespace tidemark::interpose
