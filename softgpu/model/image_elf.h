// SPDX-License-Identifier: Apache-2.0
// A cubin's sections, symbols and attributes. Untrusted input: see image.h.
#pragma once
#include <elf.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "softgpu/model/image.h"

namespace tidemark::softgpu {

template <class T>
std::optional<T> load(std::span<const std::byte> bytes, std::uint64_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(T)) return std::nullopt;
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

class Elf {
 public:
  explicit Elf(std::span<const std::byte> bytes);

  bool valid() const { return valid_; }
  const Elf64_Ehdr& header() const { return header_; }
  std::uint64_t bytes() const { return header_.e_shoff + std::uint64_t{header_.e_shnum} * sizeof(Elf64_Shdr); }
  // The SM number, as LLVM documents e_flags: in the low byte, since OS ABI 0x41 in the next.
  int architecture() const;
  std::optional<Elf64_Shdr> section(std::uint64_t i) const;
  std::string name(const Elf64_Shdr& section) const;

  // Of a section with a kernel's attributes the largest block; 0: it does not say.
  std::uint32_t thread_limit(const Elf64_Shdr& attributes) const;
  // Whether code with these relocations calls the device runtime's launch.
  bool calls_launch(const Elf64_Shdr& relocations) const;
  void read_variables(const Elf64_Shdr& symbols, std::vector<ImageNames::Variable>& out) const;

 private:
  std::string symbol_name(const Elf64_Shdr& symbols, std::uint64_t index) const;

  std::span<const std::byte> bytes_;
  Elf64_Ehdr header_{};
  std::uint64_t names_at_ = 0;
  bool valid_ = false;
};

ImageNames read_elf(const Elf& elf);

}  // namespace tidemark::softgpu
