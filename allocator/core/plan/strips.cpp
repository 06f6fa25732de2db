// SPDX-License-Identifier: Apache-2.0
#include "allocator/core/plan/strips.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace tidemark::plan {
namespace {

// Which of the arcs that relieve a section is taken: the largest, the one that covers the most of what is above the
// goal, or the longest. None is best everywhere.
enum class Choice : std::uint8_t { Largest, Area, Longest };

class Filler {
 public:
  Filler(const Problem& problem, Choice choice)
      : problem_(problem), choice_(choice), live_(problem.live), beside_(problem.arcs.size()) {}

  // Until no section with more than `enough` units alive can be relieved by this strip.
  void fill(std::size_t strip, std::int64_t height, std::int64_t least, std::int64_t enough) {
    inside_.clear();
    std::vector<bool> hopeless(problem_.sections);
    for (;;) {
      std::uint32_t peak = problem_.sections;
      above_.assign(2 * std::size_t{problem_.sections} + 1, 0);
      for (std::uint32_t s = 0; s < 2 * problem_.sections; ++s)
        above_[s + 1] = above_[s] + (live_[s % problem_.sections] > enough ? 1 : 0);
      for (std::uint32_t s = 0; s < problem_.sections; ++s)
        if (!hopeless[s] && live_[s] > enough && (peak == problem_.sections || live_[s] > live_[peak])) peak = s;
      if (peak == problem_.sections) return;
      if (!relieve(peak, strip, height, least)) hopeless[peak] = true;
    }
  }
  std::vector<std::optional<Beside>> take() { return std::move(beside_); }
  std::int64_t peak() const { return live_.empty() ? 0 : *std::max_element(live_.begin(), live_.end()); }

 private:
  bool covers(const Arc& a, std::uint32_t section) const {
    return (a.begin <= section && section < a.end) || section + problem_.sections < a.end;
  }
  bool meet(const Arc& a, const Arc& b) const { return covers(a, b.begin) || covers(b, a.begin); }

  // The lowest place between those in the strip that the arc meets; negative: there is none.
  std::int64_t gap_for(const Arc& arc, std::int64_t height) {
    met_.clear();
    for (std::uint32_t const i : inside_)
      if (meet(arc, problem_.arcs[i]))
        met_.emplace_back(beside_[i]->offset, beside_[i]->offset + problem_.arcs[i].size);
    std::sort(met_.begin(), met_.end());
    std::int64_t below = 0;
    for (auto const& [begin, end] : met_) {
      if (begin - below >= arc.size) return below;
      below = std::max(below, end);
    }
    return below + arc.size <= height ? below : -1;
  }

  bool relieve(std::uint32_t section, std::size_t strip, std::int64_t height, std::int64_t least) {
    std::uint32_t best = UINT32_MAX;
    std::int64_t at = 0;
    auto const key = [&](std::uint32_t i) {
      Arc const& a = problem_.arcs[i];
      auto const covered = static_cast<std::int64_t>(above_[a.end] - above_[a.begin]);
      auto const length = static_cast<std::int64_t>(a.length());
      if (choice_ == Choice::Largest) return std::tuple(a.size, covered, length);
      if (choice_ == Choice::Area) return std::tuple(covered * a.size, a.size, length);
      return std::tuple(covered, a.size, length);
    };
    for (std::uint32_t i = 0; i < problem_.arcs.size(); ++i) {
      Arc const& a = problem_.arcs[i];
      if (beside_[i] || a.size > height || a.size < least || !covers(a, section)) continue;
      if (best != UINT32_MAX && key(i) <= key(best)) continue;
      std::int64_t const gap = gap_for(a, height);
      if (gap < 0) continue;
      best = i;
      at = gap;
    }
    if (best == UINT32_MAX) return false;
    beside_[best] = Beside{strip, at};
    inside_.push_back(best);
    Arc const& a = problem_.arcs[best];
    for (std::uint32_t s = a.begin; s < a.end; ++s) live_[s < problem_.sections ? s : s - problem_.sections] -= a.size;
    return true;
  }

  const Problem& problem_;
  Choice choice_;
  std::vector<std::uint32_t> above_;  // sections above the goal before each, over two rounds
  std::vector<std::int64_t> live_;
  std::vector<std::optional<Beside>> beside_;
  std::vector<std::uint32_t> inside_;  // this strip
  std::vector<std::pair<std::int64_t, std::int64_t>> met_;
};

}  // namespace

std::vector<std::optional<Beside>> fill_strips(const Problem& problem, std::span<const Strip> strips) {
  auto const units = [&](std::uint64_t bytes) { return static_cast<std::int64_t>(bytes / problem.unit_bytes); };
  std::vector<std::size_t> order(strips.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  // What only large blocks may use is filled first, then the large ones.
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::tuple(strips[a].least_bytes, strips[a].size_bytes) >
           std::tuple(strips[b].least_bytes, strips[b].size_bytes);
  });
  std::int64_t all = 0;
  for (Strip const& s : strips) all += units(s.size_bytes);
  std::vector<std::optional<Beside>> best(problem.arcs.size());
  std::int64_t lowest = problem.bound;
  for (Choice const choice : {Choice::Area, Choice::Longest, Choice::Largest}) {
    Filler filler(problem, choice);
    for (std::size_t const i : order)
      filler.fill(i, units(strips[i].size_bytes), units(strips[i].least_bytes + problem.unit_bytes - 1),
                  problem.bound - all);
    if (filler.peak() >= lowest) continue;
    lowest = filler.peak();
    best = filler.take();
  }
  return best;
}

}  // namespace tidemark::plan
