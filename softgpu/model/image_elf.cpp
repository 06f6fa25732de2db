// SPDX-License-Identifier: Apache-2.0
#include "softgpu/model/image_elf.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

namespace tidemark::softgpu {
namespace {

std::string text_at(std::span<const std::byte> bytes, std::uint64_t offset) {
  if (offset >= bytes.size()) return {};
  auto const* const begin = reinterpret_cast<const char*>(bytes.data() + offset);
  return std::string(begin, ::strnlen(begin, bytes.size() - offset));
}

// No block has more.
std::uint32_t threads_of(const std::array<std::uint32_t, 3>& sides) {
  std::uint64_t product = 1;
  for (std::uint32_t const side : sides) product = std::min<std::uint64_t>(product * side, 1024);
  return static_cast<std::uint32_t>(product);
}

// The rest of a section's name, when it begins so.
std::optional<std::string> after(const std::string& name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  return name.substr(prefix.size());
}

}  // namespace

Elf::Elf(std::span<const std::byte> bytes) : bytes_(bytes) {
  auto const header = load<Elf64_Ehdr>(bytes, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return;
  header_ = *header;
  auto const names = section(header_.e_shstrndx);
  valid_ = names.has_value();
  if (valid_) names_at_ = names->sh_offset;
}

int Elf::architecture() const {
  unsigned const shift = header_.e_ident[EI_OSABI] == 0x41 ? 8 : 0;
  return header_.e_machine == EM_CUDA ? static_cast<int>(header_.e_flags >> shift & 0xff) : 0;
}

std::optional<Elf64_Shdr> Elf::section(std::uint64_t i) const {
  return load<Elf64_Shdr>(bytes_, header_.e_shoff + i * sizeof(Elf64_Shdr));
}

std::string Elf::name(const Elf64_Shdr& section) const {
  return text_at(bytes_, names_at_ + section.sh_name);
}

// Each attribute is a format, a number and a 16-bit value; of one format the value is the length of what follows. Of a
// format that is not known neither is what comes after it.
std::uint32_t Elf::thread_limit(const Elf64_Shdr& attributes) const {
  constexpr std::uint8_t kWithout = 1, kByte = 2, kHalf = 3, kSized = 4;
  constexpr std::uint8_t kMaxThreads = 0x05, kRequiredThreads = 0x10;  // EIATTR_MAX_THREADS, EIATTR_REQNTID
  struct Attribute {
    std::uint8_t format, number;
    std::uint16_t value;
  };
  std::uint32_t limit = 0;
  for (std::uint64_t at = 0; at + sizeof(Attribute) <= attributes.sh_size;) {
    auto const attribute = load<Attribute>(bytes_, attributes.sh_offset + at);
    if (!attribute) break;
    at += sizeof(Attribute);
    std::uint8_t const format = attribute->format;
    if (format == kWithout || format == kByte || format == kHalf) continue;
    if (format != kSized || attribute->value > attributes.sh_size - at) break;
    bool const shape = attribute->number == kMaxThreads || attribute->number == kRequiredThreads;
    auto const sides = load<std::array<std::uint32_t, 3>>(bytes_, attributes.sh_offset + at);
    if (shape && sides && attribute->value == sizeof *sides) limit = threads_of(*sides);
    at += attribute->value;
  }
  return limit;
}

std::string Elf::symbol_name(const Elf64_Shdr& symbols, std::uint64_t index) const {
  auto const strings = section(symbols.sh_link);
  auto const symbol = load<Elf64_Sym>(bytes_, symbols.sh_offset + index * sizeof(Elf64_Sym));
  return strings && symbol ? text_at(bytes_, strings->sh_offset + symbol->st_name) : std::string();
}

bool Elf::calls_launch(const Elf64_Shdr& relocations) const {
  constexpr std::string_view kLaunch = "__cudaCDP2LaunchDevice";  // and its forms: cuda_device_runtime_api.h
  auto const symbols = section(relocations.sh_link);
  if (!symbols) return false;
  std::uint64_t const step = relocations.sh_type == SHT_RELA ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
  for (std::uint64_t at = 0; at + step <= relocations.sh_size; at += step) {
    auto const relocation = load<Elf64_Rel>(bytes_, relocations.sh_offset + at);
    if (!relocation) break;
    if (symbol_name(*symbols, ELF64_R_SYM(relocation->r_info)).starts_with(kLaunch)) return true;
  }
  return false;
}

void Elf::read_variables(const Elf64_Shdr& symbols, std::vector<ImageNames::Variable>& out) const {
  auto const strings = section(symbols.sh_link);
  if (!strings) return;
  for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= symbols.sh_size; at += sizeof(Elf64_Sym)) {
    auto const symbol = load<Elf64_Sym>(bytes_, symbols.sh_offset + at);
    if (!symbol) break;
    if (ELF64_ST_TYPE(symbol->st_info) == STT_OBJECT && symbol->st_size != 0)
      out.push_back({text_at(bytes_, strings->sh_offset + symbol->st_name), symbol->st_size});
  }
}

ImageNames read_elf(const Elf& elf) {
  if (!elf.valid()) return {};
  ImageNames names{.kind = ImageNames::Kind::Elf, .architecture = elf.architecture(), .readable = true};
  std::map<std::string, std::uint32_t> shared_bytes, thread_limits;
  std::set<std::string> with_parameters, launching;
  for (std::uint64_t i = 0; i < elf.header().e_shnum; ++i) {
    auto const s = elf.section(i);
    if (!s) break;
    std::string const name = elf.name(*s);
    if (auto kernel = after(name, ".text.")) names.kernels.push_back({.name = std::move(*kernel)});
    if (auto kernel = after(name, ".nv.constant0.")) with_parameters.insert(std::move(*kernel));
    if (auto kernel = after(name, ".nv.shared.")) shared_bytes[*kernel] = static_cast<std::uint32_t>(s->sh_size);
    if (auto kernel = after(name, ".nv.info.")) thread_limits[*kernel] = elf.thread_limit(*s);
    for (std::string_view const prefix : {".rel.text.", ".rela.text."})
      if (auto kernel = after(name, prefix); kernel && elf.calls_launch(*s)) launching.insert(std::move(*kernel));
    if (name == ".nv.constant3") names.constant_bytes = static_cast<std::uint32_t>(s->sh_size);
    if (s->sh_type == SHT_SYMTAB) elf.read_variables(*s, names.variables);
  }
  // A device function that was not inlined has code but no bank of parameters.
  if (!with_parameters.empty())
    std::erase_if(names.kernels, [&](auto const& kernel) { return !with_parameters.contains(kernel.name); });
  for (ImageNames::Kernel& kernel : names.kernels) {
    kernel.static_shared_bytes = shared_bytes[kernel.name];
    kernel.thread_limit = thread_limits[kernel.name];
    kernel.launches = launching.contains(kernel.name);
  }
  return names;
}

}  // namespace tidemark::softgpu
