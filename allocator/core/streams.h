// SPDX-License-Identifier: Apache-2.0
// How far each stream of a context is, told by events. Events of a stream are numbered; the number is drawn before the
// event is recorded. Whoever frees a block draws a stamp: the number of the next event. All work that may use the block
// was submitted before the free, and that event is recorded after it: when an event with that number or a later one is
// done, so is the work. Nothing is assumed about when a submission that is under way reaches the driver.
//
// Submissions are counted only to save events: a stream is clean when nothing was begun since an event that was
// recorded while no submission was under way. Frees then share that event. A submission is begun before the driver is
// called, and confirmed after that, at the latest by the next call of the same thread.
//
// Thread-safe; no lock is held while the driver is called. A retired stream's number is used again only when nothing
// waits for it and all that was begun is confirmed; its counters go on, so that old stamps stay passed.
#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <vector>

#include "allocator/core/futex_lock.h"
#include "allocator/core/units.h"
#include "allocator/core/upstream.h"
#include "base/invariant.h"
#include "base/reserved.h"

namespace tidemark::allocator {

// A point in a stream: the number of an event.
struct Mark {
  DomainId stream{};
  std::uint64_t number = 0;
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
  // It has ended with its context, and all its work: nothing waits for it any more.
  void gone(DomainId stream);

  // For work of the allocator's own.
  StreamHandle handle(DomainId stream) const { return at(stream).handle; }
  bool is_retired(DomainId stream) const { return at(stream).retired.load(std::memory_order_acquire); }
  bool is_used(DomainId stream) const { return at(stream).used.load(std::memory_order_acquire); }
  void set_used(DomainId stream) { at(stream).used.store(true, std::memory_order_release); }
  void begin_submission(DomainId stream) { at(stream).begun.fetch_add(1, std::memory_order_acq_rel); }
  void confirm_submission(DomainId stream) {
    [[maybe_unused]] std::uint64_t const before = at(stream).confirmed.fetch_add(1, std::memory_order_acq_rel);
    TIDEMARK_INVARIANT(before < at(stream).begun.load(std::memory_order_acquire));
  }
  std::uint64_t passed(DomainId stream) const { return at(stream).passed.load(std::memory_order_acquire); }
  // The event behind which everything is done that was submitted to this stream before this call.
  std::uint64_t stamp(DomainId stream) const {
    const Stream& s = at(stream);
    std::uint64_t clean = 0;
    return is_clean(s, &clean) ? clean : s.drawn.load(std::memory_order_acquire) + 1;
  }
  // From now on work may be submitted that is not counted: every known stream counts as busy, always.
  void expect_unseen() { unseen_.store(true, std::memory_order_relaxed); }
  bool unseen() const { return unseen_.load(std::memory_order_relaxed); }

  // Records an event at the stream's end, unless the last one stands there already.
  Status mark(DomainId stream, Mark* mark);
  // Marks of all streams that may be busy. False: one could not be marked, and only synchronize() will tell.
  bool mark_busy(std::vector<Mark>& marks);
  // Whether others' later work would wait for an event in this stream.
  bool holds_up_others(DomainId stream) const { return upstream_.holds_up_others(at(stream).handle); }
  bool passed(const Mark& mark) const { return passed(mark.stream) >= mark.number; }
  // What is behind stands behind: the later stream's next work waits for all that the earlier one has now.
  Status put_before(DomainId earlier, DomainId later);
  // The same for what the earlier one had when a stamp was drawn: an event that is recorded already will do.
  Status put_behind(const Mark& earlier, DomainId later);

  // Whether nothing is known to be under way, in one stream or in all. Asks no driver: what is done may not be known
  // yet.
  bool is_idle(DomainId stream) const {
    std::uint64_t number = 0;
    return is_clean(at(stream), &number) && number <= passed(stream);
  }
  bool idle() const;
  // Asks about the oldest events. True: some stream has got further.
  bool poll();
  // Waits for the oldest event of one stream. False: there is none to wait for.
  bool wait_for_one();
  // Waits until a mark is passed.
  Status wait_for(const Mark& mark);
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
    std::uint64_t number;
    EventHandle event;
  };
  struct alignas(64) Stream {
    std::atomic<std::uint64_t> begun{0}, confirmed{0};
    std::atomic<std::uint64_t> drawn{0};   // numbers of events; an event that could not be recorded has one too
    std::atomic<std::uint64_t> passed{0};  // an event with this number is done, or a later one
    std::atomic<std::uint64_t> clean_at{0}, clean_number{0};  // see is_clean()
    std::atomic<bool> used{false};
    std::atomic<bool> retired{true};
    StreamHandle handle{};
    std::deque<Pending> pending;  // under the lock
  };
  // Whether the event with this number stands behind all that was begun. It is written before what it is valid for: who
  // reads the two while they change gets a later event at worst.
  bool is_clean(const Stream& s, std::uint64_t* number) const {
    if (unseen() || s.begun.load(std::memory_order_acquire) != s.clean_at.load(std::memory_order_acquire)) return false;
    *number = s.clean_number.load(std::memory_order_acquire);
    return true;
  }
  // Everything that had begun was with the driver when this was made, and an event is recorded after that.
  struct Quiet {
    std::uint64_t begun = 0;
    bool complete = false;
  };
  static Quiet look(const Stream& s) {
    // In this order: what is confirmed had begun, so equal numbers were equal at the first look.
    std::uint64_t const confirmed = s.confirmed.load(std::memory_order_acquire);
    std::uint64_t const begun = s.begun.load(std::memory_order_acquire);
    return {begun, begun == confirmed};
  }
  // Under the lock. Numbers only grow: what was decided earlier and comes later is dropped.
  static void set_clean(Stream& s, const Quiet& quiet, std::uint64_t number) {
    if (!quiet.complete || number < s.clean_number.load(std::memory_order_relaxed)) return;
    s.clean_number.store(number, std::memory_order_release);
    s.clean_at.store(quiet.begun, std::memory_order_release);
  }
  Stream& at(DomainId stream) const { return *streams_[static_cast<std::size_t>(stream)]; }
  bool take_event(EventHandle* event);
  void give_event(EventHandle event);
  static void set_passed(Stream& stream, std::uint64_t number);
  void finish(Stream& stream, const Pending& done);
  bool find_pending(DomainId stream, std::uint64_t number, Pending* found) const;
  Status wait_in_stream(DomainId later, const Pending& earlier);

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
