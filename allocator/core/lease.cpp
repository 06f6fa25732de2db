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

// In the arena's own offsets.
Granules granule_of(const plan::Strip& strip) {
  return to_granules(strip.offset - plan::kBeside);
}

std::uint32_t index_of(const std::vector<Extent>& all, const Extent& extent) {
  auto const at = std::lower_bound(all.begin(), all.end(), extent, is_before);
  return at == all.end() || !(*at == extent) ? Lease::kNone : static_cast<std::uint32_t>(at - all.begin());
}

}  // namespace

// Where the plan that is followed begins in memory that is there anyway, the region does, if it can.
Arena::Leased* Lease::take_region(const plan::Replay& plans, const GrowthLimit& limit) {
  Granules const height = to_granules(plans.arena_bytes());
  if (height == 0) return nullptr;
  const plan::Strip lead = plans.current() == nullptr ? plan::Strip{} : plans.current()->plan().lead();
  Granules const given = to_granules(lead.size_bytes);
  Arena::Leased* region = nullptr;
  if (given != 0)
    region = arena_.lease({.offset = granule_of(lead), .granules = given, .room = height > given ? height - given : 1},
                          domain_, limit);
  for (Granules const granules : {kRoom * height, height})
    if (region == nullptr) region = arena_.lease({.domain = domain_, .granules = granules}, limit);
  return region;
}

std::unique_ptr<Lease> Lease::make(Arena& arena, DomainId domain, const plan::Replay& plans, const GrowthLimit& limit) {
  std::unique_ptr<Lease> lease(new Lease(arena, domain));
  lease->leased_ = lease->take_region(plans, limit);
  if (lease->leased_ == nullptr) return nullptr;
  if (lease->allow(plans, limit)) return lease;
  lease->give_up();
  return nullptr;
}

bool Lease::hold_strips(const plan::Replay& plans, const GrowthLimit& limit) {
  bool more = false;
  lacks_strips_ = false;
  plans.for_each_plan([&](const plan::ServingPlan& p) {
    for (const plan::Strip& strip : p.strips()) {
      if (std::any_of(strips_.begin(), strips_.end(), [&](const Held& h) { return h.strip == strip; })) continue;
      Arena::Leased* const leased =
          arena_.lease({.offset = granule_of(strip), .granules = to_granules(strip.size_bytes)}, domain_, limit);
      if (leased != nullptr) strips_.push_back({strip, leased});
      (leased != nullptr ? more : lacks_strips_) = true;
    }
  });
  return more;
}

Arena::Leased* Lease::part_of(const Extent& extent) const {
  if (extent.offset < plan::kBeside) return leased_;
  for (const Held& h : strips_)
    if (h.strip.offset <= extent.offset && extent.end() <= h.strip.offset + h.strip.size_bytes) return h.leased;
  return nullptr;
}

// Of plans, and what is taken at places that no plan has any more.
std::vector<Extent> Lease::all_places(const plan::Replay& plans) const {
  std::vector<Extent> all = slots_.taken();
  plans.for_each_plan([&](const plan::ServingPlan& p) {
    for (const Extent& e : p.places())
      if (e.size_bytes != 0 && part_of(e) != nullptr) all.push_back(e);
  });
  std::sort(all.begin(), all.end(), is_before);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

bool Lease::allow(const plan::Replay& plans, const GrowthLimit& limit) {
  hold_strips(plans, limit);
  std::vector<Extent> extents = all_places(plans);
  std::vector<Arena::Change> changes = {{.lease = leased_}};
  for (const Held& h : strips_) changes.push_back({.lease = h.leased});
  auto const change_of = [&](const Extent& e) -> Arena::Change& {
    Arena::Leased* const part = part_of(e);
    return *std::find_if(changes.begin(), changes.end(), [&](const auto& c) { return c.lease == part; });
  };
  struct At {
    Arena::Change* change;
    std::size_t index;
    bool mapped;
  };
  std::vector<At> at;
  std::vector<bool> stays(places_.size());
  for (const Extent& e : extents) {
    std::uint32_t const old = index_of(extents_, e);
    if (old != kNone) stays[old] = true;
    Arena::Change& change = change_of(e);
    bool const beside = change.lease != leased_;
    Granules const offset =
        beside ? to_granules(e.offset - plan::kBeside) - change.lease->range->offset : to_granules(e.offset);
    Granules const granules = to_granules(e.size_bytes);
    if (!beside && offset + granules > leased_->range->granules) return false;
    at.push_back({&change, change.wanted.size(), beside || (old != kNone && places_[old].mapped)});
    change.wanted.push_back(
        {.offset = offset, .granules = granules, .record = old == kNone ? nullptr : places_[old].record});
  }
  for (std::size_t i = 0; i < places_.size(); ++i)
    if (!stays[i]) change_of(extents_[i]).gone.push_back(places_[i].record);
  if (!arena_.change_places(changes)) return false;
  slots_.allow(extents);
  places_.clear();
  for (std::size_t i = 0; i < extents.size(); ++i) {
    Record& record = *at[i].change->wanted[at[i].index].record;
    record.right = static_cast<std::uint32_t>(i);
    if (record.state.load(std::memory_order_relaxed) == State::Idle) record.domain = domain_;
    places_.push_back({.record = &record, .cells = *slots_.cells_of(extents[i]), .mapped = at[i].mapped});
  }
  extents_ = std::move(extents);
  // Blocks at places of former plans may lie above: top() looks for them.
  leased_->height = to_granules(plans.arena_bytes());
  make_tables(plans);
  return true;
}

void Lease::make_tables(const plan::Replay& plans) {
  tables_.clear();
  current_ = &none_;
  plans.for_each_plan([&](const plan::ServingPlan& p) {
    Table table{.plan = &p};
    for (const Extent& e : p.places()) table.places.push_back(e.size_bytes == 0 ? kNone : index_of(extents_, e));
    tables_.push_back(std::move(table));
  });
}

void Lease::complete(const plan::Replay& plans, const GrowthLimit& limit) {
  if (lacks_strips_ && hold_strips(plans, limit)) allow(plans, limit);
}

bool Lease::turn_to(const plan::ServingPlan* plan) {
  auto const found = std::find_if(tables_.begin(), tables_.end(), [&](const Table& t) { return t.plan == plan; });
  if (found == tables_.end()) return false;
  current_ = &*found;
  return true;
}

Granules Lease::top() const {
  Granules top = extents_.empty() ? 0 : leased_->height;
  for (const Extent& block : slots_.taken())
    if (block.offset < plan::kBeside) top = std::max(top, to_granules(block.end()));
  return top;
}

void Lease::end(Arena::Leased& part, DomainId domain, std::uint64_t stamp) {
  std::vector<Record*> blocks;
  for (Record* const r : part.places)
    if (r->state.load(std::memory_order_relaxed) != State::Idle) blocks.push_back(r);
  std::sort(blocks.begin(), blocks.end(), [](const Record* a, const Record* b) { return a->offset < b->offset; });
  arena_.end_lease(part, blocks, domain, stamp);
}

void Lease::finish(DomainId domain, std::uint64_t stamp) {
  for (const Held& h : strips_) end(*h.leased, domain, stamp);
  end(*leased_, domain, stamp);
}

void Lease::give_up() {
  for (const Held& h : strips_) end(*h.leased, h.leased->range->domain, h.leased->range->stamp);
  end(*leased_, leased_->range->domain, leased_->range->stamp);
}

}  // namespace tidemark::allocator
