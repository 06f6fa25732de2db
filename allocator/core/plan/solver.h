// SPDX-License-Identifier: Apache-2.0
// One planning job: the best layout so far, and the ways to find a better one. Internal to the planner.
#pragma once
#include <memory>
#include <optional>

#include "allocator/core/plan/climb.h"
#include "allocator/core/plan/orders.h"
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
  void try_orders(std::size_t count, const Stop& stop);
  void try_gaps(std::size_t count, const Stop& stop);
  void take_turns(const Stop& stop);
  Climb::Start next_start();
  Climb& next_climb();
  void climb_until(const Stop& stop);
  void search_until(const Stop& stop);
  std::int64_t target() const;
  bool offer(const Problem& problem, const std::vector<std::int64_t>& offsets);
  void tell();
  bool is_large() const;  // too large for the complete search
  bool done() const;
  bool enough() const;
  std::int64_t best_in_units_of(const Problem& problem) const;

  Buffers buffers_;
  std::uint64_t period_;
  const Options& options_;
  Clock::time_point begin_ = Clock::now(), told_ = begin_;
  Effort effort_;
  Stop stop_;
  double climb_looks_, search_looks_;         // of the next turn
  std::uint64_t climbed_ = 0, searched_ = 0;  // looks so far
  Problem problem_;                           // all aligned alike: for skyline and search
  bool mixed_ = false;                        // buffers have alignments of their own, which cost less in gaps
  bool exact_ = true;        // rounding to the common alignment changed no size: proofs hold for the buffers
  std::int64_t proved_ = 0;  // units: no layout of problem_ is lower
  std::uint64_t bound_bytes_ = 0;
  std::optional<Layout> best_;
  Way best_way_ = Way::Skyline;  // that gave the lowest layout
  std::size_t best_gap_order_ = 0;
  struct Tried {
    std::int64_t height;
    Order order;
  };
  std::vector<Tried> starts_;  // with the skyline
  std::vector<std::unique_ptr<Climb>> climbs_;
  std::optional<Search> search_;
  std::size_t turn_ = 0, climbs_begun_ = 0;
  std::uint64_t searches_ = 0;
  std::size_t orders_tried_ = 0, gaps_tried_ = 0;  // gaps: of the orders with each fit
  bool impossible_ = false;
  std::optional<Error> defect_;
};

}  // namespace tidemark::plan
