// SPDX-License-Identifier: Apache-2.0
#include "allocator/core/streams.h"

#include <algorithm>
#include <mutex>

namespace tidemark::allocator {

Streams::Streams(Upstream& upstream) : upstream_(upstream), streams_(kMost) {
  streams_[0] = new Stream;  // of nobody: position 0, always passed
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
    if (s.retired.load(std::memory_order_relaxed) && s.pending.empty() && s.passed.load() >= s.submitted.load()) break;
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

void Streams::retire(DomainId stream) {
  Mark last;
  if (position(stream) > passed(stream) || unseen()) mark(stream, &last);
  at(stream).retired.store(true, std::memory_order_release);
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
  // The position is read before the event is recorded: what it counts is with the driver already.
  std::uint64_t const position =
      unseen() ? s.submitted.fetch_add(1, std::memory_order_acq_rel) + 1 : s.submitted.load(std::memory_order_acquire);
  *mark = {stream, position};
  {
    std::lock_guard const guard(lock_);
    if (s.marked >= position) return Status::Ok;
  }
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
  s.pending.push_back({position, event});
  s.marked = std::max(s.marked, position);
  return Status::Ok;
}

bool Streams::mark_busy(std::vector<Mark>& marks) {
  bool all = true;
  for_each([&](DomainId stream) {
    const Stream& s = at(stream);
    bool const busy = s.submitted.load(std::memory_order_acquire) > s.passed.load(std::memory_order_acquire);
    if (!busy && (!unseen() || s.retired.load(std::memory_order_acquire))) return;
    Mark made;
    all = mark(stream, &made) == Status::Ok && all;
    marks.push_back(made);
  });
  return all;
}

Status Streams::put_before(DomainId earlier, DomainId later) {
  Mark end;
  if (Status const status = mark(earlier, &end); status != Status::Ok) return status;
  if (passed(end)) return Status::Ok;
  Pending last{};
  if (!find_pending(earlier, end.position, &last)) return Status::Ok;
  // Should the event be done and recorded elsewhere meanwhile, the stream waits a little more than it had to.
  Status const status = upstream_.wait_in_stream(at(later).handle, last.event);
  // The wait itself is work of the later stream: stamps behind it cover what it waits for.
  if (status == Status::Ok) count_submission(later);
  return status;
}

void Streams::set_passed(Stream& stream, std::uint64_t position) {
  std::uint64_t now = stream.passed.load(std::memory_order_relaxed);
  while (now < position && !stream.passed.compare_exchange_weak(now, position, std::memory_order_release)) {
  }
}

// The event is done, and with it all positions up to its own. Threads may have put their events into the queue in
// another order than into the stream: only positions tell what is covered.
void Streams::finish(Stream& stream, const Pending& done) {
  std::lock_guard const guard(lock_);
  set_passed(stream, done.position);
  auto const covered = std::stable_partition(stream.pending.begin(), stream.pending.end(),
                                             [&](const Pending& p) { return p.position > done.position; });
  for (auto p = covered; p != stream.pending.end(); ++p) events_.push_back(p->event);
  stream.pending.erase(covered, stream.pending.end());
}

bool Streams::find_pending(DomainId stream, std::uint64_t position, Pending* found) const {
  std::lock_guard const guard(lock_);
  for (const Pending& p : at(stream).pending)
    if (p.position >= position) {
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

Status Streams::wait_for_end(DomainId stream) {
  Mark end;
  if (Status const status = mark(stream, &end); status != Status::Ok) return status;
  Pending last{};
  // None pending: another thread has seen it pass.
  if (passed(end) || !find_pending(stream, end.position, &last)) return Status::Ok;
  if (Status const status = upstream_.wait(last.event); status != Status::Ok) return status;
  waits_.fetch_add(1, std::memory_order_relaxed);
  finish(at(stream), last);
  return Status::Ok;
}

Status Streams::synchronize() {
  std::vector<Mark> reached;
  for_each([&](DomainId id) {
    // Unseen work has no number of its own: what is done by now gets one.
    if (unseen()) count_submission(id);
    reached.push_back({id, position(id)});
  });
  Status const status = upstream_.synchronize();
  if (status != Status::Ok) return status;
  for (Mark const& m : reached) {
    finish(at(m.stream), {.position = m.position});
    std::lock_guard const guard(lock_);
    at(m.stream).marked = std::max(at(m.stream).marked, m.position);
  }
  synchronizations_.fetch_add(1, std::memory_order_release);
  return Status::Ok;
}

}  // namespace tidemark::allocator
