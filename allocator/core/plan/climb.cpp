// SPDX-License-Identifier: Apache-2.0
#include "allocator/core/plan/climb.h"

#include "allocator/core/plan/orders.h"

namespace tidemark::plan {

Climb::Climb(const Problem& problem, std::vector<double> weights, std::uint64_t seed)
    : problem_(problem), skyline_(problem), random_(seed), best_(std::move(weights)), next_(best_) {}

bool Climb::step() {
  constexpr unsigned kPatience = 20;
  constexpr double kBlame = 0.3;  // in powers of e; between 0.2 and 1 no value was better throughout
  std::int64_t const height = skyline_.place(ranks(next_), INT64_MAX, found_);
  bool const better = height < height_;
  if (height <= height_) {
    height_ = height;
    offsets_ = found_;
    best_ = next_;
  }
  stale_ = better ? 0 : stale_ + 1;
  if (stale_ % kPatience == kPatience - 1) next_ = best_;
  std::uniform_real_distribution<double> more(0, kBlame);
  for (std::size_t i = 0; i < next_.size(); ++i)
    if (found_[i] + problem_.arcs[i].size > problem_.bound) next_[i] += more(random_);
  return better;
}

}  // namespace tidemark::plan
