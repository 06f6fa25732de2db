// SPDX-License-Identifier: Apache-2.0
#include "interpose/watch/cupti_name.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>

namespace tidemark::interpose {
namespace {

constexpr std::uint64_t kPage = 4096;

// All of it lies in one page.
bool copy_bytes(std::uint64_t address, char* out, std::size_t bytes) {
  iovec const to{.iov_base = out, .iov_len = bytes};
  iovec const from{.iov_base = reinterpret_cast<void*>(address), .iov_len = bytes};
  if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) == static_cast<ssize_t>(bytes)) return true;
  // Where a container forbids the call, CUPTI has to be trusted.
  if (errno != EPERM && errno != ENOSYS) return false;
  memcpy(out, reinterpret_cast<const void*>(address), bytes);
  return true;
}

}  // namespace

std::optional<std::string_view> copy_text(std::uint64_t address, std::span<char> out) {
  std::size_t length = 0;
  while (address != 0 && length < out.size()) {
    std::uint64_t const at = address + length;
    std::size_t const bytes = std::min<std::size_t>(kPage - at % kPage, out.size() - length);
    if (!copy_bytes(at, out.data() + length, bytes)) break;
    if (void* const zero = memchr(out.data() + length, 0, bytes))
      return std::string_view(out.data(), static_cast<std::size_t>(static_cast<char*>(zero) - out.data()));
    length += bytes;
  }
  if (length < out.size()) return std::nullopt;
  return std::string_view(out.data(), length);
}

std::uint32_t KernelNames::find(std::uint64_t address, trace::Dictionary& names) {
  Known& known = known_[(address * 0x9e3779b97f4a7c15 >> 40) % known_.size()];
  if (known.address == address) return known.name;
  char text[trace::kLongestText];
  auto const copied = copy_text(address, text);
  known = {address, copied ? names.string(*copied) : 0};
  return known.name;
}

}  // namespace tidemark::interpose
