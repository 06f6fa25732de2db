// SPDX-License-Identifier: Apache-2.0
#include "cli/savings/flags.h"

#include <algorithm>
#include <charconv>

namespace tidemark::cli {
namespace {

std::vector<std::string_view> words_in(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t begin = 0; begin < text.size();) {
    std::size_t const end = std::min(text.find(' ', begin), text.size());
    if (end > begin) words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

std::uint64_t number_at(std::string_view text, std::size_t& at) {
  std::uint64_t n = 0;
  const char* const end = std::from_chars(text.data() + at, text.data() + text.size(), n).ptr;
  at = static_cast<std::size_t>(end - text.data());
  return n;
}

bool is_letter(char c) {
  return c >= 'a' && c <= 'z';
}

// "$side/2x$side/2" with side=64 is "32x32".
Result<std::string> reckoned(std::string_view text, const Numbers& numbers) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != '$') {
      out += text[at++];
      continue;
    }
    std::size_t end = ++at;
    // A name ends before the x of a picture's size: it is followed by a sign there.
    while (end < text.size() && is_letter(text[end])) ++end;
    auto const found = numbers.find(text.substr(at, end - at));
    if (found == numbers.end())
      return Error{Errc::InvalidArgument, "no number for $" + std::string(text.substr(at, end - at)), ""};
    std::uint64_t value = found->second;
    at = end;
    while (at < text.size() && (text[at] == '*' || text[at] == '/')) {
      bool const times = text[at++] == '*';
      std::uint64_t const by = number_at(text, at);
      if (by == 0) return Error{Errc::InvalidArgument, "not a number in " + std::string(text), ""};
      value = times ? value * by : value / by;
    }
    out += std::to_string(value);
  }
  return out;
}

}  // namespace

Numbers read_numbers(std::string_view text) {
  Numbers numbers;
  for (std::string_view const word : words_in(text)) {
    std::size_t const equals = word.find('=');
    std::size_t at = equals + 1;
    numbers.emplace(word.substr(0, equals), number_at(word, at));
  }
  return numbers;
}

Result<void> Flags::add(std::string_view text, const Numbers& numbers) {
  auto const words = words_in(text);
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string value;
    bool const has_value = i + 1 < words.size() && !words[i + 1].starts_with("--");
    if (has_value) {
      auto reckon = reckoned(words[i + 1], numbers);
      if (!reckon.ok()) return reckon.error();
      value = *std::move(reckon);
    }
    set(words[i], value);
    i += has_value ? 1 : 0;
  }
  return {};
}

void Flags::set(std::string_view name, std::string_view value) {
  auto const there = std::find_if(all_.begin(), all_.end(), [&](const auto& flag) { return flag.first == name; });
  if (there == all_.end())
    all_.emplace_back(name, value);
  else
    there->second = value;
}

std::vector<std::string> Flags::words() const {
  std::vector<std::string> words;
  for (auto const& [name, value] : all_) {
    words.push_back(name);
    if (!value.empty()) words.push_back(value);
  }
  return words;
}

std::string Flags::text() const {
  std::string text;
  for (std::string const& word : words()) text += (text.empty() ? "" : " ") + word;
  return text;
}

bool Flags::has(std::string_view name) const {
  return std::any_of(all_.begin(), all_.end(), [&](const auto& flag) { return flag.first == name; });
}

std::string_view Flags::value(std::string_view name) const {
  for (auto const& [flag, value] : all_)
    if (flag == name) return value;
  return {};
}

}  // namespace tidemark::cli
