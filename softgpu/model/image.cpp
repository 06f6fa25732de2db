// SPDX-License-Identifier: Apache-2.0
#include "softgpu/model/image.h"

#include <elf.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>
#include <set>

namespace tidemark::softgpu {
namespace {

// The start of every fat binary, once published in the toolkit's fatbinary.h. What follows it is not.
struct FatbinHeader {
  std::uint32_t magic;
  std::uint16_t version, header_bytes;
  std::uint64_t payload_bytes;
};
constexpr std::uint32_t kFatbinMagic = 0xBA55ED50;
constexpr std::size_t kFatbinAlignment = 8;

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

class Elf {
 public:
  explicit Elf(std::span<const std::byte> bytes) : bytes_(bytes) {
    auto const header = load<Elf64_Ehdr>(bytes, 0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0) return;
    header_ = *header;
    auto const names = section(header_.e_shstrndx);
    valid_ = names.has_value();
    if (valid_) names_at_ = names->sh_offset;
  }

  bool valid() const { return valid_; }
  const Elf64_Ehdr& header() const { return header_; }
  std::uint64_t bytes() const { return header_.e_shoff + std::uint64_t{header_.e_shnum} * sizeof(Elf64_Shdr); }
  std::optional<Elf64_Shdr> section(std::uint64_t i) const {
    return load<Elf64_Shdr>(bytes_, header_.e_shoff + i * sizeof(Elf64_Shdr));
  }
  std::string name(const Elf64_Shdr& section) const { return text_at(bytes_, names_at_ + section.sh_name); }

  // The SM number, as LLVM documents e_flags: in the low byte, since OS ABI 0x41 in the next.
  int architecture() const {
    unsigned const shift = header_.e_ident[EI_OSABI] == 0x41 ? 8 : 0;
    return header_.e_machine == EM_CUDA ? static_cast<int>(header_.e_flags >> shift & 0xff) : 0;
  }

  void read_variables(const Elf64_Shdr& symbols, std::vector<ImageNames::Variable>& out) const {
    auto const strings = section(symbols.sh_link);
    if (!strings) return;
    for (std::uint64_t at = 0; at + sizeof(Elf64_Sym) <= symbols.sh_size; at += sizeof(Elf64_Sym)) {
      auto const symbol = load<Elf64_Sym>(bytes_, symbols.sh_offset + at);
      if (!symbol) break;
      if (ELF64_ST_TYPE(symbol->st_info) == STT_OBJECT && symbol->st_size != 0)
        out.push_back({text_at(bytes_, strings->sh_offset + symbol->st_name), symbol->st_size});
    }
  }

 private:
  std::span<const std::byte> bytes_;
  Elf64_Ehdr header_{};
  std::uint64_t names_at_ = 0;
  bool valid_ = false;
};

// The rest of a section's name, when it begins so.
std::optional<std::string> after(const std::string& name, std::string_view prefix) {
  if (!name.starts_with(prefix)) return std::nullopt;
  return name.substr(prefix.size());
}

ImageNames read_elf(const Elf& elf) {
  if (!elf.valid()) return {};
  ImageNames names{.kind = ImageNames::Kind::Elf, .architecture = elf.architecture(), .readable = true};
  std::map<std::string, std::uint32_t> shared_bytes;
  std::set<std::string> with_parameters;
  for (std::uint64_t i = 0; i < elf.header().e_shnum; ++i) {
    auto const s = elf.section(i);
    if (!s) break;
    std::string const name = elf.name(*s);
    if (auto kernel = after(name, ".text.")) names.kernels.push_back({.name = std::move(*kernel)});
    if (auto kernel = after(name, ".nv.constant0.")) with_parameters.insert(std::move(*kernel));
    if (auto kernel = after(name, ".nv.shared.")) shared_bytes[*kernel] = static_cast<std::uint32_t>(s->sh_size);
    if (name == ".nv.constant3") names.constant_bytes = static_cast<std::uint32_t>(s->sh_size);
    if (s->sh_type == SHT_SYMTAB) elf.read_variables(*s, names.variables);
  }
  // A device function that was not inlined has code but no bank of parameters.
  if (!with_parameters.empty())
    std::erase_if(names.kernels, [&](auto const& kernel) { return !with_parameters.contains(kernel.name); });
  for (ImageNames::Kernel& kernel : names.kernels)
    if (auto const found = shared_bytes.find(kernel.name); found != shared_bytes.end())
      kernel.static_shared_bytes = found->second;
  return names;
}

// The newest that is not newer than the device, else the oldest.
bool better(int candidate, int chosen, int device) {
  bool const fits = candidate <= device, had_fit = chosen <= device;
  if (fits != had_fit) return fits;
  return fits ? candidate > chosen : candidate < chosen;
}

ImageNames read_fatbin(std::span<const std::byte> image, int architecture) {
  std::optional<Elf> chosen;
  for (std::size_t at = 0; at + sizeof(Elf64_Ehdr) <= image.size();) {
    if (std::memcmp(image.data() + at, ELFMAG, SELFMAG) != 0) {
      at += kFatbinAlignment;
      continue;
    }
    Elf const elf(image.subspan(at));
    if (!elf.valid() || elf.architecture() == 0) {
      at += kFatbinAlignment;
      continue;
    }
    if (!chosen || better(elf.architecture(), chosen->architecture(), architecture)) chosen = elf;
    std::uint64_t const past = std::min<std::uint64_t>(elf.bytes(), image.size() - at);
    at += std::max<std::uint64_t>(kFatbinAlignment, past / kFatbinAlignment * kFatbinAlignment);
  }
  ImageNames names = chosen ? read_elf(*chosen) : ImageNames{};
  names.kind = ImageNames::Kind::Fatbin;
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
  FatbinHeader fatbin;
  std::memcpy(&fatbin.magic, image, sizeof fatbin.magic);
  if (fatbin.magic == kFatbinMagic) {
    std::memcpy(&fatbin, image, sizeof fatbin);
    return std::max<std::uint64_t>(sizeof fatbin, fatbin.header_bytes + fatbin.payload_bytes);
  }
  std::span<const std::byte> const front(static_cast<const std::byte*>(image), 4);
  return looks_like_text(front) ? std::strlen(static_cast<const char*>(image)) : 0;
}

ImageNames read_image(std::span<const std::byte> image, int architecture) {
  if (auto const magic = load<std::uint32_t>(image, 0); magic && *magic == kFatbinMagic)
    return read_fatbin(image, architecture);
  if (image.size() >= SELFMAG && std::memcmp(image.data(), ELFMAG, SELFMAG) == 0) return read_elf(Elf(image));
  if (!looks_like_text(image)) return {};
  std::string_view const text(reinterpret_cast<const char*>(image.data()), image.size());
  return text.find(".version") != std::string_view::npos ? read_ptx(text) : ImageNames{};
}

int architecture_in_name(std::string_view mangled, int architecture) {
  constexpr std::string_view kMark = "_SM_";
  auto const mark = mangled.find(kMark);
  if (mark == std::string_view::npos) return 0;
  int chosen = 0, number = 0;
  for (std::size_t i = mark + kMark.size(); i < mangled.size(); ++i) {
    char const c = mangled[i];
    if (c >= '0' && c <= '9' && number < 10000) {
      number = number * 10 + (c - '0');
      continue;
    }
    if (c != '_' || number == 0) break;
    if (chosen == 0 || better(number / 10, chosen, architecture)) chosen = number / 10;
    number = 0;
  }
  return chosen;
}

}  // namespace tidemark::softgpu
