// SPDX-License-Identifier: Apache-2.0
#include "allocator/core/streams.h"

#include <algorithm>
#include <mutex>

namespace tidemark::allocator {

Streams::Streams(Upstream& upstream) : upstream_(upstream), streams_(kMost) {
  streams_[0] = new Stream;  // of nobody: clean and passed, always
}

// Events are the driver's and may be gone with it: whoever ends a context in order calls synchronize() and leaves them.
Streams::~Streams() {
  for (std::uint32_t i = 0; i < count_.load(); ++i) delete streams_[i];
}

DomainId Streams::add(StreamHandle handle) {
  std::lock_guard const guard(lock_);
  std::uint32_t const count = count_.load(std::memory_order_relaxed);
  std::uint32_t id = 1;
  for (; id < count; ++id) {
    const Stream& s = *streams_[id];
    if (s.retired.load(std::memory_order_relaxed) && s.pending.empty() && s.passed.load() >= s.drawn.load() &&
        s.confirmed.load() == s.begun.load())
      break;
  }
  if (id == kMost) return DomainId::Shared;
  if (id == count) {
    streams_[id] = new Stream;
    count_.store(id + 1, std::memory_order_release);
  }
  Stream& s = *streams_[id];
  s.handle = handle;
  s.used.store(false, std::memory_order_relaxed);
  s.retired.store(false, std::memory_order_release);
  return static_cast<DomainId>(id);
}

// Nobody may be submitting to it any more: all that was begun is with the driver.
void Streams::retire(DomainId stream) {
  Stream& s = at(stream);
  Mark last;
  Quiet const end{s.begun.load(std::memory_order_acquire), true};
  if (mark(stream, &last) == Status::Ok) {
    std::lock_guard const guard(lock_);
    set_clean(s, end, last.number);
  }
  s.retired.store(true, std::memory_order_release);
}

void Streams::gone(DomainId stream) {
  Stream& s = at(stream);
  std::uint64_t const begun = s.begun.load(std::memory_order_acquire);
  std::uint64_t const number = s.drawn.fetch_add(1, std::memory_order_acq_rel) + 1;
  finish(s, {.number = number});
  std::lock_guard const guard(lock_);
  set_clean(s, {begun, true}, number);
  s.retired.store(true, std::memory_order_release);
}

bool Streams::take_event(EventHandle* event) {
  {
    std::lock_guard const guard(lock_);
    if (!events_.empty()) {
      *event = events_.back();
      events_.pop_back();
      return true;
    }
  }
  return upstream_.create_event(event) == Status::Ok;
}

void Streams::give_event(EventHandle event) {
  std::lock_guard const guard(lock_);
  events_.push_back(event);
}

Status Streams::mark(DomainId stream, Mark* mark) {
  Stream& s = at(stream);
  mark->stream = stream;
  if (is_clean(s, &mark->number)) return Status::Ok;
  Quiet const quiet = look(s);
  mark->number = s.drawn.fetch_add(1, std::memory_order_acq_rel) + 1;
  // The last event of a retired stream was recorded while it was there.
  if (s.retired.load(std::memory_order_acquire)) return Status::Failed;
  EventHandle event{};
  if (!take_event(&event)) return Status::Failed;
  if (Status const status = upstream_.record(event, s.handle); status != Status::Ok) {
    give_event(event);
    return status;
  }
  recorded_.fetch_add(1, std::memory_order_relaxed);
  std::lock_guard const guard(lock_);
  s.pending.push_back({mark->number, event});
  set_clean(s, quiet, mark->number);
  return Status::Ok;
}

bool Streams::mark_busy(std::vector<Mark>& marks) {
  bool all = true;
  for_each([&](DomainId stream) {
    const Stream& s = at(stream);
    std::uint64_t number = 0;
    if (is_clean(s, &number) && number <= s.passed.load(std::memory_order_acquire)) return;
    if (unseen() && s.retired.load(std::memory_order_acquire)) {
      // Its last event is all there will be.
      if (s.passed.load(std::memory_order_acquire) < s.drawn.load(std::memory_order_acquire))
        marks.push_back({stream, s.drawn.load(std::memory_order_acquire)});
      return;
    }
    Mark made;
    all = mark(stream, &made) == Status::Ok && all;
    marks.push_back(made);
  });
  return all;
}

bool Streams::idle() const {
  bool all = !unseen();
  for_each([&](DomainId stream) { all = all && is_idle(stream); });
  return all;
}

Status Streams::put_before(DomainId earlier, DomainId later) {
  Mark end;
  if (Status const status = mark(earlier, &end); status != Status::Ok) return status;
  if (passed(end)) return Status::Ok;
  Pending last{};
  return find_pending(earlier, end.number, &last) ? wait_in_stream(later, last) : Status::Ok;
}

Status Streams::put_behind(const Mark& earlier, DomainId later) {
  Pending recorded{};
  if (passed(earlier)) return Status::Ok;
  return find_pending(earlier.stream, earlier.number, &recorded) ? wait_in_stream(later, recorded)
                                                                 : put_before(earlier.stream, later);
}

Status Streams::wait_in_stream(DomainId later, const Pending& earlier) {
  // Should the event be done and recorded elsewhere meanwhile, the stream waits a little more than it had to.
  Status const status = upstream_.wait_in_stream(at(later).handle, earlier.event);
  // The wait itself is work of the later stream: stamps behind it cover what it waits for.
  if (status == Status::Ok) {
    begin_submission(later);
    confirm_submission(later);
  }
  return status;
}

void Streams::set_passed(Stream& stream, std::uint64_t number) {
  std::uint64_t now = stream.passed.load(std::memory_order_relaxed);
  while (now < number && !stream.passed.compare_exchange_weak(now, number, std::memory_order_release)) {
  }
}

// The event is done, and with it all with lower numbers, though threads may have put them into the stream in another
// order: a stamp below was drawn before this event's number, and so before it was recorded.
void Streams::finish(Stream& stream, const Pending& done) {
  std::lock_guard const guard(lock_);
  set_passed(stream, done.number);
  auto const covered = std::stable_partition(stream.pending.begin(), stream.pending.end(),
                                             [&](const Pending& p) { return p.number > done.number; });
  for (auto p = covered; p != stream.pending.end(); ++p) events_.push_back(p->event);
  stream.pending.erase(covered, stream.pending.end());
}

bool Streams::find_pending(DomainId stream, std::uint64_t number, Pending* found) const {
  std::lock_guard const guard(lock_);
  for (const Pending& p : at(stream).pending)
    if (p.number >= number) {
      *found = p;
      return true;
    }
  return false;
}

bool Streams::poll() {
  bool moved = false;
  for_each([&](DomainId id) {
    Pending oldest{};
    while (find_pending(id, 0, &oldest) && upstream_.query(oldest.event) == Status::Ok) {
      finish(at(id), oldest);
      moved = true;
    }
  });
  return moved;
}

bool Streams::wait_for_one() {
  bool waited = false;
  for_each([&](DomainId id) {
    Pending oldest{};
    if (waited || !find_pending(id, 0, &oldest) || upstream_.wait(oldest.event) != Status::Ok) return;
    waits_.fetch_add(1, std::memory_order_relaxed);
    finish(at(id), oldest);
    waited = true;
  });
  return waited;
}

Status Streams::wait_for(const Mark& mark) {
  Pending last{};
  // None pending: another thread has seen it pass, or only synchronize() can tell.
  if (passed(mark)) return Status::Ok;
  if (!find_pending(mark.stream, mark.number, &last)) return passed(mark) ? Status::Ok : Status::Failed;
  if (Status const status = upstream_.wait(last.event); status != Status::Ok) return status;
  waits_.fetch_add(1, std::memory_order_relaxed);
  finish(at(mark.stream), last);
  return Status::Ok;
}

Status Streams::wait_for_end(DomainId stream) {
  Mark end;
  if (Status const status = mark(stream, &end); status != Status::Ok) return status;
  return wait_for(end);
}

Status Streams::synchronize() {
  struct Reached {
    Mark mark;
    Quiet quiet;
  };
  std::vector<Reached> reached;
  for_each([&](DomainId id) {
    Stream& s = at(id);
    Quiet const quiet = look(s);
    reached.push_back({{id, s.drawn.fetch_add(1, std::memory_order_acq_rel) + 1}, quiet});
  });
  Status const status = upstream_.synchronize();
  if (status != Status::Ok) return status;
  for (Reached const& r : reached) {
    finish(at(r.mark.stream), {.number = r.mark.number});
    std::lock_guard const guard(lock_);
    set_clean(at(r.mark.stream), r.quiet, r.mark.number);
  }
  synchronizations_.fetch_add(1, std::memory_order_release);
  return Status::Ok;
}

}  // namespace tidemark::allocator
