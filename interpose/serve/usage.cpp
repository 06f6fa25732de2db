// SPDX-License-Identifier: Apache-2.0
#include "interpose/serve/usage.h"

#include <algorithm>

#include "interpose/process/stage.h"
#include "interpose/record/recorder.h"

namespace tidemark::interpose::serve {

constinit std::atomic<std::uint32_t> detail::use_changes{1};

namespace {

constexpr std::uint64_t kPauseNs = 1'000'000, kPauseOfPinsNs = 100'000'000;
constexpr std::size_t kMostPins = 8;

void write_use(Cache& cache) {
  allocator::Statistics const s = cache.allocator->statistics();
  auto const number = static_cast<std::uint8_t>(cache.number);
  recorder().cache_use({.device = cache.device,
                        .cache = number,
                        .live_bytes = s.live_bytes,
                        .requested_bytes = s.requested_bytes,
                        .reserved_bytes = s.reserved_bytes,
                        .largest_hole_bytes = cache.allocator->arena().use().largest_hole_bytes},
                       {.device = cache.device,
                        .cache = number,
                        .plan_hits = s.plan_hits,
                        .plan_misses = s.plan_misses,
                        .waits_avoided = s.waits_avoided,
                        .given_back_bytes = s.given_back_bytes});
}

void write_pins(Cache& cache) {
  for (allocator::Pin const& pin : allocator::find_pins(cache.allocator->arena(), kMostPins))
    recorder().pin({.device = cache.device,
                    .cache = static_cast<std::uint8_t>(cache.number),
                    .address = pin.address,
                    .before_bytes = pin.before_bytes,
                    .after_bytes = pin.after_bytes,
                    .given_back_bytes = pin.given_back_bytes,
                    .block_bytes = pin.block_bytes});
}

}  // namespace

void detail::write_use_soon(Cache& cache) {
  std::uint64_t const now = trace::monotonic_now_ns();
  std::uint64_t due = cache.note_due_ns.load(std::memory_order_relaxed);
  if (now < due || !recording()) return;
  if (!cache.note_due_ns.compare_exchange_strong(due, now + kPauseNs, std::memory_order_relaxed)) return;
  cache.noted_changes.store(use_changes.load(std::memory_order_relaxed), std::memory_order_relaxed);
  write_use(cache);
  // Where more is taken than ever before, it is of interest what stood in the way of what is free.
  std::uint64_t const taken = cache.allocator->arena().taken_bytes();
  if (taken <= cache.most_noted_bytes.load(std::memory_order_relaxed) ||
      now < cache.pins_due_ns.load(std::memory_order_relaxed))
    return;
  cache.most_noted_bytes.store(taken, std::memory_order_relaxed);
  cache.pins_due_ns.store(now + kPauseOfPinsNs, std::memory_order_relaxed);
  write_pins(cache);
}

void write_use_and_pins(std::uint8_t device) {
  for_each_cache([&](Cache& cache) {
    if (cache.device != device) return;
    write_use(cache);
    write_pins(cache);
  });
}

std::uint64_t kept_bytes(std::uint8_t device) {
  std::uint64_t bytes = 0;
  for_each_cache([&](Cache& cache) {
    if (cache.device == device) bytes += cache.allocator->statistics().cached_bytes;
  });
  return bytes;
}

std::uint64_t largest_hole_bytes(std::uint8_t device) {
  std::uint64_t bytes = 0;
  for_each_cache([&](Cache& cache) {
    if (cache.device == device) bytes = std::max(bytes, cache.allocator->arena().use().largest_hole_bytes);
  });
  return bytes;
}

void write_statistics() {
  if (!has_caches()) return;
  allocator::Statistics all;
  for_each_cache([&](Cache& cache) {
    write_use(cache);
    allocator::Statistics const s = cache.allocator->statistics();
    all.allocations += s.allocations;
    all.driver_calls += s.driver_calls;
    all.events_recorded += s.events_recorded;
    all.waits += s.waits;
    all.waits_avoided += s.waits_avoided;
    all.plan_hits += s.plan_hits;
    all.plan_misses += s.plan_misses;
    all.moved_bytes += s.moved_bytes;
    all.reserved_bytes += s.reserved_bytes;
    all.given_back_bytes += s.given_back_bytes;
    all.filled_bytes += s.filled_bytes;
  });
  auto& names = recorder().names();
  auto const fact = [&](const char* key, std::uint64_t value) { names.fact(key, std::to_string(value)); };
  fact("cache.allocations", all.allocations);
  fact("cache.driver_calls", all.driver_calls);
  fact("cache.events_recorded", all.events_recorded);
  fact("cache.waits", all.waits);
  fact("cache.waits_avoided", all.waits_avoided);
  fact("cache.plan_hits", all.plan_hits);
  fact("cache.plan_misses", all.plan_misses);
  fact("cache.moved_bytes", all.moved_bytes);
  fact("cache.reserved_bytes", all.reserved_bytes);
  fact("cache.given_back_bytes", all.given_back_bytes);
  fact("cache.filled_bytes", all.filled_bytes);
}

}  // namespace tidemark::interpose::serve
