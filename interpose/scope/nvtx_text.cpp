// SPDX-License-Identifier: Apache-2.0
#include "interpose/scope/nvtx_text.h"

#include <stddef.h>

#include <cstdint>

#include "interpose/scope/nvtx_meaning.h"

namespace tidemark::interpose {
namespace {

constinit NvtxTexts the_texts;

// The bytes of a character in UTF-8, written to `out`.
std::size_t encode(std::uint32_t c, char out[4]) {
  constexpr std::uint32_t kReplacement = 0xfffd;
  if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) c = kReplacement;
  if (c < 0x80) {
    out[0] = static_cast<char>(c);
    return 1;
  }
  std::size_t const length = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
  for (std::size_t i = length; i > 1; --i, c >>= 6) out[i - 1] = static_cast<char>(0x80 | (c & 0x3f));
  constexpr unsigned char kLead[] = {0, 0, 0xc0, 0xe0, 0xf0};
  out[0] = static_cast<char>(kLead[length] | c);
  return length;
}

}  // namespace

void NvtxText::set(const wchar_t* message) {
  std::size_t length = 0;
  for (; message != nullptr && *message != L'\0'; ++message) {
    char bytes[4];
    std::size_t const count = encode(static_cast<std::uint32_t>(*message), bytes);
    if (length + count > sizeof converted_) break;
    for (std::size_t i = 0; i < count; ++i) converted_[length++] = bytes[i];
  }
  view_ = {converted_, length};
}

NvtxText::NvtxText(const nvtxEventAttributes_t* event) {
  // Older programs have a shorter structure.
  constexpr std::size_t kNeeded = offsetof(nvtxEventAttributes_t, message) + sizeof event->message;
  if (event == nullptr || event->size < kNeeded) return;
  switch (event->messageType) {
    case NVTX_MESSAGE_TYPE_ASCII:
      if (event->message.ascii != nullptr) view_ = event->message.ascii;
      break;
    case NVTX_MESSAGE_TYPE_UNICODE: set(event->message.unicode); break;
    case NVTX_MESSAGE_TYPE_REGISTERED: the_texts.find(event->message.registered, view_); break;
    default: break;
  }
}

NvtxTexts& nvtx_texts() {
  return the_texts;
}

NvtxDomain nvtx_domain(nvtxDomainHandle_t handle) {
  NvtxDomain domain{.id = reinterpret_cast<std::uint64_t>(handle)};
  std::string_view name;
  if (handle != nullptr && the_texts.find(handle, name)) domain.is_a_librarys = nvtx_domain_is_a_librarys(name);
  return domain;
}

}  // namespace tidemark::interpose
