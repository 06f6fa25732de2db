// SPDX-License-Identifier: Apache-2.0
#include "interpose/serve/checker.h"

#include <stdlib.h>
#include <string.h>

#include <atomic>

#include "interpose/process/process.h"
#include "interpose/real/driver.h"
#include "interpose/serve/cache.h"

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

// A range told in a stream's order is work of that stream: who comes behind it has to wait for it.
void tell(const Checker& c, std::uint64_t address, std::uint64_t bytes, std::uint64_t generation, KnownStream* stream) {
  const void* const at = reinterpret_cast<const void*>(address);
  if (stream == nullptr) return c.at_once(at, bytes, generation);
  submit(*stream);
  c.in_order(at, bytes, generation, stream->cuda.own_default ? CU_STREAM_PER_THREAD : stream->cuda.stream);
  confirm_submission();
}

KnownStream* only_stream(Cache& cache) {
  allocator::DomainId const only = cache.allocator->only_stream();
  return only == allocator::DomainId::Shared ? nullptr : stream_of(cache, only);
}

}  // namespace

bool has_checker() {
  return checker() != nullptr;
}

void tell_checker_served(Cache& cache, std::uint64_t address, std::uint64_t bytes, KnownStream* stream) {
  // New for any range, wherever the blocks that were there before began.
  static constinit std::atomic<std::uint64_t> generations{0};
  const Checker* const c = checker();
  if (c == nullptr) return;
  if (stream == nullptr) stream = only_stream(cache);
  tell(*c, address, bytes, generations.fetch_add(1, std::memory_order_relaxed) + 1, stream);
}

void tell_checker_freed(Cache& cache, std::uint64_t address, std::uint64_t bytes, KnownStream* stream) {
  const Checker* const c = checker();
  // What is filled when it is freed is touched once more: it ends for the checker when somebody else gets it.
  if (c == nullptr || options().cache.poison) return;
  if (stream == nullptr) stream = only_stream(cache);
  if (stream != nullptr || cache.allocator->streams().idle()) tell(*c, address, bytes, 0, stream);
}

}  // namespace tidemark::interpose::serve
