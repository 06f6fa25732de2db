// SPDX-License-Identifier: Apache-2.0
#include "allocator/core/plan/search.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace tidemark::plan {
namespace {

constexpr std::int64_t kWall = std::int64_t{1} << 60;
constexpr std::size_t kMostRemembered = std::size_t{1} << 20;
constexpr std::uint64_t kOrders = 4;           // plain orders to begin with
constexpr std::uint64_t kFreshStarts = 24;     // each order with each way to pick a valley, three times
constexpr std::uint64_t kPatience = 150;       // runs without progress before a fresh start
constexpr std::uint64_t kRunsPerLength = 512;  // runs of one length; longer ones too early waste more than they find

std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 32;
  x *= 0x9e3779b97f4a7c15;
  x ^= x >> 29;
  x *= 0xbf58476d1ce4e5b9;
  return x ^ (x >> 32);
}

}  // namespace

Search::Search(const Problem& problem, std::uint64_t seed, Effort& effort)
    : problem_(problem), effort_(effort), random_(seed) {
  begins_.resize(problem.sections);
  ends_.resize(problem.sections);
  for (std::uint32_t i = 0; i < problem.arcs.size(); ++i) {
    begins_[problem.arcs[i].begin].push_back(i);
    ends_[wrap(problem.arcs[i].end - 1)].push_back(i);
    keys_.push_back(random_());
  }
  failed_.assign(std::bit_ceil(std::clamp<std::size_t>(problem.arcs.size() << 12, 1, kMostRemembered)), 0);
}

void Search::reset() {
  std::uint32_t const n = problem_.sections;
  floor_.assign(n, 0);
  waiting_ = problem_.live;
  count_.assign(n, 0);
  cross_.assign(n, 0);
  placed_.assign(problem_.arcs.size(), 0);
  offset_.assign(problem_.arcs.size(), 0);
  order_.clear();
  cases_.clear();
  lifted_.clear();
  for (Arc const& a : problem_.arcs) {
    for (std::uint32_t s = a.begin; s < a.end; ++s) ++count_[wrap(s)];
    for (std::uint32_t s = a.begin; s + 1 < a.end; ++s) ++cross_[wrap(s)];
  }
}

Outcome Search::fit(const Limits& limits, std::vector<std::int64_t>& offsets) {
  if (problem_.bound > limits.capacity) return Outcome::Impossible;
  if (capacity_ != limits.capacity) {
    capacity_ = limits.capacity;
    best_.weight.clear();
    run_ = best_depth_ = stale_ = 0;
    fresh_ = kFreshStarts;
  }
  stop_ = limits.stop;
  asked_to_stop_ = false;
  // A run has to be able to place everything, and to turn back now and then.
  std::uint64_t const unit = std::max<std::uint64_t>(1000, 4 * problem_.arcs.size()), begin = states_;
  for (; states_ - begin < limits.states; ++run_) {
    reset();
    effort_.looks += problem_.sections + problem_.arcs.size();
    choose();
    stopped_ = false;
    deepest_ = 0;
    limit_ = states_ + unit * (1 + run_ / kRunsPerLength);
    if (solve({0, problem_.sections, problem_.ring})) {
      offsets = offset_;
      return Outcome::Found;
    }
    if (asked_to_stop_) return Outcome::Stopped;
    if (!stopped_) return Outcome::Impossible;
    learn();
  }
  return Outcome::Stopped;
}

// What has done well on hard instances: first plain orders, each with both ways to pick a valley, then noise on them.
void Search::choose() {
  std::uniform_real_distribution<double> noise(-0.5, 0.5);
  copied_ = fresh_ == 0;
  if (copied_) {
    now_ = best_;
    std::size_t const arcs = problem_.arcs.size();
    for (std::uint64_t changes = 1 + random_() % (run_ % 2 == 0 ? 3 : 20); changes > 0; --changes)
      now_.weight[random_() % arcs] = now_.weight[random_() % arcs] + 0.1 * noise(random_);
    return;
  }
  std::uint64_t const order = run_ % kOrders;
  now_.pick = run_ / kOrders % 2 == 0 ? Pick::FewestCases : Pick::Lowest;
  now_.weight.clear();
  for (Arc const& a : problem_.arcs) {
    double const size = std::log(static_cast<double>(a.size)), length = std::log(static_cast<double>(a.length()));
    double const weight = order == 0   ? 2 * length + 0.1 * size
                          : order == 1 ? length + size
                          : order == 2 ? 3 * length + size
                                       : size;
    now_.weight.push_back(weight + (run_ < 2 * kOrders ? 0 : noise(random_)));
  }
}

// After fresh starts the deepest of them is varied, until that leads nowhere.
void Search::learn() {
  bool const first = fresh_ == kFreshStarts || run_ == 0;
  if (first || deepest_ >= best_depth_) {
    stale_ = first || deepest_ > best_depth_ ? 0 : stale_ + 1;
    best_depth_ = deepest_;
    best_ = now_;
  } else {
    ++stale_;
  }
  if (fresh_ > 0) {
    --fresh_;
    stale_ = 0;
  } else if (stale_ >= kPatience) {
    fresh_ = kFreshStarts;
  }
}

void Search::lift(std::uint32_t section, std::int64_t floor) {
  lifted_.push_back({section, floor_[section]});
  floor_[section] = floor;
}

void Search::undo_to(std::size_t mark) {
  for (; lifted_.size() > mark; lifted_.pop_back()) floor_[lifted_.back().section] = lifted_.back().floor;
}

void Search::put(std::uint32_t arc, std::int64_t offset) {
  Arc const& a = problem_.arcs[arc];
  placed_[arc] = 1;
  offset_[arc] = offset;
  order_.push_back(arc);
  for (std::uint32_t i = a.begin; i < a.end; ++i) {
    std::uint32_t const s = wrap(i);
    lift(s, offset + a.size);
    waiting_[s] -= a.size;
    --count_[s];
    if (i + 1 < a.end) --cross_[s];
  }
}

void Search::take_back(std::uint32_t arc) {
  Arc const& a = problem_.arcs[arc];
  placed_[arc] = 0;
  order_.pop_back();
  for (std::uint32_t i = a.begin; i < a.end; ++i) {
    std::uint32_t const s = wrap(i);
    waiting_[s] += a.size;
    ++count_[s];
    if (i + 1 < a.end) ++cross_[s];
  }
}

bool Search::out_of_states() {
  if (stopped_) return true;
  if (++states_ % 256 == 0 && stop_.now()) stopped_ = asked_to_stop_ = true;
  if (states_ > limit_) stopped_ = true;
  return stopped_;
}

// Splits where nothing crosses. On failure everything is as it was.
bool Search::solve(Range range) {
  deepest_ = std::max(deepest_, order_.size());
  std::uint32_t const n = problem_.sections;
  if (range.open) {
    std::uint32_t border = 0;
    while (border < n && cross_[border] > 0) ++border;
    if (border == n) return solve_connected(range);
    range = {wrap(border + 1), wrap(border + 1) + n};
  }
  std::vector<Range> parts;
  for (std::uint32_t s = range.begin; s < range.end;) {
    if (count_[wrap(s)] == 0) {
      ++s;
      continue;
    }
    std::uint32_t end = s + 1;
    while (end < range.end && cross_[wrap(end - 1)] > 0) ++end;
    parts.push_back({s, end});
    s = end;
  }
  // The small ones fail fast.
  if (parts.size() > 1)
    std::sort(parts.begin(), parts.end(), [](auto& a, auto& b) { return a.end - a.begin < b.end - b.begin; });
  std::size_t const mark = lifted_.size(), placed = order_.size();
  for (Range const& part : parts) {
    if (solve_connected(part)) continue;
    while (order_.size() > placed) take_back(order_.back());
    undo_to(mark);
    return false;
  }
  return true;
}

std::uint64_t Search::hash_of(Range range) const {
  std::uint64_t hash = mix(static_cast<std::uint64_t>(capacity_) * 31 + range.begin * 0x10001ULL + range.end);
  for (std::uint32_t i = range.begin; i < range.end; ++i) {
    std::uint32_t const s = wrap(i);
    hash = mix(hash ^ static_cast<std::uint64_t>(floor_[s]));
    for (std::uint32_t const arc : begins_[s])
      if (placed_[arc] == 0) hash ^= keys_[arc];
  }
  return mix(hash) | 1;
}

bool Search::solve_connected(Range range) {
  if (out_of_states()) return false;
  effort_.looks += kLooksPerSection * (range.end - range.begin);
  std::size_t const mark = lifted_.size();
  Valley next;
  if (!settle_valleys(range, next)) {
    undo_to(mark);
    return false;
  }
  std::uint64_t const hash = hash_of(range);
  std::uint64_t& known = failed_[(hash >> 1) & (failed_.size() - 1)];
  if (known != hash && try_cases(range, next)) return true;
  if (!stopped_) known = hash;
  undo_to(mark);
  return false;
}

// Raises valleys that nothing fits into until none is left, and picks the one to decide on. False: a dead end.
bool Search::settle_valleys(Range range, Valley& next) {
  std::uint32_t const n = range.end - range.begin;
  for (;;) {
    bool raised = false;
    double best = 1e300;
    std::uint32_t start = range.begin;
    if (range.open) {  // begin where a run begins, so that none is cut at the seam
      while (start < n && floor_[start] == floor_[start == 0 ? n - 1 : start - 1]) ++start;
      if (start == n) {
        next = {.begin = 0, .end = n, .floor = floor_[0], .left = kWall, .right = kWall, .around = true};
        return true;
      }
    }
    for (std::uint32_t s = start; s < start + n && !raised;) {
      std::int64_t const floor = floor_[wrap(s)];
      std::uint32_t end = s + 1;
      while (end < start + n && floor_[wrap(end)] == floor) ++end;
      bool const first = s == start, last = end == start + n;
      Valley valley{.begin = s, .end = end, .floor = floor};
      valley.left = !first ? floor_[wrap(s - 1)] : range.open ? floor_[wrap(start + n - 1)] : kWall;
      valley.right = !last ? floor_[wrap(end)] : range.open ? floor_[wrap(start)] : kWall;
      if (valley.left > floor && valley.right > floor && !look_at(valley, next, best, raised)) return false;
      s = end;
    }
    if (!raised) return true;
  }
}

bool Search::look_at(const Valley& valley, Valley& next, double& best, bool& raised) {
  Valley here = valley;
  if (here.begin >= problem_.sections) {
    here.begin -= problem_.sections;
    here.end -= problem_.sections;
  }
  bool const can_raise = may_raise(here);
  std::uint32_t const cases = count_cases(here, can_raise);
  if (cases == 0) return false;
  if (cases == UINT32_MAX) {  // nobody fits, and the slack suffices
    for (std::uint32_t s = here.begin; s < here.end; ++s) lift(wrap(s), std::min(here.left, here.right));
    raised = true;
    return true;
  }
  // A single case is no decision: take it at once, wherever it is.
  double const key = now_.pick == Pick::Lowest && cases > 1 ? 2 + static_cast<double>(here.floor) : cases;
  if (key < best) {
    best = key;
    next = here;
  }
  return true;
}

bool Search::may_raise(const Valley& valley) const {
  std::int64_t const to = std::min(valley.left, valley.right);
  if (to >= kWall) return false;
  for (std::uint32_t s = valley.begin; s < valley.end; ++s)
    if (to - valley.floor > slack(wrap(s))) return false;
  return true;
}

// Arcs that may be the leftmost (rightmost) on the floor: what is beside them is raised, and the slack must allow it.
template <class F>
void Search::each_case(const Valley& valley, F f) const {
  std::int64_t least = kWall;  // slack of what has been passed
  auto const fits = [&](std::uint32_t arc, std::int64_t wall) {
    return placed_[arc] == 0 && std::min(wall - valley.floor, problem_.arcs[arc].size) <= least;
  };
  if (valley.leftmost) {
    for (std::uint32_t s = valley.begin; s < valley.end && least > 0; ++s) {
      std::uint32_t const at = wrap(s), shift = s - at;
      for (std::uint32_t const arc : begins_[at])
        if (problem_.arcs[arc].end + shift <= valley.end && fits(arc, valley.left)) f(arc);
      least = std::min(least, slack(at));
    }
    return;
  }
  for (std::uint32_t s = valley.end; s > valley.begin && least > 0; --s) {
    std::uint32_t const at = wrap(s - 1);
    for (std::uint32_t const arc : ends_[at]) {
      if (problem_.arcs[arc].length() <= s - valley.begin && fits(arc, valley.right)) f(arc);
    }
    least = std::min(least, slack(at));
  }
}

// UINT32_MAX: no waiting arc lies within, and the valley may be raised. 0: a dead end.
std::uint32_t Search::count_cases(Valley& valley, bool can_raise) const {
  std::uint32_t left = 0, right = 0;
  valley.leftmost = true;
  each_case(valley, [&](std::uint32_t) { ++left; });
  valley.leftmost = false;
  each_case(valley, [&](std::uint32_t) { ++right; });
  // The leftmost of all that fit is always among the cases unless slack forbids it; then only raising remains.
  if (left == 0 || right == 0) return can_raise ? UINT32_MAX : 0;
  valley.leftmost = left <= right;
  return std::min(left, right) + (can_raise ? 1 : 0);
}

bool Search::try_cases(Range range, const Valley& valley) {
  std::size_t const first = cases_.size();
  if (valley.around) {
    for (std::uint32_t arc = 0; arc < problem_.arcs.size(); ++arc)
      if (placed_[arc] == 0) cases_.push_back(arc);
  } else {
    each_case(valley, [&](std::uint32_t arc) { cases_.push_back(arc); });
  }
  auto const& weight = now_.weight;
  std::sort(cases_.begin() + static_cast<std::ptrdiff_t>(first), cases_.end(),
            [&](auto a, auto b) { return weight[a] != weight[b] ? weight[a] > weight[b] : a < b; });
  std::size_t const last = cases_.size();
  bool done = false;
  for (std::size_t i = first; i < last && !done && !stopped_; ++i) {
    Arc const& a = problem_.arcs[cases_[i]];
    bool twin = false;  // of one that has failed
    for (std::size_t k = first; k < i && !twin; ++k) {
      Arc const& b = problem_.arcs[cases_[k]];
      twin = a.begin == b.begin && a.end == b.end && a.size == b.size;
    }
    if (!twin) done = try_arc(range, valley, cases_[i]);
  }
  if (!done && !stopped_ && !valley.around && may_raise(valley)) {
    std::size_t const mark = lifted_.size();
    for (std::uint32_t s = valley.begin; s < valley.end; ++s) lift(wrap(s), std::min(valley.left, valley.right));
    done = solve(range);
    if (!done) undo_to(mark);
  }
  cases_.resize(first);
  return done;
}

bool Search::try_arc(Range range, const Valley& valley, std::uint32_t arc) {
  std::size_t const mark = lifted_.size();
  Arc const& a = problem_.arcs[arc];
  if (!valley.around) {
    std::uint32_t const begin = a.begin < valley.begin ? a.begin + problem_.sections : a.begin;
    std::int64_t const top = valley.floor + a.size;
    if (valley.leftmost)
      for (std::uint32_t s = valley.begin; s < begin; ++s) lift(wrap(s), std::min(valley.left, top));
    else
      for (std::uint32_t s = begin + a.length(); s < valley.end; ++s) lift(wrap(s), std::min(valley.right, top));
  }
  put(arc, valley.floor);
  if (solve(range)) return true;
  take_back(arc);
  undo_to(mark);
  return false;
}

}  // namespace tidemark::plan
