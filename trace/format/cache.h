// SPDX-License-Identifier: Apache-2.0
// The records of a program whose memory is served: what the cache holds, what it has done, and what is in its way.
// `cache` is the number of a cache in its process; a context has one.
#pragma once
#include "trace/format/record.h"

namespace tidemark::trace {

// What a cache holds at a moment: live (with rounding) and requested bytes of its blocks, what it has taken of the
// device, and the largest free range in it.
struct CacheUse {
  static constexpr Tag kTag = Tag::CacheUse;
  std::uint64_t tag : 8 = static_cast<std::uint64_t>(kTag), slots : 8 = 3, reserved4 : 4 = 0, time : 28 = 0,
                      device : 8 = 0, cache : 8 = 0;
  std::uint64_t live_bytes = 0;
  std::uint64_t requested_bytes = 0;
  std::uint64_t reserved_bytes = 0;
  std::uint64_t largest_hole_bytes = 0;
  std::uint64_t reserved64 = 0;
};

// What a cache has done so far.
struct CacheCounts {
  static constexpr Tag kTag = Tag::CacheCounts;
  std::uint64_t tag : 8 = static_cast<std::uint64_t>(kTag), slots : 8 = 3, reserved4 : 4 = 0, time : 28 = 0,
                      device : 8 = 0, cache : 8 = 0;
  std::uint64_t plan_hits = 0;
  std::uint64_t plan_misses = 0;
  std::uint64_t waits_avoided = 0;
  std::uint64_t given_back_bytes = 0;
  std::uint64_t reserved64 = 0;
};

// A live block that keeps free ranges apart, as it was when the CacheUse before it in the chunk was written.
struct Pin {
  static constexpr Tag kTag = Tag::Pin;
  std::uint64_t tag : 8 = static_cast<std::uint64_t>(kTag), slots : 8 = 3, reserved4 : 4 = 0, time : 28 = 0,
                      device : 8 = 0, cache : 8 = 0;
  std::uint64_t address = 0;
  std::uint64_t before_bytes = 0;  // free, up to the next live block or the end of what is mapped
  std::uint64_t after_bytes = 0;
  std::uint64_t given_back_bytes = 0;  // more of whole pages that would be free, were it not there
  std::uint64_t block_bytes = 0;
};

// The program frees a block in one stream's order while work of another that uses it has not ended, and nothing puts
// that work before the free. Layer, phase and step are those of the free; the path is where the work was submitted.
struct LateFree {
  static constexpr Tag kTag = Tag::LateFree;
  enum By : std::uint64_t { Kernel, Copy, Fill };
  std::uint64_t tag : 8 = static_cast<std::uint64_t>(kTag), slots : 8 = 3, by : 4 = 0, time : 28 = 0, device : 8 = 0,
                      reserved8 : 8 = 0;
  std::uint64_t address = 0;
  std::uint64_t size_bytes = 0;
  std::uint64_t used_path : 32 = 0, reserved32 : 32 = 0;
  std::uint64_t freed_stream = 0, used_stream = 0;  // handles; 0: the legacy stream
};

static_assert(sizeof(CacheUse) == 3 * kSlotBytes && sizeof(CacheCounts) == 3 * kSlotBytes &&
              sizeof(Pin) == 3 * kSlotBytes && sizeof(LateFree) == 3 * kSlotBytes);

}  // namespace tidemark::trace
