// SPDX-License-Identifier: Apache-2.0
#include "base/bytes.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace tidemark {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t factor;
};

constexpr std::array kUnits = {
    Unit{"", 1},
    Unit{"B", 1},
    Unit{"KiB", 1ull << 10},
    Unit{"MiB", 1ull << 20},
    Unit{"GiB", 1ull << 30},
    Unit{"TiB", 1ull << 40},
    Unit{"PiB", 1ull << 50},
    Unit{"EiB", 1ull << 60},
    Unit{"K", 1ull << 10},
    Unit{"M", 1ull << 20},
    Unit{"G", 1ull << 30},
    Unit{"T", 1ull << 40},
    Unit{"KB", 1'000},
    Unit{"MB", 1'000'000},
    Unit{"GB", 1'000'000'000},
    Unit{"TB", 1'000'000'000'000},
};

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if ((a[i] | 0x20) != (b[i] | 0x20)) return false;
  return true;
}

Error bad_size(std::string_view text) {
  return {Errc::InvalidArgument, "not a size: '" + std::string(text) + "'", "write it as 512MiB, 6GiB, 1.5GB or bytes"};
}

}  // namespace

Result<Bytes> parse_bytes(std::string_view text) {
  const char* const last = text.data() + text.size();
  double number = 0;
  auto const [end, failure] = std::from_chars(text.data(), last, number, std::chars_format::fixed);
  if (failure != std::errc{} || !(number >= 0)) return bad_size(text);
  std::string_view unit(end, static_cast<std::size_t>(last - end));
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  for (Unit const& u : kUnits) {
    if (!equal_ignoring_case(unit, u.name)) continue;
    double const bytes = number * static_cast<double>(u.factor);
    if (!(bytes < 9.2e18)) return bad_size(text);
    // A whole number is taken as it stands: a double would lose its last digits from 2^53 on.
    std::uint64_t whole = 0;
    auto const [whole_end, no_whole] = std::from_chars(text.data(), end, whole);
    if (no_whole == std::errc{} && whole_end == end) return Bytes{whole * u.factor};
    return Bytes{static_cast<std::uint64_t>(std::llround(bytes))};
  }
  return bad_size(text);
}

std::string format_bytes(Bytes size) {
  static constexpr std::array kNames = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  // What two digits would round up to 1024.00 belongs to the next unit.
  constexpr double kNextUnit = 1023.995;
  double value = static_cast<double>(size.n);
  std::size_t unit = 0;
  while (value >= (unit == 0 ? 1024.0 : kNextUnit) && unit + 1 < kNames.size()) {
    value /= 1024.0;
    ++unit;
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.2f %s", value, kNames[unit]);
  return text.data();
}

}  // namespace tidemark
