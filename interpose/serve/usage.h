// SPDX-License-Identifier: Apache-2.0
// What the caches hold and do, for the trace. Written when what they have taken of a device has changed, a thousand
// times a second at most, at every failure and at the program's end. Any thread.
#pragma once
#include <atomic>
#include <cstdint>

#include "allocator/core/diagnosis.h"
#include "interpose/serve/cache.h"

namespace tidemark::interpose::serve {

namespace detail {
extern constinit std::atomic<std::uint32_t> use_changes;
void write_use_soon(Cache& cache);
}  // namespace detail

// A cache has taken or given memory.
inline void use_changed() {
  detail::use_changes.fetch_add(1, std::memory_order_relaxed);
}
// When a call of the program's is over: nothing where nothing has changed.
inline void note_use(Cache& cache) {
  if (cache.noted_changes.load(std::memory_order_relaxed) != detail::use_changes.load(std::memory_order_relaxed))
      [[unlikely]]
    detail::write_use_soon(cache);
}
// At once, with the blocks that keep free memory apart.
void write_use_and_pins(std::uint8_t device);
// What caches of a device keep free: taken of it, and in no live block.
std::uint64_t kept_bytes(std::uint8_t device);
// The largest range of it.
std::uint64_t largest_hole_bytes(std::uint8_t device);
// f(const allocator::Pin&) for the blocks that cost a device's caches most, `most` of each.
template <class F>
void for_each_pin(std::uint8_t device, std::size_t most, F f) {
  for_each_cache([&](Cache& cache) {
    if (cache.device != device) return;
    for (allocator::Pin const& pin : allocator::find_pins(cache.allocator->arena(), most)) f(pin);
  });
}
// At the end: what all of them hold, and facts about what they did.
void write_statistics();

}  // namespace tidemark::interpose::serve
