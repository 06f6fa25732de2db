// SPDX-License-Identifier: Apache-2.0
#include "interpose/stack/objects.h"

#include <elf.h>
#include <link.h>
#include <string.h>

#include <algorithm>
#include <string_view>

#include "base/reserved.h"
#include "interpose/stack/object_path.h"
#include "interpose/stack/window.h"

namespace tidemark::interpose {
namespace {

// The GNU note in one segment of notes; empty when there is none.
std::string_view build_id_in(std::uintptr_t at, std::uintptr_t end) {
  while (end - at >= sizeof(ElfW(Nhdr)) && at < end) {
    auto const* const note = reinterpret_cast<const ElfW(Nhdr)*>(at);
    auto const round = [](std::uintptr_t n) { return (n + 3) & ~std::uintptr_t{3}; };
    std::uintptr_t const name = at + sizeof *note, text = name + round(note->n_namesz),
                         next = text + round(note->n_descsz);
    if (next > end || next < at) return {};
    if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
        memcmp(reinterpret_cast<const void*>(name), "GNU", 4) == 0)
      return {reinterpret_cast<const char*>(text), note->n_descsz};
    at = next;
  }
  return {};
}

// The file's own header is mapped at its beginning, with the list of segments behind it.
std::string_view build_id_of(std::uintptr_t begin, std::uintptr_t end, std::uintptr_t bias) {
  constexpr std::uintptr_t kPage = 4096;
  if (!is_readable(begin)) return {};
  auto const* const header = reinterpret_cast<const ElfW(Ehdr)*>(begin);
  if (memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 || header->e_phentsize != sizeof(ElfW(Phdr)) ||
      header->e_phoff + header->e_phnum * sizeof(ElfW(Phdr)) > kPage)
    return {};
  auto const* const segments = reinterpret_cast<const ElfW(Phdr)*>(begin + header->e_phoff);
  for (std::size_t i = 0; i < header->e_phnum; ++i) {
    if (segments[i].p_type != PT_NOTE) continue;
    std::uintptr_t const notes = bias + segments[i].p_vaddr;
    if (notes < begin || notes >= end || segments[i].p_memsz > end - notes) continue;
    if (auto const id = build_id_in(notes, notes + segments[i].p_memsz); !id.empty()) return id;
  }
  return {};
}

std::uint64_t hash(std::string_view text, std::uint64_t h) {
  for (char const c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return h;
}

}  // namespace

// Objects do not overlap, so what has some of the addresses is gone. False when the object is known already.
bool Objects::make_way_for(const Known& fresh) {
  for (std::size_t i = 0; i < count_; ++i)
    if (memcmp(&known_[i], &fresh, sizeof fresh) == 0) return false;
  std::size_t const before = count_;
  for (std::size_t i = count_; i > 0; --i)
    if (known_[i - 1].begin < fresh.end && fresh.begin < known_[i - 1].end) known_[i - 1] = known_[--count_];
  if (count_ != before) ++replaced_;
  return count_ < kMost;
}

void Objects::note(const dl_find_object& found, trace::Dictionary& names, std::uint64_t ticks) {
  if (known_ == nullptr) known_ = reinterpret_cast<Known*>(Reserved::map(kMost * sizeof(Known)).release());
  if (known_ == nullptr) return;
  auto const begin = reinterpret_cast<std::uintptr_t>(found.dlfo_map_start),
             end = reinterpret_cast<std::uintptr_t>(found.dlfo_map_end),
             bias = std::uintptr_t{found.dlfo_link_map->l_addr};
  std::string_view const build_id = build_id_of(begin, end, bias), path = object_path(*found.dlfo_link_map, begin);
  Known const fresh{begin, end, bias, hash(path, hash(build_id, 0xcbf29ce484222325))};
  if (!make_way_for(fresh)) return;
  known_[count_++] = fresh;
  names.object({.begin = begin, .end = end, .bias = bias, .ticks = ticks, .build_id = build_id, .path = path});
}

}  // namespace tidemark::interpose
