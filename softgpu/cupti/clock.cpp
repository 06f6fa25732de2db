// SPDX-License-Identifier: Apache-2.0
#include "softgpu/cupti/clock.h"

#include <time.h>

#include <atomic>

#include "softgpu/cupti/device.h"
#include "softgpu/cupti/thread.h"

namespace tidemark::softgpu::cupti {
namespace {

// Simulated time begins at zero, which CUPTI's records use for "unknown".
constexpr std::uint64_t kSimulatedEpoch = 1'000'000'000;

std::uint64_t read(clockid_t clock) {
  timespec t{};
  ::clock_gettime(clock, &t);
  return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(t.tv_nsec);
}

std::uint64_t device_now() {
  const Device* const d = device();
  return d != nullptr ? d->clock() : read(CLOCK_MONOTONIC);
}

std::uint64_t own_difference() {
  static std::uint64_t const difference = [] {
    const Device* const d = device();
    if (d != nullptr && d->clock_is_simulated() != 0) return kSimulatedEpoch;
    return read(CLOCK_REALTIME) - read(CLOCK_MONOTONIC);
  }();
  return difference;
}

constinit std::atomic<CUpti_TimestampCallbackFunc> client_clock{nullptr};
constinit std::atomic<std::uint64_t> client_difference{0};

}  // namespace

std::uint64_t now() {
  std::uint64_t const device_ns = device_now();
  CUpti_TimestampCallbackFunc const ask = client_clock.load(std::memory_order_acquire);
  if (ask == nullptr) return device_ns + own_difference();
  Quiet const quiet;
  std::uint64_t const time = ask();
  client_difference.store(time - device_ns, std::memory_order_relaxed);
  return time;
}

std::uint64_t from_device(std::uint64_t device_ns) {
  bool const own = client_clock.load(std::memory_order_acquire) == nullptr;
  return device_ns + (own ? own_difference() : client_difference.load(std::memory_order_relaxed));
}

void forget_client_clock() {
  client_clock.store(nullptr, std::memory_order_release);
}

}  // namespace tidemark::softgpu::cupti

using namespace tidemark::softgpu::cupti;

CUptiResult CUPTIAPI cuptiGetTimestamp(uint64_t* timestamp) {
  if (timestamp == nullptr) return answer(CUPTI_ERROR_INVALID_PARAMETER);
  *timestamp = is_forked() ? 0 : now();
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityRegisterTimestampCallback(CUpti_TimestampCallbackFunc clock) {
  if (clock == nullptr) return answer(CUPTI_ERROR_INVALID_PARAMETER);
  client_clock.store(clock, std::memory_order_release);
  (void)now();
  return CUPTI_SUCCESS;
}
