// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include "softgpu/model/image.h"

namespace tidemark::softgpu {
namespace {

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' || c == '%';
}

std::string_view next_word(std::string_view& text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  std::size_t n = 0;
  while (n < text.size() && (is_name(text[n]) || text[n] == '.')) ++n;
  if (n == 0 && !text.empty()) n = 1;
  std::string_view const word = text.substr(0, n);
  text.remove_prefix(n);
  return word;
}

std::uint64_t type_bytes(std::string_view type) {
  std::size_t digits = 0;
  while (digits < type.size() && (type[digits] < '0' || type[digits] > '9')) ++digits;
  std::uint64_t bits = 0;
  std::from_chars(type.data() + digits, type.data() + type.size(), bits);
  return bits / 8;
}

// ".global .align 4 .b8 name[400] = {…}" — after the state space: qualifiers, a type, a name, perhaps a length.
std::optional<ImageNames::Variable> read_variable(std::string_view text) {
  std::uint64_t element = 0;
  for (int i = 0; i < 16; ++i) {
    std::string_view const word = next_word(text);
    if (word.empty()) return std::nullopt;
    if (word == ".align") {
      next_word(text);
    } else if (word.size() > 2 && word[0] == '.' && std::strchr("bsuf", word[1]) != nullptr && word[2] >= '0' &&
               word[2] <= '9') {
      element = type_bytes(word);
    } else if (is_name(word[0])) {
      std::uint64_t count = 1;
      if (next_word(text) == "[") {
        std::string_view const number = next_word(text);
        std::from_chars(number.data(), number.data() + number.size(), count);
      }
      if (element == 0 || count > (std::uint64_t{1} << 40)) return std::nullopt;
      return ImageNames::Variable{std::string(word), element * count};
    }
  }
  return std::nullopt;
}

template <class T>
T number(std::string_view word, T otherwise) {
  T value = otherwise;
  std::from_chars(word.data(), word.data() + word.size(), value);
  return value;
}

// ".maxntid 256, 1, 1": up to three numbers.
std::uint32_t read_product(std::string_view& text) {
  std::uint64_t product = 1;
  for (int i = 0; i < 3; ++i) {
    product = std::min<std::uint64_t>(product * number<std::uint32_t>(next_word(text), 1), 1024);
    std::string_view rest = text;
    if (next_word(rest) != ",") break;
    text = rest;
  }
  return static_cast<std::uint32_t>(product);
}

// Past white space and comments; false at the end.
bool skip_to_word(std::string_view& text) {
  while (!text.empty()) {
    if (is_space(text.front())) {
      text.remove_prefix(1);
    } else if (text.starts_with("//")) {
      text.remove_prefix(std::min(text.find('\n'), text.size()));
    } else if (text.starts_with("/*")) {
      auto const end = text.find("*/");
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 2);
    } else {
      return true;
    }
  }
  return false;
}

struct Reader {
  ImageNames names{.kind = ImageNames::Kind::Ptx, .readable = true};
  int depth = 0;
  bool in_kernel = false;

  // Outside of bodies, and the directives between a kernel's parameters and its body.
  void declaration(std::string_view word, std::string_view& text) {
    if (word == ".entry" || word == ".func") in_kernel = word == ".entry";
    if (word == ".entry") names.kernels.push_back({std::string(next_word(text))});
    if (in_kernel && !names.kernels.empty() && (word == ".maxntid" || word == ".reqntid"))
      names.kernels.back().thread_limit = read_product(text);
    if (word == ".target")
      if (auto const target = next_word(text); target.starts_with("sm_"))
        names.architecture = number(target.substr(3), 0);
    if (word != ".global" && word != ".const") return;
    auto variable = read_variable(text);
    if (!variable) return;
    if (word == ".const") names.constant_bytes += static_cast<std::uint32_t>(variable->bytes);
    names.variables.push_back(std::move(*variable));
  }

  // nvcc declares a __shared__ variable in the body of the one kernel that uses it.
  void statement(std::string_view word, std::string_view text) {
    if (word != ".shared" || !in_kernel || names.kernels.empty()) return;
    if (auto const variable = read_variable(text))
      names.kernels.back().static_shared_bytes += static_cast<std::uint32_t>(variable->bytes);
  }
};

}  // namespace

ImageNames read_ptx(std::string_view text) {
  Reader reader;
  while (skip_to_word(text)) {
    std::string_view const word = next_word(text);
    if (word == "{") ++reader.depth;
    if (word == "}") --reader.depth;
    if (reader.depth == 0) {
      reader.declaration(word, text);
    } else {
      reader.statement(word, text);
    }
  }
  return std::move(reader.names);
}

}  // namespace tidemark::softgpu
