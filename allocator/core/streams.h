// SPDX-License-Identifier: Apache-2.0
// How far each stream of a context is. A stream's position counts submissions; it has passed a position when an event
// that was recorded at or behind it is done.
//
// A submission is counted after the driver has taken it. So everything that a position counts stands before an event
// that is recorded later, and everything that a thread submitted before it frees a block is in the position that it
// reads then. Thread-safe; no lock is held while the driver is called. A retired stream's number is used again only
// when nothing waits for it, and its counters go on, so that old stamps stay passed.
#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <vector>

#include "allocator/core/futex_lock.h"
#include "allocator/core/units.h"
#include "allocator/core/upstream.h"
#include "base/reserved.h"

namespace tidemark::allocator {

// A point in a stream.
struct Mark {
  DomainId stream{};
  std::uint64_t position = 0;
};

class Streams {
 public:
  static constexpr std::uint32_t kMost = 1u << 14;

  explicit Streams(Upstream& upstream);
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;
  ~Streams();

  // DomainId::Shared when there are too many.
  DomainId add(StreamHandle handle);
  // Before the driver destroys it: what it still has to do is marked by a last event.
  void retire(DomainId stream);

  bool is_used(DomainId stream) const { return at(stream).used.load(std::memory_order_acquire); }
  void set_used(DomainId stream) { at(stream).used.store(true, std::memory_order_release); }
  void count_submission(DomainId stream) { at(stream).submitted.fetch_add(1, std::memory_order_release); }
  std::uint64_t position(DomainId stream) const { return at(stream).submitted.load(std::memory_order_acquire); }
  std::uint64_t passed(DomainId stream) const { return at(stream).passed.load(std::memory_order_acquire); }
  // What a free in this stream's order has to wait for, elsewhere.
  std::uint64_t stamp(DomainId stream) const {
    return position(stream) + (unseen_.load(std::memory_order_relaxed) ? 1 : 0);
  }
  // From now on work may be submitted that is not counted: every known stream counts as busy, always.
  void expect_unseen() { unseen_.store(true, std::memory_order_relaxed); }
  bool unseen() const { return unseen_.load(std::memory_order_relaxed); }

  // Records an event at the stream's end, unless the last one is there already.
  Status mark(DomainId stream, Mark* mark);
  // Marks of all streams that may be busy. False: one could not be marked, and only synchronize() will tell.
  bool mark_busy(std::vector<Mark>& marks);
  bool passed(const Mark& mark) const { return passed(mark.stream) >= mark.position; }
  // What is behind stands behind: the later stream's next work waits for all that the earlier one has now.
  Status put_before(DomainId earlier, DomainId later);

  // Asks about the oldest events. True: some stream has got further.
  bool poll();
  // Waits for the oldest event of one stream. False: there is none to wait for.
  bool wait_for_one();
  // Waits for all that the stream has now.
  Status wait_for_end(DomainId stream);
  Status synchronize();
  std::uint64_t synchronizations() const { return synchronizations_.load(std::memory_order_acquire); }
  std::uint64_t waits() const { return waits_.load(std::memory_order_relaxed); }
  std::uint64_t events_recorded() const { return recorded_.load(std::memory_order_relaxed); }

  template <class F>
  void for_each(F f) const {
    std::uint32_t const count = count_.load(std::memory_order_acquire);
    for (std::uint32_t i = 1; i < count; ++i) f(static_cast<DomainId>(i));
  }

 private:
  struct Pending {
    std::uint64_t position;
    EventHandle event;
  };
  struct alignas(64) Stream {
    std::atomic<std::uint64_t> submitted{0};
    std::atomic<std::uint64_t> passed{0};
    std::atomic<bool> used{false};
    std::atomic<bool> retired{true};
    StreamHandle handle{};
    std::uint64_t marked = 0;  // under the lock from here on
    std::deque<Pending> pending;
  };
  Stream& at(DomainId stream) const { return *streams_[static_cast<std::size_t>(stream)]; }
  bool take_event(EventHandle* event);
  void give_event(EventHandle event);
  void set_passed(Stream& stream, std::uint64_t position);
  void finish(Stream& stream, const Pending& done);
  bool find_pending(DomainId stream, std::uint64_t position, Pending* found) const;

  Upstream& upstream_;
  mutable FutexLock lock_;
  ReservedArray<Stream*> streams_;
  std::atomic<std::uint32_t> count_{1};
  std::vector<EventHandle> events_;  // idle
  std::atomic<bool> unseen_{false};
  std::atomic<std::uint64_t> synchronizations_{0};
  std::atomic<std::uint64_t> waits_{0};
  std::atomic<std::uint64_t> recorded_{0};
};

}  // namespace tidemark::allocator
