// SPDX-License-Identifier: Apache-2.0
#include "softgpu/queue/engine.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/invariant.h"
#include "softgpu/interface/front.h"
#include "softgpu/queue/checker.h"
#include "softgpu/queue/host_thread.h"

namespace tidemark::softgpu {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

// A card's own queue is bounded too: beyond this, submitting makes the stream move.
constexpr std::size_t kLongestQueue = 1024;
// Long enough for any host function that does not wait for the program; then its end has a fixed place in the order.
constexpr milliseconds kHostFunctionGrace{20};
constexpr Nanos kSilence = 3'000'000'000;
constexpr Nanos kSpinBelow = 60'000;

void tell_observer(const Stream& stream, const Item& item) {
  const SoftgpuObserver* const who = observer();
  if (who == nullptr) return;
  SoftgpuWorkEvent& event = *item.observed;
  event.name = item.name;
  event.device = stream.group->device_ordinal;
  event.context = stream.group->id;
  if (event.stream == 0) event.stream = stream.id;
  event.queued_ns = item.submitted;
  event.start_ns = item.ticket->start;
  event.end_ns = item.ticket->finish;
  who->work(&event);
}

}  // namespace

Engine::Engine(const Config& config, Checker* checker)
    : config_(config), checker_(checker), clock_(config.clock, config.item_ns), random_(config.seed) {}

void Engine::add_implicit_waits(const Stream& stream, std::vector<Ref<Ticket>>& waits) const {
  auto const add = [&](const Stream& other) {
    if (other.last && (!other.last->executed || other.last->finish > clock_.now())) waits.push_back(other.last);
  };
  StreamGroup const& group = *stream.group;
  if (&stream == group.legacy) {
    for (Stream const* other : group.streams)
      if (other->blocking) add(*other);
  } else if (stream.blocking && group.legacy != nullptr) {
    add(*group.legacy);
  }
}

void Engine::learn(Stream& stream, const std::vector<Ref<Ticket>>& waits) {
  for (auto const& wait : waits) {
    // Who knows an item knows all that the item's stream knew then.
    if (ordered_before(*wait, stream)) continue;
    auto merged = std::make_shared<Knowledge>();
    auto const raise = [&](std::uint64_t id, std::uint64_t sequence) {
      if (!known_streams_.contains(id)) return;
      std::uint64_t& known = (*merged)[id];
      known = std::max(known, sequence);
    };
    if (stream.knowledge)
      for (auto const& [id, sequence] : *stream.knowledge) raise(id, sequence);
    if (wait->knowledge)
      for (auto const& [id, sequence] : *wait->knowledge) raise(id, sequence);
    raise(wait->stream_id, wait->sequence);
    stream.knowledge = std::move(merged);
  }
}

bool Engine::ordered_before(const Ticket& ticket, const Stream& stream) {
  if (ticket.stream_id == stream.id) return true;
  if (!stream.knowledge) return false;
  auto const known = stream.knowledge->find(ticket.stream_id);
  return known != stream.knowledge->end() && known->second >= ticket.sequence;
}

Ref<Ticket> Engine::submit(Lock& lock, Stream& stream, Item item) {
  Ref<Ticket> ticket = enqueue(stream, std::move(item));
  after_submit(lock, stream);
  return ticket;
}

Ref<Ticket> Engine::enqueue(Stream& stream, Item item) {
  ++activity_;
  item.ticket = make_ref<Ticket>();
  item.ticket->stream = &stream;
  item.submitted = clock_.now();
  add_implicit_waits(stream, item.waits);
  learn(stream, item.waits);
  Ref<Ticket> ticket = item.ticket;
  ticket->stream_id = stream.id;
  ticket->sequence = ++stream.sequence;
  if (stream.sequence == 1) known_streams_.insert(stream.id);
  ticket->knowledge = stream.knowledge;
  stream.last = ticket;
  stream.pending.push_back(std::move(item));
  ++pending_;
  if (!stream.queued) {
    stream.queued = true;
    listed_.push_back(&stream);
  }
  return ticket;
}

void Engine::after_submit(Lock& lock, Stream& stream) {
  switch (config_.schedule) {
    case Schedule::Eager:
      while (is_ready(stream)) execute_front(lock, stream);
      if (pending_ != 0)
        while (run_any(lock)) {
        }
      return;
    case Schedule::Random:
      start_background_progress();
      while ((random_() & 1) != 0 && run_random(lock)) {
      }
      break;
    case Schedule::Late: start_background_progress(); break;
  }
  while (stream.pending.size() > kLongestQueue && run_needed(lock, stream)) {
  }
}

bool Engine::is_ready(const Stream& stream) const {
  if (stream.running || stream.pending.empty()) return false;
  Item const& front = stream.pending.front();
  for (auto const& wait : front.waits)
    if (!wait->executed) return false;
  // After a fault nothing of the context runs any more, and nothing waits for a word that nobody will write.
  return !front.ready || stream.group->error != 0 || front.ready();
}

void Engine::unlist(Stream& stream) {
  stream.queued = false;
  listed_.erase(std::find(listed_.begin(), listed_.end(), &stream));
}

void Engine::execute_front(Lock& lock, Stream& stream) {
  Item item = std::move(stream.pending.front());
  stream.pending.pop_front();
  if (stream.pending.empty()) unlist(stream);
  stream.running = true;
  if (item.kind == ItemKind::Host) {
    post_host_item(lock, stream, std::move(item));
    return;
  }
  if (checker_ != nullptr) checker_->before(item, stream);
  Nanos const began = clock_.now();
  int error = 0;
  // After a fault the context is dead: what was queued behind it never runs.
  if (item.precheck && stream.group->error == 0) error = item.precheck();
  if (item.run && error == 0 && stream.group->error == 0) {
    if (item.run_locked) {
      error = item.run();
    } else {
      ++bodies_running_;
      lock.unlock();
      error = item.run();
      lock.lock();
      --bodies_running_;
    }
  }
  finish(stream, item, error, began);
}

Nanos Engine::earliest_start(const Stream& stream, const Item& item, Nanos began) const {
  Nanos start = std::max(stream.ready_at, clock_.simulated() ? item.submitted : began);
  for (auto const& wait : item.waits) start = std::max(start, wait->finish);
  return start;
}

Nanos Engine::cost(const Item& item, Nanos began) const {
  if (item.kind == ItemKind::Kernel && config_.kernel_time_set) return config_.kernel_ns;
  if (!clock_.simulated()) return clock_.now() - began;
  return item.kind == ItemKind::Marker || item.kind == ItemKind::Memory ? 0 : clock_.item_ns();
}

void Engine::finish(Stream& stream, Item& item, int error, Nanos began) {
  Ticket& ticket = *item.ticket;
  ticket.start = earliest_start(stream, item, began);
  ticket.finish = ticket.start + cost(item, began);
  ticket.executed = true;
  ticket.stream = nullptr;
  stream.ready_at = ticket.finish;
  stream.running = false;
  --pending_;
  if (item.observed && error == 0 && stream.group->error == 0) tell_observer(stream, item);
  if (error != 0 && stream.group->error == 0) stream.group->error = error;
  changed_.notify_all();
}

// The stream stays `running` until the host thread has called the function: it may wait for the program, so the caller
// must not wait for it here (but for a moment, which fixes the order for functions that do not wait).
void Engine::post_host_item(Lock& lock, Stream& stream, Item item) {
  Nanos const start = earliest_start(stream, item, clock_.now());
  Ref<Ticket> const ticket = item.ticket;
  auto shared = std::make_shared<Item>(std::move(item));
  run_on_host_thread([this, &stream, shared, start] {
    if (!clock_.simulated()) {
      Nanos const now = monotonic_ns();
      if (start > now) std::this_thread::sleep_for(nanoseconds(start - now));
    }
    bool dead = false;
    {
      Lock const check(mutex_);
      dead = stream.group->error != 0 && !shared->run_always;
    }
    int const error = dead ? 0 : shared->run();
    Lock inner(mutex_);
    finish(stream, *shared, error, start);
    if (config_.schedule == Schedule::Eager)
      while (run_any(inner)) {
      }
  });
  if (config_.schedule != Schedule::Eager)
    changed_.wait_for(lock, kHostFunctionGrace, [&] { return ticket->executed; });
}

bool Engine::run_any(Lock& lock) {
  for (Stream* stream : listed_) {
    if (!is_ready(*stream)) continue;
    execute_front(lock, *stream);
    return true;
  }
  return false;
}

bool Engine::run_random(Lock& lock) {
  std::vector<Stream*> ready;
  for (Stream* stream : listed_)
    if (is_ready(*stream)) ready.push_back(stream);
  if (ready.empty()) return false;
  execute_front(lock, *ready[random_() % ready.size()]);
  return true;
}

// The next item that brings this stream forward: its own front, or what that front waits for. Each stream is looked at
// once: there may be more ways through a web of waits than there are nanoseconds.
bool Engine::run_needed(Lock& lock, Stream& stream) {
  std::uint64_t const search = ++searches_;
  std::vector<Stream*> open{&stream};
  while (!open.empty()) {
    Stream& next = *open.back();
    open.pop_back();
    if (next.search == search || next.running || next.pending.empty()) continue;
    next.search = search;
    if (is_ready(next)) {
      execute_front(lock, next);
      return true;
    }
    auto const& waits = next.pending.front().waits;
    for (auto wait = waits.rbegin(); wait != waits.rend(); ++wait)
      if (!(*wait)->executed) open.push_back((*wait)->stream);
  }
  return false;
}

bool Engine::make_progress(Lock& lock, Stream& needed) {
  switch (config_.schedule) {
    case Schedule::Eager: return run_any(lock);
    case Schedule::Random: return run_random(lock);
    case Schedule::Late: return run_needed(lock, needed);
  }
  return false;
}

bool Engine::query(Lock& lock, const Ref<Ticket>& ticket) {
  ++activity_;
  if (!ticket || done(*ticket)) return true;
  if (!ticket->executed) make_progress(lock, *ticket->stream);
  clock_.tick();
  return false;
}

void Engine::wait(Lock& lock, const Ref<Ticket>& ticket) {
  ++activity_;
  if (!ticket) return;
  while (!ticket->executed)
    // The time-out is for conditions that no item announces: a value that the program writes to memory.
    if (!make_progress(lock, *ticket->stream)) changed_.wait_for(lock, milliseconds(1));
  // What this thread's work has unblocked may have been submitted by threads that are not waiting.
  if (config_.schedule == Schedule::Eager && pending_ != 0)
    while (run_any(lock)) {
    }
  if (clock_.simulated()) {
    clock_.advance_to(ticket->finish);
  } else {
    sleep_until(lock, ticket->finish);
  }
}

void Engine::sleep_until(Lock& lock, Nanos t) {
  Nanos now = monotonic_ns();
  if (t <= now) return;
  lock.unlock();
  if (t - now > kSpinBelow) std::this_thread::sleep_for(nanoseconds(t - now - kSpinBelow));
  while (monotonic_ns() < t) {
  }
  lock.lock();
}

void Engine::wait_stream(Lock& lock, Stream& stream) {
  wait(lock, Ref<Ticket>(stream.last));
}

void Engine::wait_group(Lock& lock, StreamGroup& group) {
  std::vector<Ref<Ticket>> tickets;
  if (group.legacy != nullptr && group.legacy->last) tickets.push_back(group.legacy->last);
  for (Stream const* stream : group.streams)
    if (stream->last) tickets.push_back(stream->last);
  for (auto const& ticket : tickets) wait(lock, ticket);
}

bool Engine::idle(const StreamGroup& group) const {
  if (group.legacy != nullptr && !idle(*group.legacy)) return false;
  return std::all_of(group.streams.begin(), group.streams.end(), [this](const Stream* s) { return idle(*s); });
}

void Engine::start_background_progress() {
  if (background_started_) return;
  background_started_ = true;
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread([this] { background_progress(); }).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void Engine::background_progress() {
  std::uint64_t seen = 0;
  Nanos since = monotonic_ns();
  for (;;) {
    std::this_thread::sleep_for(milliseconds(100));
    Lock lock(mutex_);
    if (activity_ != seen || pending_ == 0 || bodies_running_ != 0) {
      seen = activity_;
      since = monotonic_ns();
      continue;
    }
    if (monotonic_ns() - since < kSilence) continue;
    while (activity_ == seen && (config_.schedule == Schedule::Random ? run_random(lock) : run_any(lock))) {
    }
  }
}

}  // namespace tidemark::softgpu
