// SPDX-License-Identifier: Apache-2.0
#include "allocator/core/plan/problem.h"

#include <algorithm>
#include <numeric>

#include "base/bytes.h"

namespace tidemark::plan {
namespace {

bool counts(const Buffer& b) {
  return b.size_bytes > 0 && b.lower < b.upper;
}

std::uint64_t alignment_of(const Buffer& b) {
  return std::max<std::uint64_t>(b.alignment, 1);
}

std::uint64_t coarsest(Buffers buffers) {
  std::uint64_t all = 1;
  for (Buffer const& b : buffers)
    if (counts(b)) all = std::lcm(all, alignment_of(b));
  return all;
}

std::vector<std::uint64_t> starts_of(Buffers buffers, std::uint64_t period) {
  std::vector<std::uint64_t> starts;
  for (Buffer const& b : buffers)
    if (counts(b)) starts.push_back(period == 0 ? b.lower : b.lower % period);
  std::sort(starts.begin(), starts.end());
  starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
  return starts;
}

// The number of the first section at or after an instant.
std::uint64_t section_at(const std::vector<std::uint64_t>& starts, std::uint64_t time, std::uint64_t period) {
  std::uint64_t const round = period == 0 ? 0 : time / period;
  std::uint64_t const within = period == 0 ? time : time % period;
  auto const at = std::lower_bound(starts.begin(), starts.end(), within) - starts.begin();
  return round * starts.size() + static_cast<std::uint64_t>(at);
}

// Where nothing ends between a section and the next one, all that is alive in it is alive in the next one too: it says
// nothing that the other does not say. What remains are the sections before an end. In small problems all are kept:
// there is little to gain, and the lengths of arcs, by which they are ordered, say more with them.
void drop_sections(Problem& p) {
  constexpr std::uint32_t kFew = 1000;
  if (p.sections < kFew) return;
  std::vector<bool> kept(p.sections);
  for (Arc const& a : p.arcs) kept[(a.end - 1) % p.sections] = true;
  std::vector<std::uint32_t> at(p.sections + 1);  // the number of the first that is kept, from each on
  for (std::uint32_t s = 0; s < p.sections; ++s) at[s + 1] = at[s] + (kept[s] ? 1 : 0);
  std::uint32_t const count = at[p.sections];
  auto const moved = [&](std::uint32_t s) { return s / p.sections * count + at[s % p.sections]; };
  for (Arc& a : p.arcs) {
    a.begin = moved(a.begin);
    a.end = moved(a.end);
    if (a.begin < count) continue;  // what begins behind the last end begins the next round
    a.begin -= count;
    a.end -= count;
  }
  p.sections = count;
}

void sum_up(Problem& p) {
  std::vector<std::int64_t> change(2 * static_cast<std::size_t>(p.sections) + 1);
  for (Arc const& a : p.arcs) {
    change[a.begin] += a.size;
    change[a.end] -= a.size;
  }
  p.live.assign(p.sections, 0);
  std::int64_t now = 0;
  for (std::uint32_t s = 0; s < 2 * p.sections; ++s) {
    now += change[s];
    p.live[s % p.sections] += now;
  }
  for (std::int64_t const live : p.live) p.bound = std::max(p.bound, live);
}

}  // namespace

Problem make_problem(Buffers buffers, Shape shape) {
  Problem p;
  p.ring = shape.period != 0;
  auto const starts = starts_of(buffers, shape.period);
  p.sections = static_cast<std::uint32_t>(starts.size());
  std::uint64_t const common = coarsest(buffers);
  std::uint64_t unit = 0;
  for (Buffer const& b : buffers) {
    if (!counts(b)) continue;
    std::uint64_t const size = shape.alike ? round_up(b.size_bytes, common) : b.size_bytes;
    unit = std::gcd(unit, shape.alike ? size : std::gcd(size, alignment_of(b)));
  }
  p.unit_bytes = std::max<std::uint64_t>(unit, 1);
  for (std::uint32_t i = 0; i < buffers.size(); ++i) {
    Buffer const& b = buffers[i];
    if (!counts(b)) continue;
    std::uint64_t const size = shape.alike ? round_up(b.size_bytes, common) : b.size_bytes;
    std::uint64_t const shift = shape.period == 0 ? 0 : b.lower / shape.period * shape.period;
    Arc const arc{.begin = static_cast<std::uint32_t>(section_at(starts, b.lower - shift, shape.period)),
                  .end = static_cast<std::uint32_t>(section_at(starts, b.upper - shift, shape.period)),
                  .size = static_cast<std::int64_t>(size / p.unit_bytes),
                  .alignment = shape.alike ? 1 : static_cast<std::int64_t>(alignment_of(b) / p.unit_bytes)};
    p.aligned &= arc.alignment == 1;
    p.arcs.push_back(arc);
    p.buffer.push_back(i);
  }
  drop_sections(p);
  std::vector<std::uint32_t> order(p.arcs.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return p.arcs[a].begin < p.arcs[b].begin; });
  Problem sorted = p;
  for (std::size_t i = 0; i < order.size(); ++i) {
    sorted.arcs[i] = p.arcs[order[i]];
    sorted.buffer[i] = p.buffer[order[i]];
  }
  sum_up(sorted);
  return sorted;
}

Layout layout_of(const Problem& problem, Buffers buffers, const std::vector<std::int64_t>& offsets) {
  Layout layout;
  layout.offsets.assign(buffers.size(), 0);
  for (std::size_t i = 0; i < problem.arcs.size(); ++i)
    layout.offsets[problem.buffer[i]] = static_cast<std::uint64_t>(offsets[i]) * problem.unit_bytes;
  for (std::size_t i = 0; i < buffers.size(); ++i)
    layout.height = std::max(layout.height, layout.offsets[i] + buffers[i].size_bytes);
  return layout;
}

}  // namespace tidemark::plan
