// SPDX-License-Identifier: Apache-2.0
// All threads' events of a trace in one order, read as a stream: memory grows with threads and addresses, not with
// events.
//
// The order is that of the stamps, and each thread's own events stay as it wrote them. Where stamps cannot be trusted
// something better decides:
//   - A served address has one owner after the other, counted by its generation. Clocks of two cores may differ by more
//     than a block stays in the cache, so an event whose predecessor at its address has not come yet waits for it.
//   - An observed free is stamped before the real call and an allocation after it, so for one address free <= alloc.
//     Equal stamps: what belongs to the older block comes first, then what the thread with the lower number did.
// Waiting ends after kPatience: the predecessor may be among the events that were lost.
//
// Of a ring the order begins with what its checkpoint says: each block that was alive comes as a Live, at the time of
// its allocation, and then come the events from the checkpoint's beginning on. What is missing is what was freed while
// the checkpoint was taken: the account is whole from its end on.
//
// Invariant of what comes out, whatever the file holds: an allocation or a Live is of an address that is not live, a
// free of one that is, and times never go back. What does not fit is counted, not delivered; see Oddities.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <queue>
#include <set>
#include <unordered_map>
#include <vector>

#include "trace/read/trace.h"

namespace tidemark::trace {

// What is wrong with a trace, though its bytes can be read.
struct Oddities {
  std::uint64_t frees_without_allocation = 0;  // not delivered
  std::uint64_t allocations_of_live = 0;       // the block before was taken to be freed at that moment
  std::uint64_t labels_without_block = 0;      // not delivered
  std::uint64_t total() const { return frees_without_allocation + allocations_of_live + labels_without_block; }
};

struct OrderedEvent {
  Event event;              // its ticks never go back
  std::uint64_t block = 0;  // of Alloc, Live, Free and Label: blocks are counted from 0 in the order in which they come
};

class Ordered {
 public:
  // Longer than clocks of one machine differ, shorter than what one would look at in a timeline.
  static constexpr std::uint64_t kPatienceNs = 1'000'000;

  // The trace must outlive it.
  explicit Ordered(const Trace& trace);
  // False at the end.
  bool next(OrderedEvent& out);
  // Complete at the end.
  const Oddities& oddities() const { return oddities_; }

 private:
  // One thread's events: its chunks, one after the other. Or what a ring begins with.
  struct Lane {
    std::vector<Event> first;
    std::size_t next_first = 0;
    std::vector<std::uint32_t> chunks;
    std::size_t next_chunk = 0;
    ChunkReader reader;
    Event head;
    std::uint64_t ticks = 0;     // of the head, not before the one it follows
    std::uint64_t deadline = 0;  // of the head's waiting
    std::uint64_t awaited = 0;   // what the head waits for, see awaited_by()
    int tries = 0;               // how often the head has been looked at
  };
  struct Place {
    std::uint64_t ticks;
    bool after_frees;  // among equal stamps
    std::uint32_t lane;
    auto operator<=>(const Place&) const = default;
  };
  struct Address {
    std::uint64_t block = 0;  // the latest
    std::uint64_t born = 0;   // when it was allocated
    std::uint8_t owner = 0;   // its generation
    std::uint8_t served = 0;  // the latest generation that was not 0
    bool live = false;
  };
  using Addresses = std::unordered_map<std::uint64_t, Address>;

  void open_lanes();
  void open_past(const Past& past);
  void find_missed(std::vector<Event>& blocks) const;
  bool next_of(Lane& lane);
  bool in_base(const Event& e) const;
  bool explained(const Event& e) const;
  bool advance(Lane& lane);
  void queue(std::uint32_t lane);
  void wait(std::uint32_t lane, std::uint64_t awaited);
  void wake(std::uint64_t awaited);
  bool pick(std::uint32_t& lane, bool& patient);
  bool take(std::uint32_t lane, bool patient, OrderedEvent& out);
  bool apply(const Event& e, Address* known, OrderedEvent& out);
  void begin_owner(const Event& e, Address& known, OrderedEvent& out);
  void end_owner(std::uint64_t address, Address& known, OrderedEvent& out);
  bool apply_label(const Event& e, OrderedEvent& out);
  Address* address_of(const Event& e);
  static std::optional<std::uint64_t> awaited_by(const Event& e, const Address* known);
  Addresses& addresses_of(Class c);

  const Trace& trace_;
  const Base* base_;  // null: the events begin with the trace
  std::uint64_t patience_ticks_;
  std::vector<Lane> lanes_;
  std::priority_queue<Place, std::vector<Place>, std::greater<>> heads_;
  // Lanes whose head came too early for its address: by the time at which waiting ends, and by what they wait for.
  std::set<std::pair<std::uint64_t, std::uint32_t>> deadlines_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> waiting_;
  std::array<Addresses, kSpaceCount> addresses_;
  std::uint64_t blocks_ = 0;
  std::uint64_t now_ = 0;
  Oddities oddities_;
};

}  // namespace tidemark::trace
