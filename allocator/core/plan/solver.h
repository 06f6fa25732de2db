// SPDX-License-Identifier: Apache-2.0
// One planning job: the best layout so far, and the ways to find a better one. Internal to the planner.
#pragma once
#include <optional>

#include "allocator/core/plan/climb.h"
#include "allocator/core/plan/planner.h"
#include "allocator/core/plan/search.h"

namespace tidemark::plan {

class Solver {
 public:
  Solver(Buffers buffers, std::uint64_t period, const Options& options);
  void run();

  const std::optional<Layout>& best() const { return best_; }
  std::uint64_t bound_bytes() const { return bound_bytes_; }
  bool least() const;
  bool impossible() const { return impossible_; }  // proved for the capacity
  const std::optional<Error>& defect() const { return defect_; }
  double seconds() const;

 private:
  void at_once();
  void try_gaps(const Stop& stop);
  void improve();
  void climb_for(double seconds);
  void search_for(double seconds);
  std::int64_t target() const;
  bool offer(const Problem& problem, const std::vector<std::int64_t>& offsets);
  void tell();
  bool done() const;
  bool enough() const;
  std::int64_t best_in_units_of(const Problem& problem) const;

  Buffers buffers_;
  std::uint64_t period_;
  const Options& options_;
  Clock::time_point begin_ = Clock::now(), told_ = begin_;
  Stop stop_;
  Problem problem_;          // all aligned alike: for skyline and search
  bool mixed_ = false;       // buffers have alignments of their own, which cost less in gaps
  bool exact_ = true;        // rounding to the common alignment changed no size: proofs hold for the buffers
  std::int64_t proved_ = 0;  // units: no layout of problem_ is lower
  std::uint64_t bound_bytes_ = 0;
  std::optional<Layout> best_;
  std::vector<double> best_weights_;
  std::optional<Climb> climb_;
  std::optional<Search> search_;
  std::uint64_t climbs_ = 0, searches_ = 0;
  std::size_t gaps_tried_ = 0;  // of the orders with each fit
  bool impossible_ = false;
  std::optional<Error> defect_;
};

}  // namespace tidemark::plan
