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
  double factor;
};

constexpr double kKi = 1024.0;
constexpr std::array kUnits = {
    Unit{"", 1},
    Unit{"B", 1},
    Unit{"KiB", kKi},
    Unit{"MiB", kKi* kKi},
    Unit{"GiB", kKi* kKi* kKi},
    Unit{"TiB", kKi* kKi* kKi* kKi},
    Unit{"K", kKi},
    Unit{"M", kKi* kKi},
    Unit{"G", kKi* kKi* kKi},
    Unit{"T", kKi* kKi* kKi* kKi},
    Unit{"KB", 1e3},
    Unit{"MB", 1e6},
    Unit{"GB", 1e9},
    Unit{"TB", 1e12},
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
  double number = 0;
  auto const [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (failure != std::errc{} || !(number >= 0)) return bad_size(text);
  std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  for (Unit const& u : kUnits) {
    if (!equal_ignoring_case(unit, u.name)) continue;
    double const bytes = number * u.factor;
    if (!(bytes < 9.2e18)) return bad_size(text);
    return Bytes{static_cast<std::uint64_t>(std::llround(bytes))};
  }
  return bad_size(text);
}

std::string format_bytes(Bytes size) {
  static constexpr std::array kNames = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(size.n);
  std::size_t unit = 0;
  while (value >= 1024.0 && unit + 1 < kNames.size()) {
    value /= 1024.0;
    ++unit;
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.2f %s", value, kNames[unit]);
  return text.data();
}

}  // namespace tidemark
