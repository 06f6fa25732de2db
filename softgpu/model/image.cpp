// SPDX-License-Identifier: Apache-2.0
#include "softgpu/model/image.h"

#include <elf.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

namespace tidemark::softgpu {
namespace {

constexpr std::uint32_t kFatbinMagic = 0xBA55ED50;

template <class T>
std::optional<T> load(std::span<const std::byte> bytes, std::uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

std::string text_at(std::span<const std::byte> bytes, std::uint64_t offset) {
  if (offset >= bytes.size()) return {};
  auto const* const begin = reinterpret_cast<const char*>(bytes.data() + offset);
  return std::string(begin, ::strnlen(begin, bytes.size() - offset));
}

ImageNames read_elf(std::span<const std::byte> bytes) {
  ImageNames names{.kind = ImageNames::Kind::Elf};
  auto const header = load<Elf64_Ehdr>(bytes, 0);
  if (!header) return {};
  auto const section = [&](std::uint64_t i) {
    return load<Elf64_Shdr>(bytes, header->e_shoff + i * sizeof(Elf64_Shdr));
  };
  auto const names_section = section(header->e_shstrndx);
  if (!names_section) return {};
  for (std::uint64_t i = 0; i < header->e_shnum; ++i) {
    auto const s = section(i);
    if (!s) break;
    std::string const name = text_at(bytes, names_section->sh_offset + s->sh_name);
    if (name.starts_with(".text.")) names.kernels.push_back(name.substr(6));
    if (s->sh_type != SHT_SYMTAB) continue;
    auto const strings = section(s->sh_link);
    if (!strings) continue;
    for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= s->sh_size; at += sizeof(Elf64_Sym)) {
      auto const symbol = load<Elf64_Sym>(bytes, s->sh_offset + at);
      if (!symbol) break;
      if (ELF64_ST_TYPE(symbol->st_info) == STT_OBJECT && symbol->st_size != 0)
        names.variables.push_back({text_at(bytes, strings->sh_offset + symbol->st_name), symbol->st_size});
    }
  }
  return names;
}

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

ImageNames read_ptx(std::string_view text) {
  ImageNames names{.kind = ImageNames::Kind::Ptx};
  int depth = 0;
  while (!text.empty()) {
    if (is_space(text.front())) {
      text.remove_prefix(1);
      continue;
    }
    if (text.starts_with("//")) {
      text.remove_prefix(std::min(text.find('\n'), text.size()));
      continue;
    }
    if (text.starts_with("/*")) {
      auto const end = text.find("*/");
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 2);
      continue;
    }
    std::string_view const word = next_word(text);
    if (word == "{") ++depth;
    if (word == "}") --depth;
    if (depth != 0) continue;
    if (word == ".entry") names.kernels.emplace_back(next_word(text));
    if (word == ".global" || word == ".const")
      if (auto variable = read_variable(text)) names.variables.push_back(std::move(*variable));
  }
  return names;
}

bool looks_like_text(std::span<const std::byte> bytes) {
  std::size_t const n = std::min<std::size_t>(bytes.size(), 64);
  return n > 0 && std::all_of(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(n), [](std::byte b) {
           auto const c = static_cast<unsigned char>(b);
           return c == 0 || c == '\t' || c == '\n' || c == '\r' || (c >= 32 && c < 127);
         });
}

}  // namespace

std::uint64_t image_length(const void* image) {
  unsigned char head[4];
  std::memcpy(head, image, sizeof head);
  if (std::memcmp(head, ELFMAG, SELFMAG) == 0) {
    Elf64_Ehdr header;
    std::memcpy(&header, image, sizeof header);
    return std::max<std::uint64_t>(sizeof header, header.e_shoff + std::uint64_t{header.e_shnum} * sizeof(Elf64_Shdr));
  }
  std::uint32_t magic = 0;
  std::memcpy(&magic, image, sizeof magic);
  if (magic == kFatbinMagic) return sizeof magic;
  std::span<const std::byte> const front(static_cast<const std::byte*>(image), 4);
  return looks_like_text(front) ? std::strlen(static_cast<const char*>(image)) : 0;
}

ImageNames read_image(std::span<const std::byte> image) {
  if (auto const magic = load<std::uint32_t>(image, 0); magic && *magic == kFatbinMagic)
    return {.kind = ImageNames::Kind::Fatbin};
  if (image.size() >= SELFMAG && std::memcmp(image.data(), ELFMAG, SELFMAG) == 0) return read_elf(image);
  if (!looks_like_text(image)) return {};
  ImageNames names = read_ptx({reinterpret_cast<const char*>(image.data()), image.size()});
  bool const is_ptx = std::string_view(reinterpret_cast<const char*>(image.data()), image.size()).find(".version") !=
                      std::string_view::npos;
  return is_ptx ? names : ImageNames{};
}

}  // namespace tidemark::softgpu
