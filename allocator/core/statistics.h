// SPDX-License-Identifier: Apache-2.0
// What the allocator can tell of itself. Numbers of one moment; with other threads at work, of nearly one.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace tidemark::allocator {

struct Statistics {
  std::uint64_t live_bytes = 0;       // rounded, with the program
  std::uint64_t requested_bytes = 0;  // of those
  std::uint64_t cached_bytes = 0;     // reserved - live: magazines, caches, holes, stock, pending
  std::uint64_t reserved_bytes = 0;
  std::uint64_t pending_bytes = 0;  // freed, and some stream is not past it yet
  std::uint64_t allocations = 0;
  std::uint64_t frees = 0;
  std::uint64_t waits_avoided = 0;  // frees that went on although streams were busy
  std::uint64_t waits = 0;          // for streams, on the way to memory
  std::uint64_t events_recorded = 0;
  std::uint64_t driver_calls = 0;  // that take, give or map memory
  std::uint64_t moved_bytes = 0;   // frames that serve at another address, without a copy
  std::uint64_t extensions = 0;    // searches that ended in a call of the driver
  std::uint64_t inserted_waits = 0;
  std::uint64_t failures = 0;
  std::uint64_t given_back_bytes = 0;  // to the driver, for others, over a cap or after idling
  std::uint64_t filled_bytes = 0;      // freed memory that was filled
  std::uint64_t plan_hits = 0;         // blocks at the place that a plan had for them
  std::uint64_t plan_misses = 0;       // places of a plan that were in use
  std::uint64_t plans_made = 0;        // taken up by the allocator by itself
  std::uint64_t plans_improved = 0;
  std::uint64_t plans_unneeded = 0;  // that would have saved nothing
  std::uint64_t plans_left = 0;      // regions that were given up, because the program did something else or was short
  std::uint64_t plan_search_ns = 0;  // spent on layouts
  std::uint64_t rounding_loss_bytes() const { return live_bytes - requested_bytes; }
};

// Why an allocation failed, at the moment when it did.
struct OutOfMemory {
  std::uint64_t wanted_bytes = 0;
  std::uint64_t live_bytes = 0;
  std::uint64_t reserved_bytes = 0;
  std::uint64_t limit_bytes = 0;
  std::uint64_t driver_free_bytes = 0;
  std::uint64_t hole_bytes = 0;
  std::uint64_t largest_hole_bytes = 0;  // what would have fitted without a new frame
  std::uint64_t held_by_captures_bytes = 0;
};

}  // namespace tidemark::allocator
