// SPDX-License-Identifier: Apache-2.0
#include "base/env.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>

namespace tidemark {
namespace {

template <class T>
Result<T> name_it(const char* variable, Result<T> result) {
  if (result.ok()) return result;
  Error error = result.error();
  error.what = std::string(variable) + ": " + error.what;
  return error;
}

Result<bool> parse_flag(std::string_view text) {
  for (std::string_view yes : {"1", "on", "yes", "true"})
    if (text == yes) return true;
  for (std::string_view no : {"0", "off", "no", "false"})
    if (text == no) return false;
  return Error{Errc::InvalidArgument, "not a switch: '" + std::string(text) + "'", "write 1 or 0"};
}

Result<std::uint64_t> parse_count(std::string_view text) {
  std::uint64_t value = 0;
  auto const [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failure != std::errc{} || end != text.data() + text.size())
    return Error{Errc::InvalidArgument, "not a number: '" + std::string(text) + "'", "write a whole number"};
  return value;
}

}  // namespace

std::optional<std::string> env_text(const char* name) {
  const char* const text = std::getenv(name);
  if (text == nullptr || *text == '\0') return std::nullopt;
  return std::string(text);
}

Result<bool> env_flag(const char* name, bool otherwise) {
  auto const text = env_text(name);
  return text ? name_it(name, parse_flag(*text)) : Result<bool>(otherwise);
}

Result<std::uint64_t> env_count(const char* name, std::uint64_t otherwise) {
  auto const text = env_text(name);
  return text ? name_it(name, parse_count(*text)) : Result<std::uint64_t>(otherwise);
}

Result<Bytes> env_bytes(const char* name, Bytes otherwise) {
  auto const text = env_text(name);
  return text ? name_it(name, parse_bytes(*text)) : Result<Bytes>(otherwise);
}

Result<std::uint64_t> parse_duration_ns(std::string_view text) {
  struct Unit {
    std::string_view name;
    double factor;
  };
  static constexpr std::array kUnits = {Unit{"", 1}, Unit{"ns", 1}, Unit{"us", 1e3}, Unit{"ms", 1e6}, Unit{"s", 1e9}};
  double number = 0;
  auto const [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  std::string_view const unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (failure == std::errc{} && number >= 0)
    for (Unit const& u : kUnits)
      if (unit == u.name && number * u.factor < 9.2e18)
        return static_cast<std::uint64_t>(std::llround(number * u.factor));
  return Error{Errc::InvalidArgument, "not a duration: '" + std::string(text) + "'",
               "write it as 250ns, 100us, 2ms or 1s"};
}

Result<std::uint64_t> env_duration_ns(const char* name, std::uint64_t otherwise) {
  auto const text = env_text(name);
  return text ? name_it(name, parse_duration_ns(*text)) : Result<std::uint64_t>(otherwise);
}

}  // namespace tidemark
