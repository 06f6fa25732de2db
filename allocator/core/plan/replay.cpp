// SPDX-License-Identifier: Apache-2.0
#include "allocator/core/plan/replay.h"

#include <algorithm>

namespace tidemark::plan {
namespace {

bool same_events(const ServingPlan& a, const ServingPlan& b) {
  if (a.iteration() != b.iteration()) return false;
  for (std::size_t i = 0; i < a.iteration(); ++i)
    if (!(a.event(i) == b.event(i))) return false;
  return true;
}

}  // namespace

void Replay::add(std::shared_ptr<const ServingPlan> plan, bool at_cut) {
  if (!plan || plan->iteration() == 0) return;
  cursors_.remove_if([&](const PlanCursor& c) { return same_events(c.plan(), *plan); });
  cursors_.emplace_front(std::move(plan));
  if (at_cut) cursors_.front().begin();
  if (cursors_.size() > kMostPlans) cursors_.pop_back();
  prefix_.clear();
  allow();
}

void Replay::allow() {
  std::vector<Extent> places;
  arena_bytes_ = 0;
  for (PlanCursor const& c : cursors_) {
    places.insert(places.end(), c.plan().places().begin(), c.plan().places().end());
    arena_bytes_ = std::max(arena_bytes_, c.plan().height());
  }
  for (Extent const& e : slots_.taken())
    if (e.offset < kBeside) arena_bytes_ = std::max(arena_bytes_, e.end());
  slots_.allow(places);
}

// Within the first events of an iteration, where the current plan is not what the program does, another one may be.
void Replay::choose(const AllocEvent& event) {
  PlanCursor& current = cursors_.front();
  if (current.within_iteration() == 0) prefix_.clear();
  std::size_t const seen = prefix_.size();
  if (seen >= kPrefix) return;
  prefix_.push_back(event);
  if (current.within_iteration() == seen && current.plan().event(seen) == event) return;
  auto const fits = [&](const PlanCursor& c) {
    for (std::size_t i = 0; i < prefix_.size(); ++i)
      if (i >= c.plan().iteration() || !(c.plan().event(i) == prefix_[i])) return false;
    return true;
  };
  auto const other = std::find_if(std::next(cursors_.begin()), cursors_.end(), fits);
  if (other == cursors_.end()) return;
  cursors_.splice(cursors_.begin(), cursors_, other);
  cursors_.front().restart(seen);
  ++counts_.switched;
}

// Where the current plan knows nothing of the last few events, another one may.
std::optional<Replay::Step> Replay::join_another() {
  PlanCursor const& lost = cursors_.front();
  for (auto other = std::next(cursors_.begin()); other != cursors_.end(); ++other) {
    auto const entry = other->join(lost);
    if (!entry) continue;
    cursors_.splice(cursors_.begin(), cursors_, other);
    ++counts_.switched;
    return Step{&cursors_.front().plan(), *entry, cursors_.front().is_sure()};
  }
  return std::nullopt;
}

std::optional<Replay::Step> Replay::find(const AllocEvent& event) {
  if (cursors_.size() > 1) choose(event);
  PlanCursor& cursor = cursors_.front();
  auto const entry = cursor.next(event);
  astray_ = cursor.is_astray() ? astray_ + 1 : 0;
  if (astray_ >= PlanCursor::kSure)
    if (auto const step = join_another()) return step;
  if (!entry) return std::nullopt;
  return Step{&cursor.plan(), *entry, cursor.is_sure()};
}

std::optional<Extent> Replay::next(const AllocEvent& event) {
  if (cursors_.empty()) return std::nullopt;
  auto const step = follow(event);
  if (step && step->plan->place(step->entry).size_bytes != 0) return step->plan->place(step->entry);
  ++counts_.unknown;
  return std::nullopt;
}

std::optional<std::uint64_t> Replay::place(const AllocEvent& event) {
  auto const place = next(event);
  if (!place) return std::nullopt;
  bool const taken = slots_.take(*place);
  ++(taken ? counts_.placed : counts_.occupied);
  return taken ? std::optional(place->offset) : std::nullopt;
}

}  // namespace tidemark::plan
