// SPDX-License-Identifier: Apache-2.0
// The complete search: is there a layout within a capacity? Bottom up over the profile of what has been placed.
//
// State: the floor of each section, below which nothing will be placed any more, and what still waits there. A section
// whose floor + waiting units exceed the capacity ends the branch; what is left is its slack.
// A valley is a run of sections of equal floor between higher walls. In any layout that is settled (every arc lies on
// the ground or on another one) either nothing ever lies on a valley's floor, then nothing lies below its lower wall
// either; or some arc within the valley is the leftmost (as well: the rightmost) that lies on it, then what is to its
// left is a valley that nobody uses, raised to its lower wall. These cases exclude each other, so no layout is reached
// twice. What is raised costs slack, which is why tight instances have few cases; the valley with the fewest is next.
// Where no waiting arc crosses a border, the two sides are problems of their own. States that failed are remembered.
//
// Runs end after some thousand states and start again from another order of preference, mostly a slightly changed copy
// of the one that placed the most so far. Runs get longer, so that in the end one is exhaustive. One thread at a time
// per object. A collision of 64-bit hashes could pass over a layout: "Impossible" is as sure as that.
#pragma once
#include <cstdint>
#include <random>
#include <vector>

#include "allocator/core/plan/problem.h"
#include "allocator/core/plan/stop.h"

namespace tidemark::plan {

enum class Outcome : std::uint8_t { Found, Impossible, Stopped };

class Search {
 public:
  static constexpr std::uint64_t kLooksPerSection = 4;  // of a state: its floor, its hash, its cases from both sides
  // Problem and effort outlive the search; all arcs are aligned.
  Search(const Problem& problem, std::uint64_t seed, Effort& effort);
  // Found: `offsets` per arc in units, all within the capacity (units). Stopped: asked to, or after about so many
  // states; another call with the same capacity goes on with what has been learned.
  struct Limits {
    std::int64_t capacity = 0;
    std::uint64_t states = UINT64_MAX;
    Stop stop = {};
  };
  Outcome fit(const Limits& limits, std::vector<std::int64_t>& offsets);
  std::uint64_t states() const { return states_; }

 private:
  // Sections [begin, end), on a ring possibly beyond the seam; `open`: a whole ring without a border.
  struct Range {
    std::uint32_t begin, end;
    bool open = false;
  };
  struct Valley {
    std::uint32_t begin = 0, end = 0;
    std::int64_t floor = 0, left = 0, right = 0;  // heights of the walls
    bool leftmost = true;                         // cases by the leftmost arc, or by the rightmost
    bool around = false;                          // the whole ring, without walls
  };
  enum class Pick : std::uint8_t { FewestCases, Lowest };
  struct Preference {
    std::vector<double> weight;  // per arc: larger is tried first
    Pick pick = Pick::FewestCases;
  };

  void reset();
  void choose();
  void learn();
  bool solve(Range range);
  bool solve_connected(Range range);
  bool try_cases(Range range, const Valley& valley);
  bool try_arc(Range range, const Valley& valley, std::uint32_t arc);
  bool settle_valleys(Range range, Valley& next);
  bool look_at(const Valley& valley, Valley& next, double& best, bool& raised);
  std::uint32_t count_cases(Valley& valley, bool can_raise) const;
  bool may_raise(const Valley& valley) const;
  template <class F>
  void each_case(const Valley& valley, F f) const;
  std::uint64_t hash_of(Range range) const;
  void put(std::uint32_t arc, std::int64_t offset);
  void take_back(std::uint32_t arc);
  void lift(std::uint32_t section, std::int64_t floor);
  void undo_to(std::size_t mark);
  bool out_of_states();

  std::uint32_t wrap(std::uint32_t s) const { return s >= problem_.sections ? s - problem_.sections : s; }
  std::int64_t slack(std::uint32_t s) const { return capacity_ - floor_[s] - waiting_[s]; }

  struct Lifted {
    std::uint32_t section;
    std::int64_t floor;
  };

  const Problem& problem_;
  Effort& effort_;
  std::mt19937_64 random_;
  std::vector<std::vector<std::uint32_t>> begins_, ends_;  // arcs by their first section, and by the one after the last
  std::vector<std::uint64_t> keys_;                        // random numbers that name arcs in hashes
  std::vector<std::uint64_t> failed_;                      // hashes; newer ones push out older ones

  std::int64_t capacity_ = 0;
  std::vector<std::int64_t> floor_, waiting_, offset_;
  std::vector<std::uint32_t> count_, cross_;  // waiting arcs in a section, and across its right border
  std::vector<char> placed_;
  std::vector<std::uint32_t> order_, cases_;
  std::vector<Lifted> lifted_;

  Preference now_, best_;
  std::size_t deepest_ = 0, best_depth_ = 0;
  std::uint64_t stale_ = 0, fresh_ = 0;
  bool copied_ = false;
  std::uint64_t run_ = 0, states_ = 0, limit_ = 0;
  Stop stop_;
  bool stopped_ = false, asked_to_stop_ = false;
};

}  // namespace tidemark::plan
