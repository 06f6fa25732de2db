// SPDX-License-Identifier: Apache-2.0
// Sizes and durations as people type them: no text may break the readers, and what tidemark writes it must read again.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/bytes.h"
#include "base/env.h"

namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view const text(reinterpret_cast<const char*>(data), size);
  auto const bytes = tidemark::parse_bytes(text);
  // Beyond, rounding to two digits can step over the largest size that is read.
  constexpr std::uint64_t kReadAgain = 9'000'000'000'000'000'000;
  if (bytes && bytes->n < kReadAgain) {
    auto const again = tidemark::parse_bytes(tidemark::format_bytes(*bytes));
    check(again.ok());
    // Two digits after the point from KiB on: half a percent of the unit, and the unit is at most the value.
    std::uint64_t const gap = again->n > bytes->n ? again->n - bytes->n : bytes->n - again->n;
    check(gap <= bytes->n / 200 + 1);
  } else if (!bytes) {
    check(!bytes.error().what.empty() && !bytes.error().hint.empty());
  }
  auto const duration = tidemark::parse_duration_ns(text);
  check(duration.ok() || !duration.error().what.empty());
  return 0;
}
