// SPDX-License-Identifier: Apache-2.0
// A number of bytes as a type, and the way sizes are written and read everywhere in tidemark.
#pragma once
#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace tidemark {

struct Bytes {
  std::uint64_t n = 0;
  auto operator<=>(const Bytes&) const = default;
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return {a.n + b.n}; }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return {a.n - b.n}; }
  friend constexpr Bytes operator*(Bytes a, std::uint64_t k) { return {a.n * k}; }
};

namespace literals {
constexpr Bytes operator""_B(unsigned long long n) {
  return {n};
}
constexpr Bytes operator""_KiB(unsigned long long n) {
  return {n << 10};
}
constexpr Bytes operator""_MiB(unsigned long long n) {
  return {n << 20};
}
constexpr Bytes operator""_GiB(unsigned long long n) {
  return {n << 30};
}
}  // namespace literals

constexpr std::uint64_t round_up(std::uint64_t n, std::uint64_t step) {
  return (n + step - 1) / step * step;
}

// "512MiB", "6GiB", "1.5GB", "8G" (binary, as CUDA users write it) or plain bytes.
Result<Bytes> parse_bytes(std::string_view text);
// "9.46 GiB", "44.00 MiB", "512 B": two digits from KiB on.
std::string format_bytes(Bytes size);

}  // namespace tidemark
