// SPDX-License-Identifier: Apache-2.0
#include "allocator/core/lease.h"

#include <algorithm>
#include <tuple>

namespace tidemark::allocator {

namespace {

using plan::Extent;

// Room for plans of other shapes, which may be larger than the first.
constexpr Granules kRoom = 2;

bool is_before(const Extent& a, const Extent& b) {
  return std::tuple(a.offset, a.size_bytes) < std::tuple(b.offset, b.size_bytes);
}

std::uint32_t index_of(const std::vector<Extent>& all, const Extent& extent) {
  auto const at = std::lower_bound(all.begin(), all.end(), extent, is_before);
  return at == all.end() || !(*at == extent) ? Lease::kNone : static_cast<std::uint32_t>(at - all.begin());
}

}  // namespace

std::unique_ptr<Lease> Lease::make(Arena& arena, DomainId domain, const plan::Replay& plans, const GrowthLimit& limit) {
  Granules const height = to_granules(plans.arena_bytes());
  std::unique_ptr<Lease> lease(new Lease(arena, domain));
  for (Granules const granules : {kRoom * height, height})
    if (lease->leased_ == nullptr && height != 0)
      lease->leased_ = arena.lease({.domain = domain, .granules = granules}, limit);
  if (lease->leased_ == nullptr) return nullptr;
  if (lease->allow(plans)) return lease;
  lease->finish(DomainId::Shared, 0);  // nothing was used
  return nullptr;
}

// Of plans, and what is taken at places that no plan has any more.
std::vector<Extent> Lease::all_places(const plan::Replay& plans) const {
  std::vector<Extent> all = slots_.taken();
  plans.for_each_plan([&](const plan::ServingPlan& p) {
    for (const Extent& e : p.places())
      if (e.size_bytes != 0) all.push_back(e);
  });
  std::sort(all.begin(), all.end(), is_before);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

bool Lease::allow(const plan::Replay& plans) {
  std::vector<Extent> extents = all_places(plans);
  std::vector<Arena::Place> wanted;
  std::vector<bool> mapped;
  std::vector<bool> stays(places_.size());
  Granules height = 0;
  for (const Extent& e : extents) {
    std::uint32_t const old = index_of(extents_, e);
    if (old != kNone) stays[old] = true;
    wanted.push_back({.offset = to_granules(e.offset),
                      .granules = to_granules(e.size_bytes),
                      .record = old == kNone ? nullptr : places_[old].record});
    mapped.push_back(old != kNone && places_[old].mapped);
    height = std::max(height, to_granules(e.end()));
  }
  if (height > leased_->range->granules) return false;
  std::vector<Record*> gone;
  for (std::size_t i = 0; i < places_.size(); ++i)
    if (!stays[i]) gone.push_back(places_[i].record);
  if (!arena_.change_places(*leased_, wanted, gone)) return false;
  slots_.allow(extents);
  places_.clear();
  for (std::size_t i = 0; i < extents.size(); ++i) {
    wanted[i].record->right = static_cast<std::uint32_t>(i);
    if (wanted[i].record->state.load(std::memory_order_relaxed) == State::Idle) wanted[i].record->domain = domain_;
    places_.push_back({.record = wanted[i].record, .cells = *slots_.cells_of(extents[i]), .mapped = mapped[i]});
  }
  extents_ = std::move(extents);
  // Blocks at places of former plans may lie above: top() looks for them.
  leased_->height = to_granules(plans.arena_bytes());
  tables_.clear();
  current_ = &none_;
  plans.for_each_plan([&](const plan::ServingPlan& p) {
    Table table{.plan = &p};
    for (const Extent& e : p.places()) table.places.push_back(e.size_bytes == 0 ? kNone : index_of(extents_, e));
    tables_.push_back(std::move(table));
  });
  return true;
}

bool Lease::turn_to(const plan::ServingPlan* plan) {
  auto const found = std::find_if(tables_.begin(), tables_.end(), [&](const Table& t) { return t.plan == plan; });
  if (found == tables_.end()) return false;
  current_ = &*found;
  return true;
}

Granules Lease::top() const {
  return extents_.empty() ? 0 : std::max(leased_->height, to_granules(slots_.taken_end()));
}

void Lease::finish(DomainId domain, std::uint64_t stamp) {
  std::vector<Record*> blocks;
  for (const Place& p : places_)
    if (p.record->state.load(std::memory_order_relaxed) != State::Idle) blocks.push_back(p.record);
  std::sort(blocks.begin(), blocks.end(), [](const Record* a, const Record* b) { return a->offset < b->offset; });
  arena_.end_lease(*leased_, blocks, domain, stamp);
  leased_ = nullptr;
}

}  // namespace tidemark::allocator
