// SPDX-License-Identifier: Apache-2.0
// What the allocator asks of a plan. A plan knows the sequence of allocations that a program repeats and where each of
// them lies in one region; the allocator checks that the place is free and falls back to the general arena where it is
// not, so that a wrong plan wastes memory and never hands a byte out twice.
#pragma once
#include <cstdint>
#include <optional>

#include "allocator/core/units.h"

namespace tidemark::allocator {

class PlanSource {
 public:
  virtual ~PlanSource() = default;
  // The next allocation of this size in this order: its place in the region, in granules; none: not in the plan. Called
  // by one thread at a time, once per allocation, in the order in which allocations come. No call of the allocator from
  // here.
  virtual std::optional<Granules> next(DomainId domain, Granules granules) = 0;
};

}  // namespace tidemark::allocator
