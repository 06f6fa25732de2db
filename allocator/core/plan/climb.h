// SPDX-License-Identifier: Apache-2.0
// Local search over orders: after each pass of the skyline the arcs that came to lie too high are blamed and get more
// weight, so that they are placed earlier next time. Scales to any number of arcs; proves nothing.
#pragma once
#include <cstdint>
#include <random>
#include <vector>

#include "allocator/core/plan/skyline.h"
#include "allocator/core/plan/stop.h"

namespace tidemark::plan {

class Climb {
 public:
  // Starts from these weights, one per arc; the problem outlives the climb.
  Climb(const Problem& problem, std::vector<double> weights, std::uint64_t seed);
  // One pass; true if it is lower than all before. A call goes on where the last one ended.
  bool step();
  std::int64_t height() const { return height_; }
  const std::vector<std::int64_t>& offsets() const { return offsets_; }

 private:
  const Problem& problem_;
  Skyline skyline_;
  std::mt19937_64 random_;
  std::vector<double> best_, next_;
  std::vector<std::int64_t> offsets_, found_;
  std::int64_t height_ = INT64_MAX;
  unsigned stale_ = 0;
};

}  // namespace tidemark::plan
