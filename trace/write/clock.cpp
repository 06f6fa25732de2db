// SPDX-License-Identifier: Apache-2.0
#include "trace/write/clock.h"

#include <cpuid.h>

namespace tidemark::trace {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kMeasureNs = 200'000;

// "Invariant TSC" of the processor's documentation, together with the instruction that reads it in order.
bool invariant_counter() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (__get_cpuid(0x80000007, &a, &b, &c, &d) == 0 || (d & (1u << 8)) == 0) return false;
  return __get_cpuid(0x80000001, &a, &b, &c, &d) != 0 && (d & (1u << 27)) != 0;
}

}  // namespace

Clock Clock::pick() {
  Clock clock;
  if (invariant_counter()) clock.kind_ = ClockKind::Tsc;
  return clock;
}

ClockPair Clock::pair() const {
  if (kind_ == ClockKind::Monotonic) {
    std::uint64_t const now_ns = monotonic_now_ns();
    return {.ticks = now_ns, .monotonic_ns = now_ns};
  }
  // Of a few tries the one that was interrupted least.
  ClockPair best;
  std::uint64_t narrowest = ~std::uint64_t{0};
  for (int i = 0; i < 5; ++i) {
    std::uint64_t const before = now(), at = monotonic_now_ns(), after = now();
    if (after - before >= narrowest) continue;
    narrowest = after - before;
    best = {.ticks = before + narrowest / 2, .monotonic_ns = at};
  }
  return best;
}

std::uint64_t Clock::ticks_per_second() const {
  if (kind_ == ClockKind::Monotonic) return kSecond;
  ClockPair const begin = pair();
  while (monotonic_now_ns() - begin.monotonic_ns < kMeasureNs) __builtin_ia32_pause();
  ClockPair const end = pair();
  return static_cast<std::uint64_t>(static_cast<double>(end.ticks - begin.ticks) * kSecond /
                                    static_cast<double>(end.monotonic_ns - begin.monotonic_ns));
}

}  // namespace tidemark::trace
