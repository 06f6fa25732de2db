// SPDX-License-Identifier: Apache-2.0
// Plans as the arena asks for them: it checks itself that a place is free, so nothing is taken or released here.
#pragma once
#include "allocator/core/plan/replay.h"
#include "allocator/core/plan_source.h"

namespace tidemark::plan {

// Events are recorded as they are asked for: sizes in whole granules, the domain's number, role 0.
inline AllocEvent event_of(allocator::DomainId domain, allocator::Granules granules) {
  return {.size_bytes = allocator::to_bytes(granules), .domain = static_cast<std::uint32_t>(domain)};
}

class ReplaySource final : public allocator::PlanSource {
 public:
  explicit ReplaySource(Replay& replay) : replay_(replay) {}
  std::optional<allocator::Granules> next(allocator::DomainId domain, allocator::Granules granules) override {
    auto const place = replay_.next(event_of(domain, granules));
    if (!place) return std::nullopt;
    return allocator::to_granules(place->offset);
  }

 private:
  Replay& replay_;
};

}  // namespace tidemark::plan
