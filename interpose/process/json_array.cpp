// SPDX-License-Identifier: Apache-2.0
#include "interpose/process/json_array.h"

#include <stdio.h>

#include <algorithm>

namespace tidemark::interpose {
namespace {

// How many bytes of a well-formed character begin here; 0 for none. Neither overlong forms nor halves of UTF-16 pairs
// are one: readers of JSON refuse a text that has them.
std::size_t character(std::string_view text) {
  auto const byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  unsigned const first = byte(0);
  std::size_t const length = first < 0x80   ? 1
                             : first < 0xc2 ? 0
                             : first < 0xe0 ? 2
                             : first < 0xf0 ? 3
                             : first < 0xf5 ? 4
                                            : 0;
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i)
    if (byte(i) >> 6 != 2) return 0;
  if ((first == 0xe0 && byte(1) < 0xa0) || (first == 0xed && byte(1) >= 0xa0)) return 0;
  if ((first == 0xf0 && byte(1) < 0x90) || (first == 0xf4 && byte(1) >= 0x90)) return 0;
  return length;
}

void append_quoted(std::string& out, std::string_view word) {
  out += '"';
  while (!word.empty()) {
    std::size_t const length = character(word);
    char const c = word[0];
    if (length == 0) {
      out += "\xef\xbf\xbd";
    } else if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      char escaped[8];
      snprintf(escaped, sizeof escaped, "\\u%04x", c);
      out += escaped;
    } else {
      out += word.substr(0, length);
    }
    word.remove_prefix(length == 0 ? 1 : length);
  }
  out += '"';
}

}  // namespace

std::string json_array(std::string_view words) {
  std::string out = "[";
  while (!words.empty()) {
    std::size_t const end = std::min(words.find('\0'), words.size());
    if (out.size() > 1) out += ',';
    append_quoted(out, words.substr(0, end));
    words.remove_prefix(std::min(end + 1, words.size()));
  }
  return out + "]";
}

}  // namespace tidemark::interpose
