// SPDX-License-Identifier: Apache-2.0
#include "allocator/core/plan/solver.h"

#include <algorithm>

#include "allocator/core/plan/gaps.h"
#include "allocator/core/plan/orders.h"
#include "allocator/core/plan/verify.h"

namespace tidemark::plan {
namespace {

constexpr std::uint64_t kAtOnceLooks =
    75'000'000;  // some tenths of a second; large problems get a part of the portfolio
constexpr std::uint64_t kAtOnceLooksPerArc = 30'000;  // beyond the portfolio
constexpr std::size_t kMostArcsToSearch = 6000;       // beyond, a single descent of the search takes too long
constexpr double kFirstClimbLooks = 2.5e6, kFirstSearchLooks = 10e6;  // of a turn; later ones are longer
constexpr double kLongerClimb = 1.08, kLongerSearch = 1.5;
constexpr std::size_t kClimbs = 8;     // that begin together, of which half go on after each round
constexpr std::size_t kFirstGaps = 4;  // orders that are tried before the turns begin

double seconds_since(Clock::time_point then) {
  return std::chrono::duration<double>(Clock::now() - then).count();
}

}  // namespace

Solver::Solver(Buffers buffers, std::uint64_t period, const Options& options)
    : buffers_(buffers),
      period_(period),
      options_(options),
      climb_looks_(kFirstClimbLooks),
      search_looks_(kFirstSearchLooks) {
  stop_ = {.cancel = options.cancel, .effort = &effort_};
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
  if (!best_) return false;
  if (options_.capacity) return best_->height <= *options_.capacity;
  return least() || grains(best_->height, options_) == grains(bound_bytes_, options_);
}

bool Solver::is_large() const {
  return problem_.arcs.size() > kMostArcsToSearch;
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
  if (done() || (options_.budget_seconds <= 0 && options_.budget_looks == 0)) return;
  if (options_.budget_seconds > 0) stop_ = stop_.within(options_.budget_seconds);
  if (options_.budget_looks > 0) stop_ = stop_.after(options_.budget_looks);
  try_orders(orders().size(), stop_);
  try_gaps(is_large() ? kFirstGaps : 2 * gap_orders().size(), stop_);
  take_turns(stop_);
}

// As far as the work that is allowed reaches.
void Solver::at_once() {
  constexpr std::size_t kFirstOrders = 2;
  std::size_t const all_gaps = 2 * gap_orders().size();
  Stop const stop = stop_.after(kAtOnceLooks);
  if (is_large()) {
    try_orders(kFirstOrders, stop);
    try_gaps(1, stop);
  }
  try_orders(orders().size(), stop);
  // Alignments of their own are kept by gaps alone.
  try_gaps(mixed_ || is_large() ? all_gaps : kFirstGaps, stop);
  if (!is_large()) take_turns(stop.after(kAtOnceLooksPerArc * problem_.arcs.size()));
}

// The first so many. Goes on where it was stopped, as the next one does.
void Solver::try_orders(std::size_t count, const Stop& stop) {
  if (orders_tried_ >= count) return;
  Skyline skyline(problem_, effort_);
  std::vector<std::int64_t> offsets;
  for (; orders_tried_ < count; ++orders_tried_) {
    if (best_ && (done() || stop.now())) return;
    auto const arc_weights = weights(problem_, orders()[orders_tried_]);
    // To the end, even where another one is lower: where to climb from depends on how high they are.
    std::int64_t const height = skyline.place(ranks(arc_weights), INT64_MAX, offsets);
    if (offer(problem_, offsets)) best_way_ = Way::Skyline;
    starts_.push_back({.height = height, .order = orders()[orders_tried_]});
    tell();
  }
}

// Into the lowest gaps in each order, then into the tightest.
void Solver::try_gaps(std::size_t count, const Stop& stop) {
  std::size_t const all = gap_orders().size();
  if (gaps_tried_ >= count || done() || stop.now()) return;
  Problem const own = mixed_ ? make_problem(buffers_, {.period = period_, .alike = false}) : Problem{};
  Problem const& problem = mixed_ ? own : problem_;
  Gaps gaps(problem, effort_);
  std::vector<std::int64_t> offsets;
  for (; gaps_tried_ < count && !done() && !stop.now(); ++gaps_tried_) {
    auto const arc_weights = weights(problem, gap_orders()[gaps_tried_ % all]);
    std::int64_t const limit = best_in_units_of(problem);
    Fit const fit = gaps_tried_ < all ? Fit::Lowest : Fit::Tightest;
    bool const lower = gaps.place(ranks(arc_weights), {.fit = fit, .limit = limit, .stop = stop}, offsets) < limit &&
                       offer(problem, offsets);
    if (lower && !mixed_) {
      best_way_ = Way::Gaps;
      best_gap_order_ = gaps_tried_ % all;
    }
    tell();
    if (stop.now()) return;  // this one may not have been finished
  }
}

// Turns of growing length: which of the two finds something differs from instance to instance. The search takes two
// thirds of the work, once the climbs have done more than it needs to place everything some times.
void Solver::take_turns(const Stop& stop) {
  std::uint64_t const descent = Search::kLooksPerSection * problem_.arcs.size() * problem_.sections;
  while (!done() && !stop.now()) {
    std::uint64_t const begin = effort_.looks;
    bool const search = !is_large() && climbed_ >= 4 * descent && searched_ <= 2 * climbed_;
    if (search) {
      search_until(stop.after(std::max(static_cast<std::uint64_t>(search_looks_), descent)));
      search_looks_ *= kLongerSearch;
    } else {
      climb_until(stop.after(static_cast<std::uint64_t>(climb_looks_)));
      climb_looks_ *= kLongerClimb;
    }
    (search ? searched_ : climbed_) += effort_.looks - begin;
  }
}

// From the orders that gave the lowest layouts first, each with noise and without. Gaps take too long beside a search.
Climb::Start Solver::next_start() {
  std::size_t const n = climbs_begun_++;
  if (n == 0) std::stable_sort(starts_.begin(), starts_.end(), [](auto& a, auto& b) { return a.height < b.height; });
  Climb::Start from{.noise = n % 2 == 0, .seed = options_.seed + n};
  bool const gaps = is_large() && best_way_ == Way::Gaps;
  from.way = gaps ? Way::Gaps : Way::Skyline;
  from.weights = weights(problem_, gaps ? gap_orders()[(best_gap_order_ + n) % gap_orders().size()]
                                        : starts_[n / 2 % starts_.size()].order);
  return from;
}

// Whose turn it is. When each has had one, the lower half goes on; the last one makes room for new ones.
Climb& Solver::next_climb() {
  // With gaps a pass takes long: there is one, for good.
  bool const one = is_large() && best_way_ == Way::Gaps;
  if (turn_ == climbs_.size() && !one) {
    std::stable_sort(climbs_.begin(), climbs_.end(), [](auto& a, auto& b) { return a->height() < b->height(); });
    climbs_.resize(climbs_.size() / 2);
    turn_ = 0;
  }
  if (climbs_.empty()) {
    for (std::size_t i = 0; i < (one ? 1 : kClimbs); ++i)
      climbs_.push_back(std::make_unique<Climb>(problem_, next_start(), effort_));
    turn_ = 0;
  }
  return *climbs_[one ? 0 : turn_++];
}

void Solver::climb_until(const Stop& stop) {
  Climb& climb = next_climb();
  while (!stop.now() && !done()) {
    if (climb.step(stop_)) offer(problem_, climb.offsets());
    tell();
  }
}

// In units. Tight ones have few cases, loose ones many solutions: neither is better as such.
std::int64_t Solver::target() const {
  if (options_.capacity) return static_cast<std::int64_t>(*options_.capacity / problem_.unit_bytes);
  constexpr double kShares[] = {0, 0.5, 0.25, 0.75};
  std::int64_t const room = best_in_units_of(problem_) - 1 - proved_;
  double const share = kShares[searches_ % std::size(kShares)];
  std::int64_t const units =
      proved_ + static_cast<std::int64_t>(share * static_cast<double>(std::max<std::int64_t>(room, 0)));
  // Up to the next grain costs nothing, and makes it easier.
  std::uint64_t const needed = grains(static_cast<std::uint64_t>(units) * problem_.unit_bytes, options_);
  std::uint64_t const bytes = options_.given_bytes + needed * options_.grain_bytes;
  return std::max(units, std::min(static_cast<std::int64_t>(bytes / problem_.unit_bytes), proved_ + room));
}

void Solver::search_until(const Stop& stop) {
  if (!search_) search_.emplace(problem_, options_.seed, effort_);
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
