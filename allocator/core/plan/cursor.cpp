// SPDX-License-Identifier: Apache-2.0
#include "allocator/core/plan/cursor.h"

#include <algorithm>
#include <utility>

#include "base/bytes.h"

namespace tidemark::plan {
namespace {

constexpr std::size_t kAmbiguous = SIZE_MAX;

template <class F>
std::uint64_t hash_of(F event) {
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    AllocEvent const& e = event(i);
    hash = (hash ^ e.size_bytes ^ (std::uint64_t{e.domain} << 40) ^ (std::uint64_t{e.role} << 52)) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 29;
  }
  return hash;
}

}  // namespace

ServingPlan::ServingPlan(const Recorded& recorded, const CircularPlan& layout)
    : height_(layout.height), strips_(layout.strips), lead_(layout.lead) {
  std::size_t const n = recorded.events.size();
  for (std::size_t i = 0; i < n; ++i) {
    std::size_t const block = (layout.cut_block + i) % n;
    events_.push_back(recorded.events[block]);
    carried_.push_back(layout.roles[block] == Role::CarryOver);
  }
  // What is allocated before the cut belongs to the iteration that began at the cut before.
  for (std::size_t entry = 0; entry < layout.periods * n; ++entry) {
    std::size_t const block = (layout.cut_block + entry) % (layout.periods * n);
    std::uint64_t const bytes = recorded.iteration.blocks[block % n].size_bytes;
    bool const planned = layout.roles[block % n] != Role::Persistent;
    places_.push_back(planned ? Extent{layout.offsets[block], round_up(bytes, recorded.iteration.alignment)}
                              : Extent{});
  }
  for (std::size_t i = 0; i < n; ++i) {
    std::uint64_t const hash = hash_of([&](std::size_t k) -> auto& { return events_[(i + k) % n]; });
    auto const [at, first] = after_.emplace(hash, (i + 4) % n);
    if (!first) at->second = kAmbiguous;
  }
}

std::optional<std::size_t> ServingPlan::find(const AllocEvent (&last)[4]) const {
  auto const at = after_.find(hash_of([&](std::size_t k) -> auto& { return last[k]; }));
  if (at == after_.end() || at->second == kAmbiguous) return std::nullopt;
  return at->second;
}

void PlanCursor::go_to(std::size_t entry) {
  at_ = entry;
  within_ = entry % plan_->iteration();
}

void PlanCursor::restart(std::size_t seen) {
  std::size_t const n = plan_->iteration();
  // Iterations take turns: one that was broken off has had its turn.
  std::size_t const turn = at_ % n == 0 ? at_ / n : at_ / n + 1;
  go_to((turn * n + seen % n) % plan_->entries());
  before_.reset();
  run_ = misses_ = 0;
  in_order_ = seen;
}

void PlanCursor::begin() {
  restart(0);
  in_order_ = kLost;
}

std::optional<std::size_t> PlanCursor::take(std::size_t entry) {
  go_to((entry + 1) % plan_->entries());
  misses_ = 0;
  return entry;
}

std::optional<std::size_t> PlanCursor::ahead(const AllocEvent& event) const {
  std::size_t const far = std::min(kAhead, plan_->iteration() - 1);
  for (std::size_t d = 1; d <= far; ++d)
    if (plan_->event(at_ + d) == event) return (at_ + d) % plan_->entries();
  return std::nullopt;
}

// Events that came in order were those of the plan: only now they are written down.
void PlanCursor::catch_up(const AllocEvent& event) {
  std::size_t const n = plan_->iteration();
  for (std::uint64_t k = std::min<std::uint64_t>(run_, 4); k > 0; --k) {
    std::rotate(last_, last_ + 1, last_ + 4);
    last_[3] = plan_->event(within_ + n - static_cast<std::size_t>(k) % n);
  }
  std::rotate(last_, last_ + 1, last_ + 4);
  last_[3] = event;
  if (run_ != 0) misses_ = 0;
  in_order_ += run_;
  run_ = 0;
  if (in_order_ >= kLost) before_.reset();
}

std::optional<std::size_t> PlanCursor::search(const AllocEvent& event) {
  if (plan_->iteration() == 0) return std::nullopt;
  catch_up(event);
  // A stray allocation may have looked like one further on: then the plan goes on where it was.
  if (before_ && plan_->event(*before_) == event) {
    in_order_ = kLost;
    return take(*std::exchange(before_, std::nullopt));
  }
  if (misses_ < kLost) {
    if (auto const entry = ahead(event)) {
      before_ = at_;
      in_order_ = 0;
      return take(*entry);
    }
  } else if (auto const entry = join(*this)) {
    return entry;
  }
  if (++misses_ >= kSure) in_order_ = 0;
  return std::nullopt;
}

std::optional<std::size_t> PlanCursor::join(const PlanCursor& lost) {
  auto const after = plan_->iteration() == 0 ? std::nullopt : plan_->find(lost.last_);
  if (!after) return std::nullopt;
  std::copy(std::begin(lost.last_), std::end(lost.last_), std::begin(last_));
  std::size_t const n = plan_->iteration();
  before_.reset();
  run_ = 0;
  in_order_ = kSure;  // four events say so
  return take((at_ / n * n + (*after + n - 1) % n) % plan_->entries());
}

}  // namespace tidemark::plan
