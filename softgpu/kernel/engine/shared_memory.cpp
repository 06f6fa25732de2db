// SPDX-License-Identifier: Apache-2.0
#include "softgpu/kernel/engine/shared_memory.h"

#include <link.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "softgpu/kernel/engine/sanitizer.h"
#include "softgpu/kernel/engine/state.h"

namespace tidemark::softgpu {
namespace {

constexpr int kPoison = 0xFF;
constexpr std::size_t kFenceBytes = 128, kAlignment = 1024;
constexpr auto kFence = [] {
  std::array<unsigned char, kFenceBytes> bytes{};
  bytes.fill(0xA7);
  return bytes;
}();

// The calling thread's copy of this library's .tbss: the part of the TLS segment beyond its initial image. CUDA forbids
// initialisers for __shared__, so all of it is here; the engine's own thread_local is initialised, so it is not.
// A program (no library) is left alone: its .tbss may belong to anyone.
std::span<std::byte> tbss_of_this_library() {
  [[maybe_unused]] volatile auto touch = thread_state()->engine;  // the block exists only after a first access
  std::span<std::byte> found;
  dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* out) {
        auto const self = reinterpret_cast<ElfW(Addr)>(&tbss_of_this_library);
        const ElfW(Phdr)* tls = nullptr;
        bool ours = false;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const ElfW(Phdr)& part = info->dlpi_phdr[i];
          if (part.p_type == PT_TLS) tls = &part;
          ours |= part.p_type == PT_LOAD && self - (info->dlpi_addr + part.p_vaddr) < part.p_memsz;
        }
        if (!ours) return 0;
        if (tls && info->dlpi_tls_data && info->dlpi_name && *info->dlpi_name)
          *static_cast<std::span<std::byte>*>(out) = {static_cast<std::byte*>(info->dlpi_tls_data) + tls->p_filesz,
                                                      tls->p_memsz - tls->p_filesz};
        return 1;
      },
      &found);
  return found;
}

}  // namespace

bool checking() {
  static bool const on = [] {
    const char* const text = std::getenv("SOFTGPU_CHECK");
    std::string_view const value = text ? text : "";
    return !value.empty() && value != "0" && value != "off" && value != "false" && value != "no";
  }();
  return on;
}

std::span<std::byte> static_shared_memory() {
  return tbss_of_this_library();
}

SharedMemory::SharedMemory() {
  if (checking()) static_ = static_shared_memory();
}

SharedMemory::~SharedMemory() {
  release();
}

void SharedMemory::release() {
  if (!dynamic_) return;
  sanitizer_unpoison(dynamic_, capacity_bytes_);
  std::free(dynamic_);
  dynamic_ = nullptr;
  capacity_bytes_ = 0;
}

bool SharedMemory::resize(std::size_t dynamic_bytes) {
  std::size_t const wanted = (dynamic_bytes + kFenceBytes + kAlignment - 1) / kAlignment * kAlignment;
  if (wanted > capacity_bytes_) {
    release();
    dynamic_ = static_cast<std::byte*>(std::aligned_alloc(kAlignment, wanted));
    if (!dynamic_) return false;
    capacity_bytes_ = wanted;
  }
  dynamic_bytes_ = dynamic_bytes;
  sanitizer_unpoison(dynamic_, capacity_bytes_);
  std::memcpy(dynamic_ + dynamic_bytes, kFence.data(), kFenceBytes);
  sanitizer_poison(dynamic_ + dynamic_bytes, capacity_bytes_ - dynamic_bytes);
  return true;
}

void SharedMemory::poison() {
  if (!checking()) return;
  std::memset(dynamic_, kPoison, dynamic_bytes_);
  if (!static_.empty()) std::memset(static_.data(), kPoison, static_.size());
}

bool SharedMemory::overrun() const {
  // Cheap enough to look at after every block. AddressSanitizer has its own fence there.
  return !kSanitized && std::memcmp(dynamic_ + dynamic_bytes_, kFence.data(), kFenceBytes) != 0;
}

}  // namespace tidemark::softgpu
