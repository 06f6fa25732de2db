// SPDX-License-Identifier: Apache-2.0
#include "interpose/order/clocks.h"

#include <algorithm>

namespace tidemark::interpose::order {

void Clocks::raise(Row& row, const Row& by) {
  for (std::size_t i = 0; i < row.size(); ++i) row[i] = std::max(row[i], by[i]);
}

// A number that serves again keeps its clock: what was done under it before stays in the past.
int Clocks::add(Kind kind) {
  for (int i = 0; i < kMost; ++i) {
    Stream& s = streams_[static_cast<std::size_t>(i)];
    if (s.used) continue;
    Time const clock = s.after[static_cast<std::size_t>(i)];
    s = {.used = true, .kind = kind};
    s.after[static_cast<std::size_t>(i)] = clock;
    return i;
  }
  return kUntold;
}

void Clocks::remove(int stream) {
  if (stream != kUntold) streams_[static_cast<std::size_t>(stream)].used = false;
}

// The legacy stream's work comes behind that of all blocking streams, and their next work behind it.
void Clocks::heed_legacy(Stream& stream) {
  if (stream.kind == Kind::Blocking) raise(stream.after, legacy_);
  if (stream.kind != Kind::Legacy) return;
  for (const Stream& other : streams_)
    if (other.kind != Kind::NonBlocking) raise(stream.after, other.after);
}

Clocks::Time Clocks::work(int stream) {
  if (stream == kUntold) return 0;
  Stream& s = streams_[static_cast<std::size_t>(stream)];
  heed_legacy(s);
  Time const time = ++s.after[static_cast<std::size_t>(stream)];
  if (s.kind == Kind::Legacy) raise(legacy_, s.after);
  return time;
}

// An event in the legacy stream stands behind blocking streams as work there would.
void Clocks::record(std::uint64_t event, int stream) {
  if (stream == kUntold) return forget(event);
  Stream& s = streams_[static_cast<std::size_t>(stream)];
  heed_legacy(s);
  events_[event] = s.after;
}

void Clocks::forget(std::uint64_t event) {
  events_.erase(event);
}

void Clocks::wait(int stream, std::uint64_t event) {
  if (stream == kUntold) return;
  auto const found = events_.find(event);
  if (found == events_.end()) return wait_for_anything(stream);
  raise(streams_[static_cast<std::size_t>(stream)].after, found->second);
}

void Clocks::wait_for_anything(int stream) {
  if (stream == kUntold) return;
  Row& after = streams_[static_cast<std::size_t>(stream)].after;
  for (std::size_t i = 0; i < after.size(); ++i) after[i] = std::max(after[i], streams_[i].after[i]);
}

void Clocks::host_waited(int stream) {
  if (stream == kUntold) return host_waited_for_all();
  Stream& s = streams_[static_cast<std::size_t>(stream)];
  heed_legacy(s);
  raise(done_, s.after);
}

void Clocks::host_waited_for(std::uint64_t event) {
  auto const found = events_.find(event);
  if (found == events_.end()) return host_waited_for_all();
  raise(done_, found->second);
}

void Clocks::host_waited_for_all() {
  for (std::size_t i = 0; i < done_.size(); ++i) done_[i] = std::max(done_[i], streams_[i].after[i]);
}

bool Clocks::is_before(int stream, Time time, int later) const {
  if (stream == kUntold || later == kUntold || stream == later) return true;
  auto const i = static_cast<std::size_t>(stream);
  const Stream& l = streams_[static_cast<std::size_t>(later)];
  if (done_[i] >= time || l.after[i] >= time) return true;
  // Its next work would come behind these too.
  if (l.kind == Kind::Blocking) return legacy_[i] >= time;
  if (l.kind != Kind::Legacy) return false;
  return std::any_of(streams_.begin(), streams_.end(),
                     [&](const Stream& s) { return s.kind != Kind::NonBlocking && s.after[i] >= time; });
}

}  // namespace tidemark::interpose::order
