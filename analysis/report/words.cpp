// SPDX-License-Identifier: Apache-2.0
#include "analysis/report/words.h"

#include <fmt/core.h>
#include <string.h>

#include <algorithm>
#include <array>

#include "base/bytes.h"

namespace tidemark::analysis::report {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

bool continues(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

// The length of the well-formed character at the beginning of `text`; 0 if there is none.
std::size_t character(std::string_view text) {
  auto const first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return 1;
  std::size_t const length = first >= 0xc2 && first < 0xe0   ? 2
                             : first >= 0xe0 && first < 0xf0 ? 3
                             : first >= 0xf0 && first < 0xf5 ? 4
                                                             : 0;
  if (length == 0 || text.size() < length) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if (!continues(text[i])) return 0;
  auto const second = static_cast<unsigned char>(text[1]);
  bool const overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  bool const outside = (first == 0xed && second >= 0xa0) || (first == 0xf4 && second >= 0x90);
  bool const control = first == 0xc2 && second < 0xa0;
  return overlong || outside || control ? 0 : length;
}

// The place behind the first `count` characters of a cleaned text.
std::size_t offset_of(std::string_view text, std::size_t count) {
  std::size_t at = 0;
  for (; count > 0 && at < text.size(); --count) do
      ++at;
    while (at < text.size() && continues(text[at]));
  return at;
}

}  // namespace

std::string clean(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    std::size_t const length = character(text);
    auto const first = static_cast<unsigned char>(text[0]);
    if (length == 1 && (first < 0x20 || first == 0x7f))
      out += ' ';
    else if (length == 0)
      out += kReplacement;
    else
      out += text.substr(0, length);
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return out;
}

std::size_t columns(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return !continues(c); }));
}

std::string fit(std::string_view text, std::size_t most, bool unicode) {
  std::string_view const gap = unicode ? "\u2026" : "..";
  std::size_t const length = columns(text), gap_length = columns(gap);
  if (length <= most) return std::string(text);
  if (most <= gap_length) return std::string(text.substr(0, offset_of(text, most)));
  std::size_t const head = (most - gap_length) / 3, tail = most - gap_length - head;
  return std::string(text.substr(0, offset_of(text, head))) + std::string(gap) +
         std::string(text.substr(offset_of(text, length - tail)));
}

std::string pad_right(std::string_view text, std::size_t width) {
  std::size_t const length = columns(text);
  return std::string(text) + std::string(width > length ? width - length : 0, ' ');
}
std::string pad_left(std::string_view text, std::size_t width) {
  std::size_t const length = columns(text);
  return std::string(width > length ? width - length : 0, ' ') + std::string(text);
}

std::string bytes_text(std::uint64_t bytes) {
  return format_bytes({bytes});
}

std::string duration_text(std::uint64_t time_ns) {
  auto const t = static_cast<double>(time_ns);
  if (time_ns < 1'000) return fmt::format("{} ns", time_ns);
  if (time_ns < 1'000'000) return fmt::format("{:.1f} us", t / 1e3);
  if (time_ns < 1'000'000'000) return fmt::format("{:.1f} ms", t / 1e6);
  if (time_ns < 60'000'000'000) return fmt::format("{:.3f} s", t / 1e9);
  std::uint64_t const seconds = time_ns / 1'000'000'000;
  if (seconds < 3600) return fmt::format("{} min {:02} s", seconds / 60, seconds % 60);
  return fmt::format("{} h {:02} min", seconds / 3600, seconds / 60 % 60);
}

std::string instant_text(std::uint64_t time_ns) {
  auto const t = static_cast<double>(time_ns);
  if (time_ns < 1'000'000) return duration_text(time_ns);
  return time_ns < 1'000'000'000 ? fmt::format("{:.3f} ms", t / 1e6) : fmt::format("{:.6f} s", t / 1e9);
}

std::string count_text(std::uint64_t n) {
  std::string text = std::to_string(n);
  for (std::size_t i = text.size(); i > 3; i -= 3) text.insert(i - 3, ",");
  return text;
}
std::string count_text(std::uint64_t n, std::string_view one, std::string_view many) {
  return count_text(n) + " " + std::string(n == 1 ? one : many);
}

std::string percent_text(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return "-";
  return fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string signal_text(int signal) {
  const char* const name = sigabbrev_np(signal);
  return fmt::format("signal {}", signal) + (name == nullptr ? "" : fmt::format(" (SIG{})", name));
}

std::string place_text(const std::optional<std::uint64_t>& step, std::string_view phase, std::string_view layer) {
  std::string text;
  if (step) text += ", step " + std::to_string(*step);
  if (!phase.empty() && phase != "other") text += ", phase " + std::string(phase);
  return text + ", layer " + clean(layer);
}

std::string command_text(const std::vector<std::string>& words) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+.,/:@%^";
  std::string text;
  for (std::string const& word : words) {
    if (!text.empty()) text += ' ';
    if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) {
      text += word;
      continue;
    }
    text += '\'';
    for (char const c : word) {
      if (c == '\'')
        text += "'\\''";
      else
        text += c;
    }
    text += '\'';
  }
  return text;
}

}  // namespace tidemark::analysis::report
