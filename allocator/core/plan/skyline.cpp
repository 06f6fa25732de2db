// SPDX-License-Identifier: Apache-2.0
#include "allocator/core/plan/skyline.h"

#include <algorithm>
#include <bit>

#include "base/invariant.h"

namespace tidemark::plan {
namespace {
constexpr std::uint64_t kWays = 4;
}

// A run of the profile costs some ways down the tree of what waits.
Skyline::Skyline(const Problem& problem, Effort& effort)
    : problem_(problem), effort_(effort), step_looks_(kWays * std::bit_width(problem.arcs.size())), waiting_(problem) {}

std::uint32_t Skyline::add(Run run) {
  auto const id = static_cast<std::uint32_t>(runs_.size());
  if (run.begin >= problem_.sections) {
    run.begin -= problem_.sections;
    run.end -= problem_.sections;
  }
  runs_.push_back(run);
  lowest_.push({run.height, run.begin, id});
  return id;
}

// Puts new runs, already in order, where an old one was.
void Skyline::replace(std::uint32_t old, std::span<const std::uint32_t> chain) {
  std::uint32_t const before = runs_[old].before, after = runs_[old].after;
  bool const alone = before == kNone && after == kNone;
  runs_[old].gone = true;
  for (std::size_t i = 0; i < chain.size(); ++i) {
    runs_[chain[i]].before = i == 0 ? before : chain[i - 1];
    runs_[chain[i]].after = i + 1 == chain.size() ? after : chain[i + 1];
  }
  if (before != kNone) runs_[before].after = chain.front();
  if (after != kNone) runs_[after].before = chain.back();
  if (alone && problem_.ring && chain.size() > 1) {
    runs_[chain.front()].before = chain.back();
    runs_[chain.back()].after = chain.front();
  }
}

std::uint32_t Skyline::merge(std::uint32_t left, std::uint32_t right) {
  Run const l = runs_[left], r = runs_[right];
  bool const closes = l.before == right;  // of two on a ring one remains
  std::uint32_t const id = add({.begin = l.begin, .end = l.end + (r.end - r.begin), .height = l.height});
  runs_[left].gone = runs_[right].gone = true;
  if (closes) return id;
  runs_[id].before = l.before;
  runs_[id].after = r.after;
  if (l.before != kNone) runs_[l.before].after = id;
  if (r.after != kNone) runs_[r.after].before = id;
  return id;
}

// Neighbours of equal height become one.
void Skyline::join(std::uint32_t run) {
  for (;;) {
    std::uint32_t const after = runs_[run].after, before = runs_[run].before;
    if (after != kNone && runs_[after].height == runs_[run].height)
      run = merge(run, after);
    else if (before != kNone && runs_[before].height == runs_[run].height)
      run = merge(before, run);
    else
      return;
  }
}

std::uint32_t Skyline::fitting(const Run& run) const {
  if (whole(run)) return waiting_.best_of_all();
  std::uint32_t const here = waiting_.best_within(run.begin, run.end);
  if (here != kNone || run.end <= problem_.sections) return here;
  return waiting_.best_within(0, run.end - problem_.sections);  // what lies beyond the seam of the ring
}

void Skyline::settle(std::uint32_t id, std::uint32_t arc) {
  Arc const& a = problem_.arcs[arc];
  Run run = runs_[id];
  if (whole(run)) {
    run.begin = a.begin;
    run.end = a.begin + problem_.sections;
  }
  std::uint32_t const shift = a.begin < run.begin ? problem_.sections : 0;
  std::uint32_t const begin = a.begin + shift, end = a.end + shift;
  std::uint32_t chain[3];
  std::size_t count = 0;
  if (run.begin < begin) chain[count++] = add({.begin = run.begin, .end = begin, .height = run.height});
  std::uint32_t const top = chain[count++] = add({.begin = begin, .end = end, .height = run.height + a.size});
  if (end < run.end) chain[count++] = add({.begin = end, .end = run.end, .height = run.height});
  replace(id, {chain, count});
  join(top);
}

// To the lower of its neighbours. False: it has none.
bool Skyline::raise(std::uint32_t id) {
  Run const run = runs_[id];
  std::int64_t to = INT64_MAX;
  for (std::uint32_t const neighbour : {run.before, run.after})
    if (neighbour != kNone) to = std::min(to, runs_[neighbour].height);
  if (to == INT64_MAX) return false;
  std::uint32_t const raised = add({.begin = run.begin, .end = run.end, .height = to});
  replace(id, {&raised, 1});
  join(raised);
  return true;
}

std::int64_t Skyline::place(std::span<const std::uint32_t> rank, std::int64_t limit,
                            std::vector<std::int64_t>& offsets) {
  std::size_t left = problem_.arcs.size();
  offsets.assign(left, 0);
  runs_.clear();
  lowest_ = {};
  waiting_.restart(rank);
  if (left > 0) add({.begin = 0, .end = problem_.sections, .height = 0});
  std::int64_t height = 0;
  while (left > 0) {
    TIDEMARK_INVARIANT(!lowest_.empty());
    std::uint32_t const run = lowest_.top().run;
    lowest_.pop();
    if (runs_[run].gone) continue;
    effort_.looks += step_looks_;
    std::uint32_t const arc = fitting(runs_[run]);
    if (arc == kNone) {
      bool const raised = raise(run);
      TIDEMARK_INVARIANT(raised);
      static_cast<void>(raised);
      continue;
    }
    offsets[arc] = runs_[run].height;
    height = std::max(height, offsets[arc] + problem_.arcs[arc].size);
    if (height >= limit) return limit;
    waiting_.remove(arc);
    --left;
    settle(run, arc);
  }
  return height;
}

}  // namespace tidemark::plan
