// SPDX-License-Identifier: Apache-2.0
#include "allocator/core/plan/verify.h"

#include <algorithm>
#include <map>
#include <string>

namespace tidemark::plan {
namespace {

Error flaw(const std::string& what) {
  return {Errc::Corrupt, "not a layout: " + what, "this is a defect of the planner: please report it with its input"};
}

std::string name(std::size_t i) {
  return "buffer " + std::to_string(i);
}

Result<void> check_places(Buffers buffers, const Layout& layout, std::uint64_t capacity) {
  if (layout.offsets.size() != buffers.size()) return flaw("there are buffers without an offset");
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    Buffer const& b = buffers[i];
    std::uint64_t const offset = layout.offsets[i];
    if (b.alignment != 0 && offset % b.alignment != 0) return flaw(name(i) + " is not aligned");
    if (offset > capacity || b.size_bytes > capacity - offset) return flaw(name(i) + " ends beyond the capacity");
    if (offset + b.size_bytes > layout.height) return flaw(name(i) + " ends above the height");
  }
  return {};
}

struct Event {
  std::uint64_t time;
  bool starts;  // at one instant ends come first: intervals are half-open
  std::size_t buffer;
  auto operator<=>(const Event&) const = default;
};

std::vector<Event> events_of(Buffers buffers) {
  std::vector<Event> events;
  events.reserve(2 * buffers.size());
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    if (buffers[i].size_bytes == 0 || buffers[i].lower >= buffers[i].upper) continue;
    events.push_back({buffers[i].lower, true, i});
    events.push_back({buffers[i].upper, false, i});
  }
  std::sort(events.begin(), events.end());
  return events;
}

}  // namespace

Result<void> verify(Buffers buffers, const Layout& layout, std::uint64_t capacity) {
  if (auto placed = check_places(buffers, layout, capacity); !placed.ok()) return placed;
  std::map<std::uint64_t, std::size_t> alive;  // by offset; disjoint, so neighbours are all that can collide
  auto const end_of = [&](std::size_t i) { return layout.offsets[i] + buffers[i].size_bytes; };
  for (Event const& e : events_of(buffers)) {
    std::uint64_t const offset = layout.offsets[e.buffer];
    if (!e.starts) {
      alive.erase(offset);
      continue;
    }
    auto const above = alive.lower_bound(offset);
    if (above != alive.end() && above->first < end_of(e.buffer))
      return flaw(name(above->second) + " and " + name(e.buffer) + " overlap");
    if (above != alive.begin() && end_of(std::prev(above)->second) > offset)
      return flaw(name(std::prev(above)->second) + " and " + name(e.buffer) + " overlap");
    alive.emplace(offset, e.buffer);
  }
  return {};
}

Result<void> verify_repeating(Buffers buffers, std::uint64_t period, const Layout& layout) {
  // Lifetimes of at most one period reach into the next one only: three rounds show every meeting.
  std::vector<Buffer> rounds;
  Layout repeated{.height = layout.height};
  for (std::uint64_t round = 0; round < 3; ++round) {
    for (Buffer b : buffers) {
      if (b.upper - b.lower > period) return flaw("a lifetime is longer than the period");
      b.lower += round * period;
      b.upper += round * period;
      rounds.push_back(b);
    }
    repeated.offsets.insert(repeated.offsets.end(), layout.offsets.begin(), layout.offsets.end());
  }
  return verify(rounds, repeated, layout.height);
}

}  // namespace tidemark::plan
