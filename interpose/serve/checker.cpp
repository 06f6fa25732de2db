// SPDX-License-Identifier: Apache-2.0
#include "interpose/serve/checker.h"

#include <stdlib.h>
#include <string.h>

#include <atomic>

#include "interpose/real/driver.h"
#include "interpose/serve/streams.h"

namespace tidemark::interpose::serve {
namespace {

struct Checker {
  void (*at_once)(const void*, std::size_t, std::uint64_t) = nullptr;
  void (*in_order)(const void*, std::size_t, std::uint64_t, void*) = nullptr;
};

const Checker* checker() {
  static Checker const found{reinterpret_cast<decltype(Checker::at_once)>(driver_symbol("softgpu_range")),
                             reinterpret_cast<decltype(Checker::in_order)>(driver_symbol("softgpu_range_async"))};
  static bool const on = [] {
    const char* const asked = getenv("SOFTGPU_CHECK");
    return asked != nullptr && strcmp(asked, "1") == 0 && found.at_once != nullptr && found.in_order != nullptr;
  }();
  return on ? &found : nullptr;
}

void tell(const Checker& c, std::uint64_t address, std::uint64_t bytes, std::uint64_t generation,
          const KnownStream* stream) {
  const void* const at = reinterpret_cast<const void*>(address);
  if (stream == nullptr)
    c.at_once(at, bytes, generation);
  else
    c.in_order(at, bytes, generation, stream->cuda.stream);
}

}  // namespace

void tell_checker_served(std::uint64_t address, std::uint64_t bytes, const KnownStream* stream) {
  // New for any range, wherever the blocks that were there before began.
  static constinit std::atomic<std::uint64_t> generations{0};
  if (const Checker* const c = checker())
    tell(*c, address, bytes, generations.fetch_add(1, std::memory_order_relaxed) + 1, stream);
}

void tell_checker_freed(std::uint64_t address, std::uint64_t bytes, const KnownStream* stream) {
  if (const Checker* const c = checker()) tell(*c, address, bytes, 0, stream);
}

}  // namespace tidemark::interpose::serve
