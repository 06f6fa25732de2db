// SPDX-License-Identifier: Apache-2.0
#include "allocator/core/plan/solver.h"

#include <algorithm>

#include "allocator/core/plan/gaps.h"
#include "allocator/core/plan/orders.h"
#include "allocator/core/plan/verify.h"

namespace tidemark::plan {
namespace {

constexpr double kAtOnceSeconds = 0.6;           // a large problem does not get the whole portfolio
constexpr std::size_t kMostArcsToSearch = 6000;  // beyond, a single descent of the search takes too long
constexpr double kFirstTurnSeconds = 0.1;        // of climb and search; later ones are longer

double seconds_since(Clock::time_point then) {
  return std::chrono::duration<double>(Clock::now() - then).count();
}

}  // namespace

Solver::Solver(Buffers buffers, std::uint64_t period, const Options& options)
    : buffers_(buffers), period_(period), options_(options) {
  stop_ = Stop{.cancel = options.cancel}.within(kAtOnceSeconds + options.budget_seconds);
  problem_ = make_problem(buffers, {.period = period, .alike = true});
  Problem const as_is = make_problem(buffers, {.period = period, .alike = false});
  mixed_ = !as_is.aligned && problem_.unit_bytes != as_is.unit_bytes;
  bound_bytes_ = static_cast<std::uint64_t>(as_is.bound) * as_is.unit_bytes;
  for (std::size_t i = 0; i < problem_.arcs.size(); ++i)
    exact_ &= static_cast<std::uint64_t>(problem_.arcs[i].size) * problem_.unit_bytes ==
              buffers[problem_.buffer[i]].size_bytes;
  proved_ = problem_.bound;
}

double Solver::seconds() const {
  return seconds_since(begin_);
}

std::int64_t Solver::best_in_units_of(const Problem& problem) const {
  if (!best_) return INT64_MAX;
  return static_cast<std::int64_t>((best_->height + problem.unit_bytes - 1) / problem.unit_bytes);
}

bool Solver::least() const {
  if (!best_) return false;
  return best_->height <= bound_bytes_ || (exact_ && best_in_units_of(problem_) <= proved_);
}

bool Solver::enough() const {
  return best_ && (options_.capacity ? best_->height <= *options_.capacity : least());
}

bool Solver::done() const {
  return enough() || impossible_ || defect_ || stop_.now();
}

// Every layout passes here, and only what the verifier has seen is kept.
bool Solver::offer(const Problem& problem, const std::vector<std::int64_t>& offsets) {
  Layout layout = layout_of(problem, buffers_, offsets);
  if (best_ && layout.height >= best_->height) return false;
  auto const seen =
      period_ == 0 ? verify(buffers_, layout, layout.height) : verify_repeating(buffers_, period_, layout);
  if (!seen.ok()) {
    defect_ = seen.error();
    return false;
  }
  best_ = std::move(layout);
  return true;
}

void Solver::tell() {
  constexpr double kTellSeconds = 0.2;
  if (!options_.progress || !best_ || seconds_since(told_) < kTellSeconds) return;
  told_ = Clock::now();
  options_.progress({.height = best_->height, .bound = bound_bytes_, .seconds = seconds()});
}

void Solver::run() {
  if (options_.capacity && *options_.capacity < bound_bytes_) {
    impossible_ = true;
    return;
  }
  at_once();
  if (!done() && options_.budget_seconds > 0) improve();
}

void Solver::at_once() {
  Skyline skyline(problem_);
  std::vector<std::int64_t> offsets;
  for (Order const& order : orders()) {
    if (best_ && (done() || seconds() > kAtOnceSeconds)) return;
    auto arc_weights = weights(problem_, order);
    std::int64_t const limit = best_in_units_of(problem_);
    if (skyline.place(ranks(arc_weights), limit, offsets) >= limit && best_) continue;
    if (offer(problem_, offsets)) best_weights_ = std::move(arc_weights);
    tell();
  }
  if (done()) return;
  try_gaps(stop_.within(std::max(0.0, kAtOnceSeconds - seconds())));
}

// Goes on where it was stopped.
void Solver::try_gaps(const Stop& stop) {
  constexpr Fit kFits[] = {Fit::Lowest, Fit::Tightest};
  std::size_t const all = orders().size() * std::size(kFits);
  if (gaps_tried_ == all) return;
  Problem const own = mixed_ ? make_problem(buffers_, {.period = period_, .alike = false}) : Problem{};
  Problem const& problem = mixed_ ? own : problem_;
  Gaps gaps(problem);
  std::vector<std::int64_t> offsets;
  for (; gaps_tried_ < all && !done() && !stop.now(); ++gaps_tried_) {
    std::size_t const order = gaps_tried_ % orders().size();
    std::int64_t const limit = best_in_units_of(problem);
    Gaps::Wish const wish{.fit = kFits[gaps_tried_ / orders().size()], .limit = limit, .stop = stop};
    if (gaps.place(ranks(weights(problem, orders()[order])), wish, offsets) < limit) offer(problem, offsets);
    tell();
    if (stop.now()) return;  // this one may not have been finished
  }
}

// Turns of growing length: which of the two finds something differs from instance to instance.
void Solver::improve() {
  try_gaps(stop_);
  bool const small = problem_.arcs.size() <= kMostArcsToSearch;
  for (double turn = kFirstTurnSeconds; !done(); turn *= 1.5) {
    if (small) search_for(turn);
    if (!done()) climb_for(small ? turn / 2 : turn);
  }
}

void Solver::climb_for(double seconds) {
  constexpr unsigned kStarts = 4;  // turns from one order, then from another one
  Stop const stop = stop_.within(seconds);
  if (climbs_ % kStarts == 0) {
    std::size_t const start = climbs_ / kStarts;
    climb_.emplace(problem_, start == 0 ? best_weights_ : weights(problem_, orders()[start % orders().size()]),
                   options_.seed + start);
  }
  ++climbs_;
  while (!stop.now() && !done()) {
    if (climb_->step()) offer(problem_, climb_->offsets());
    tell();
  }
}

// In units. Tight ones have few cases, loose ones many solutions: neither is better as such.
std::int64_t Solver::target() const {
  if (options_.capacity) return static_cast<std::int64_t>(*options_.capacity / problem_.unit_bytes);
  constexpr double kShares[] = {0, 0.5, 0.25, 0.75};
  std::int64_t const room = best_in_units_of(problem_) - 1 - proved_;
  double const share = kShares[searches_ % std::size(kShares)];
  return proved_ + static_cast<std::int64_t>(share * static_cast<double>(std::max<std::int64_t>(room, 0)));
}

void Solver::search_for(double seconds) {
  if (!search_) search_.emplace(problem_, options_.seed);
  Stop const stop = stop_.within(seconds);
  std::vector<std::int64_t> offsets;
  constexpr std::uint64_t kBetweenTalks = 20'000;
  std::int64_t const capacity = target();
  ++searches_;
  while (!stop.now() && !done()) {
    tell();
    Outcome const outcome = search_->fit({.capacity = capacity, .states = kBetweenTalks, .stop = stop}, offsets);
    if (outcome == Outcome::Stopped) continue;
    if (outcome == Outcome::Found) {
      offer(problem_, offsets);
    } else {
      proved_ = std::max(proved_, capacity + 1);
      impossible_ = options_.capacity && exact_;
    }
    return;
  }
}

}  // namespace tidemark::plan
