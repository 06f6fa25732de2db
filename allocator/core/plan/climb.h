// SPDX-License-Identifier: Apache-2.0
// Local search over orders: after each pass the arcs that came to lie too high are blamed and get more weight, so that
// they are placed earlier next time. All may get a little noise as well: among arcs that are alike, as those of a
// network's layers are, the order counts too. A pass is one of the skyline, or into the lowest gaps, which takes
// several times as long and is lower where there is no structure. Scales to any number of arcs; proves nothing.
#pragma once
#include <cstdint>
#include <random>
#include <vector>

#include "allocator/core/plan/gaps.h"
#include "allocator/core/plan/skyline.h"
#include "allocator/core/plan/stop.h"

namespace tidemark::plan {

enum class Way : std::uint8_t { Skyline, Gaps };

class Climb {
 public:
  // Starts from these weights, one per arc; problem and effort outlive the climb.
  struct Start {
    Way way = Way::Skyline;
    std::vector<double> weights = {};
    bool noise = true;
    std::uint64_t seed = 1;
  };
  Climb(const Problem& problem, Start start, Effort& effort);
  // One pass; true if it is lower than all before. A call goes on where the last one ended.
  bool step(const Stop& stop);
  std::int64_t height() const { return height_; }
  const std::vector<std::int64_t>& offsets() const { return offsets_; }

 private:
  std::int64_t pass(const Stop& stop);
  void blame();

  const Problem& problem_;
  Way way_;
  double noise_;
  Skyline skyline_;
  Gaps gaps_;
  std::mt19937_64 random_;
  std::vector<double> best_, next_;
  std::vector<std::int64_t> offsets_, found_;
  std::int64_t height_ = INT64_MAX;
  unsigned stale_ = 0;
};

}  // namespace tidemark::plan
