// SPDX-License-Identifier: Apache-2.0
#include "softgpu/model/image.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "softgpu/model/image_elf.h"

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
