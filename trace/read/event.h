// SPDX-License-Identifier: Apache-2.0
// A record with everything that it leaves to its context filled in.
#pragma once
#include <cstdint>

#include "trace/format/cache.h"
#include "trace/format/ring.h"

namespace tidemark::trace {

struct Event {
  // Live: a block that is alive, in a ring; its ticks are those of its allocation.
  enum class Type : std::uint8_t {
    Alloc,
    Free,
    Scope,
    Phase,
    Step,
    Label,
    DeviceUse,
    Failure,
    Kernel,
    Live,
    CacheUse,
    CacheCounts,
    Pin,
    LateFree
  };

  std::uint64_t ticks = 0;
  Type type = Type::Alloc;
  Class block_class = Class::Device;
  Kind kind = Kind::Other;  // of a Label, of a Live
  std::uint8_t generation = 0;
  std::uint8_t source = 0;  // of a DeviceUse; of a Kernel: 1 when its launch was not seen
  std::uint16_t error = 0;  // of a Failure
  std::uint32_t name = 0;   // String: of a Label or a Live, of a Failure's text, of a Kernel
  // The next four have meanings of their own in a CacheUse (live, requested, reserved, largest hole), in CacheCounts
  // (plan hits and misses, waits avoided, bytes given back) and in a Pin (block, before, after, bytes it would give
  // back), whose `generation` is the cache's number; and in a LateFree (block, its bytes, stream of the free, stream of
  // the use), whose `source` is what uses it and `name` the path of that.
  std::uint64_t address = 0;     // of a Kernel: CUPTI's number of its stream; of a DeviceUse: this process's bytes
  std::uint64_t size_bytes = 0;  // of a Failure: what was asked for; of a DeviceUse: used
  // Of an Alloc or a Live: the parent block; of a DeviceUse: total; of a Failure: free; of a Kernel: its duration in
  // ns.
  std::uint64_t other = 0;
  std::uint64_t start_ticks = 0;  // of a Kernel or a Live: `ticks` before they were put in order with other events
  // As it is after this event; of a Kernel: where it was launched, but for the thread; of a Live: at its allocation.
  Context context;
};

Event event_of(const Live& record);

// Reads one chunk's slots event by event, in the order in which they were written. The slots must outlive it.
class ChunkReader {
 public:
  ChunkReader() = default;
  ChunkReader(const ChunkHeader& head, const Slot* begin, const Slot* end)
      : context_(head.context), base_(head.base_ticks), at_(begin), end_(end) {}

  // False at the end of what has been written; `out` is then as it was.
  bool next(Event& out);

 private:
  bool apply(const Slot* at, unsigned slots, Event& out);

  Context context_;
  std::uint64_t base_ = 0;
  const Slot* at_ = nullptr;
  const Slot* end_ = nullptr;
};

}  // namespace tidemark::trace
