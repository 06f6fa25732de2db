// SPDX-License-Identifier: Apache-2.0
// The facts of one block, hole or unmapped range. They stand beside the device's memory, never in it.
//
// Who may touch a record depends on its state:
//   Live, Cached, Pending, Held   the thread that holds the block (Live: whoever frees it wins the state's exchange;
//                                 Cached: the owner of the magazine or the cache's lock; Pending, Held: the streams'
//                                 lock)
//   Hole, Unmapped, Busy          the arena's lock (Busy: the thread that moves it, for all but its place in the
//                                 tiling)
//   Idle                          the holder of the lease, and so is everything else of a place in a lease but its
//                                 owner's: such records stand beside the tiling, and several may begin at one offset
// `before`, `after`, `offset` and `granules` change only under the arena's lock, and `offset` and `granules` never
// while a block is Live … Held. `address` and `state` may be read by anybody.
#pragma once
#include <atomic>
#include <cstdint>

#include "allocator/core/units.h"
#include "base/reserved.h"

namespace tidemark::allocator {

enum class State : std::uint8_t {
  None,      // the record is not in use
  Live,      // the program has it
  Cached,    // free, kept at its size in a magazine or an exact-size cache
  Pending,   // free, waits for streams to pass
  Held,      // free, waits for a capture or its graphs to end
  Hole,      // free and mapped, in the arena's index
  Unmapped,  // address space without memory
  Busy,      // on its way between two of these, while the driver is asked
  Idle,      // a place of a lease without a block (lease.h)
};

struct Record {
  std::atomic<std::uint64_t> address{0};
  Granules offset = 0;
  Granules granules = 0;
  std::uint32_t before = 0;  // neighbours in the address order of the zone; 0: none
  std::uint32_t after = 0;
  // Links of whatever holds it: an index, a cache, a batch. While it is Live, `left` is the number under which the
  // pilot knows it (0: it does not), and `right` the place of a lease.
  std::uint32_t left = 0;
  std::uint32_t right = 0;
  std::uint64_t stamp = 0;        // the event of the domain's stream (Shared: of the sole one) behind which it is free
  std::uint32_t slack_bytes = 0;  // rounded - requested
  std::uint32_t used = 0;         // the arena's tick when it was last made free
  std::uint32_t capture = 0;      // handed out during this capture; 0: none
  DomainId domain{};
  std::atomic<State> state{State::None};
  std::uint8_t generation = 0;  // owners of this address so far, 1 … 255 and again 1
  Lifetime lifetime = Lifetime::Unknown;
  bool whole = false;               // a driver's block of its own
  bool planned = false;             // at a place that a plan has chosen
  std::atomic<bool> leased{false};  // and in a lease; the holder's lock decides when this is seen to be over
  Granules end() const { return offset + granules; }
};
static_assert(sizeof(Record) == 64);

// A pool of records in memory that is only touched where used. Number 0 is none. The owner locks, but `at` may be
// called by anybody with a number that was handed out once.
class RecordTable {
 public:
  static constexpr std::uint32_t kCapacity = 1u << 22;

  RecordTable() : records_(kCapacity) {}
  explicit operator bool() const { return static_cast<bool>(records_); }
  Record& at(std::uint32_t id) { return records_[id]; }
  const Record& at(std::uint32_t id) const { return records_[id]; }
  std::uint32_t id(const Record& record) const { return static_cast<std::uint32_t>(&record - &records_[0]); }
  // Null when the table is full.
  Record* make();
  void drop(Record& record);
  std::uint32_t in_use() const { return in_use_; }

 private:
  ReservedArray<Record> records_;
  std::uint32_t next_ = 1;
  std::uint32_t free_ = 0;  // chained by `right`
  std::uint32_t in_use_ = 0;
};

}  // namespace tidemark::allocator
