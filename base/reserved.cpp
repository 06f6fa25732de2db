// SPDX-License-Identifier: Apache-2.0
#include "base/reserved.h"

#include <sys/mman.h>

namespace tidemark {

namespace {
constexpr std::size_t kPage = 4096;
}

Reserved Reserved::map(std::size_t bytes) {
  Reserved r;
  void* const p = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) return r;
  ::madvise(p, bytes, MADV_DONTDUMP);
  r.data_ = static_cast<std::byte*>(p);
  r.bytes_ = bytes;
  return r;
}

Reserved::~Reserved() {
  if (data_ != nullptr) ::munmap(data_, bytes_);
}

void Reserved::discard(std::size_t offset, std::size_t bytes) const {
  std::size_t const first = (offset + kPage - 1) / kPage * kPage;
  std::size_t const last = (offset + bytes) / kPage * kPage;
  if (last > first) ::madvise(data_ + first, last - first, MADV_DONTNEED);
}

}  // namespace tidemark
