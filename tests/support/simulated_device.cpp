// SPDX-License-Identifier: Apache-2.0
#include "tests/support/simulated_device.h"

#include <algorithm>
#include <iterator>

namespace tidemark::tests {

namespace {
// Owners are written at steps of this: every page of a block and its first granule are seen.
constexpr std::uint64_t kStep = 256ull << 10;
using Guard = std::lock_guard<std::recursive_mutex>;
std::uint64_t number(auto handle) {
  return static_cast<std::uint64_t>(handle);
}
}  // namespace

FakeUpstream::StreamHandle SimulatedDevice::make_stream() {
  Guard const guard(mutex_);
  streams_[next_];
  return StreamHandle{next_++};
}

void SimulatedDevice::submit(StreamHandle stream, const Work& work) {
  streams_[number(stream)].push_back(work);
  tick();
}

void SimulatedDevice::stamp(StreamHandle stream, std::uint64_t address, std::uint64_t bytes, std::uint64_t owner) {
  Guard const guard(mutex_);
  submit(stream, {.kind = Kind::Stamp, .address = address, .bytes = bytes, .owner = owner});
}

void SimulatedDevice::verify(StreamHandle stream, std::uint64_t address, std::uint64_t bytes, std::uint64_t owner) {
  Guard const guard(mutex_);
  submit(stream, {.kind = Kind::Verify, .address = address, .bytes = bytes, .owner = owner});
}

void SimulatedDevice::tick() {
  if (schedule_ == Schedule::Eager) {
    for (auto& [stream, queue] : streams_)
      while (run_one(stream)) {
      }
  } else if (schedule_ == Schedule::Random) {
    // Now and then one stream catches up a little or a lot: queues are long most of the time.
    if (random_() % 4 != 0 || streams_.empty()) return;
    auto const chosen = std::next(streams_.begin(), static_cast<std::ptrdiff_t>(random_() % streams_.size()));
    for (auto steps = 1u << random_() % 7; steps > 0 && run_one(chosen->first); --steps) {
    }
  }
}

void SimulatedDevice::run(const Work& work) {
  switch (work.kind) {
    case Kind::Record:
      if (events_[work.event].done < work.version) events_[work.event].done = work.version;
      return;
    case Kind::Wait: return;
    case Kind::Fill: return run_fill(work);
    case Kind::Stamp:
    case Kind::Verify: break;
  }
  for (std::uint64_t at = 0; at < work.bytes; at += kStep) {
    auto const where = place(work.address + at);
    if (where.first == 0) {
      violation("queued work reaches unmapped memory");
      return;
    }
    if (work.kind == Kind::Stamp)
      owners_[where] = work.owner;
    else if (owners_[where] != work.owner)
      ++corruptions_;
  }
}

// Every place is overwritten, whoever stamped it and wherever his block began.
void SimulatedDevice::run_fill(const Work& work) {
  constexpr std::uint64_t kPage = 2ull << 20;
  for (std::uint64_t at = work.address; at < work.address + work.bytes;) {
    std::uint64_t const end = std::min(work.address + work.bytes, at / kPage * kPage + kPage);
    auto const where = place(at);
    if (where.first == 0) {
      violation("a fill reaches unmapped memory");
      return;
    }
    auto const stop = owners_.lower_bound({where.first, where.second + (end - at)});
    for (auto owner = owners_.lower_bound(where); owner != stop; ++owner) owner->second = kFilled;
    owners_[where] = kFilled;
    at = end;
  }
}

// False: the stream is empty, or its next work waits for another stream.
bool SimulatedDevice::run_one(std::uint64_t stream) {
  std::deque<Work>& queue = streams_[stream];
  if (queue.empty()) return false;
  Work const work = queue.front();
  if (work.kind == Kind::Wait && events_[work.event].done < work.version) return false;
  queue.pop_front();
  run(work);
  return true;
}

void SimulatedDevice::run_until(std::uint64_t event, std::uint64_t version) {
  while (events_[event].done < version) {
    std::uint64_t stream = events_[event].stream;
    // Follow what the stream itself waits for.
    while (!run_one(stream)) {
      if (streams_[stream].empty()) return;  // recorded anew: this version will never be done
      stream = events_[streams_[stream].front().event].stream;
    }
  }
}

void SimulatedDevice::run_everything() {
  Guard const guard(mutex_);
  for (bool moved = true; moved;) {
    moved = false;
    for (auto& [stream, queue] : streams_)
      while (run_one(stream)) moved = true;
  }
}

std::uint64_t SimulatedDevice::owner_at(std::uint64_t address) const {
  Guard const guard(mutex_);
  auto const found = owners_.find(place(address));
  return found == owners_.end() ? 0 : found->second;
}

std::uint64_t SimulatedDevice::corruptions() const {
  Guard const guard(mutex_);
  return corruptions_;
}

FakeUpstream::Status SimulatedDevice::create_event(EventHandle* event) {
  Guard const guard(mutex_);
  events_[next_];
  *event = EventHandle{next_++};
  return Status::Ok;
}

FakeUpstream::Status SimulatedDevice::record(EventHandle event, StreamHandle stream) {
  Guard const guard(mutex_);
  if (Status const s = FakeUpstream::record(event, stream); s != Status::Ok) return s;
  Event& e = events_[number(event)];
  e.stream = number(stream);
  submit(stream, {.kind = Kind::Record, .event = number(event), .version = ++e.recorded});
  return Status::Ok;
}

FakeUpstream::Status SimulatedDevice::query(EventHandle event) {
  Guard const guard(mutex_);
  tick();
  const Event& e = events_[number(event)];
  return e.done >= e.recorded ? Status::Ok : Status::NotReady;
}

FakeUpstream::Status SimulatedDevice::wait(EventHandle event) {
  Guard const guard(mutex_);
  if (Status const s = FakeUpstream::wait(event); s != Status::Ok) return s;
  run_until(number(event), events_[number(event)].recorded);
  return Status::Ok;
}

FakeUpstream::Status SimulatedDevice::wait_in_stream(StreamHandle stream, EventHandle event) {
  Guard const guard(mutex_);
  submit(stream, {.kind = Kind::Wait, .event = number(event), .version = events_[number(event)].recorded});
  return Status::Ok;
}

FakeUpstream::Status SimulatedDevice::synchronize() {
  run_everything();
  return Status::Ok;
}

FakeUpstream::Status SimulatedDevice::make_stream(StreamHandle* stream) {
  *stream = make_stream();
  return Status::Ok;
}

FakeUpstream::Status SimulatedDevice::fill(const allocator::Fill& fill, StreamHandle stream) {
  Guard const guard(mutex_);
  if (Status const s = FakeUpstream::fill(fill, stream); s != Status::Ok) return s;
  submit(stream, {.kind = Kind::Fill, .address = fill.address, .bytes = fill.bytes});
  return Status::Ok;
}

void SimulatedDevice::before_unmap(std::uint64_t address, std::uint64_t bytes) {
  for (const auto& [stream, queue] : streams_)
    for (const Work& work : queue)
      if (work.kind <= Kind::Fill && work.address < address + bytes && address < work.address + work.bytes)
        violation("unmap: queued work uses the range");
}

}  // namespace tidemark::tests
