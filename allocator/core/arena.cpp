// SPDX-License-Identifier: Apache-2.0
#include "allocator/core/arena.h"

#include <algorithm>

namespace tidemark::allocator {

namespace {

// Address space is cheap and lets holes stay where they are while their frames serve elsewhere: twice the capacity for
// small blocks and for a plan, four times for large ones, as far as 32 bits of granules reach.
constexpr std::uint64_t kSmallFactor = 2;
constexpr std::uint64_t kPlanFactor = 2;
constexpr std::uint64_t kLargeFactor = 4;
constexpr std::uint64_t kAllFactors = kSmallFactor + kPlanFactor + kLargeFactor;
constexpr std::uint64_t kMostFrames = (1ull << 32) / kFrameGranules - 1;

std::uint64_t factor_frames(const ArenaOptions& options, std::uint64_t factor) {
  std::uint64_t const capacity = round_up(options.capacity_bytes, kFrameBytes) / kFrameBytes;
  return std::min((capacity + 16) * factor, kMostFrames / kAllFactors * factor);
}
std::uint64_t all_frames(const ArenaOptions& options) {
  return factor_frames(options, kAllFactors);
}

}  // namespace

Arena::Arena(Upstream& upstream, const ArenaOptions& options)
    : options_(options),
      pool_(upstream, static_cast<Frame>(all_frames(options))),
      zones_{Zone(records_), Zone(records_), Zone(records_)} {}

Status Arena::start() {
  if (!records_) return Status::OutOfMemory;
  auto const small_end = static_cast<Granules>(factor_frames(options_, kSmallFactor) * kFrameGranules);
  auto const plan_end = static_cast<Granules>(factor_frames(options_, kSmallFactor + kPlanFactor) * kFrameGranules);
  auto const end = static_cast<Granules>(all_frames(options_) * kFrameGranules);
  if (Status const s = pool_.start(end / kFrameGranules); s != Status::Ok) return s;
  // A plan's blocks have any size, as small ones do.
  if (!pointers_.start(records_, {.base = pool_.base(), .small_end = plan_end, .end = end})) return Status::OutOfMemory;
  std::array<Granules, 4> const bounds = {0, small_end, plan_end, end};
  for (std::size_t i = 0; i < zones_.size(); ++i)
    make_unmapped(zones_[i], *zones_[i].tiling.start(bounds[i], bounds[i + 1]));
  zones_[kPlanZone].tiling.map_offsets();
  return Status::Ok;
}

SizeIndex& Arena::index(Zone& zone, DomainId domain) {
  auto const i = static_cast<std::size_t>(domain);
  if (zone.holes.size() <= i) zone.holes.resize(i + 1);
  if (!zone.holes[i]) zone.holes[i] = std::make_unique<SizeIndex>(records_);
  return *zone.holes[i];
}

const SizeIndex* Arena::index_or_null(const Zone& zone, DomainId domain) {
  auto const i = static_cast<std::size_t>(domain);
  return i < zone.holes.size() ? zone.holes[i].get() : nullptr;
}

Record* Arena::take(const Want& want) {
  std::lock_guard const guard(lock_);
  if (records_.in_use() > RecordTable::kCapacity - kSpareRecords) return nullptr;
  auto const take_in = [&](Zone& zone) -> Record* {
    Record* best = nullptr;
    for (DomainId const domain : {want.domain, DomainId::Shared}) {
      const SizeIndex* const holes = index_or_null(zone, domain);
      Record* const hole = holes == nullptr ? nullptr : holes->best(want.granules);
      if (hole != nullptr && (best == nullptr || hole->granules < best->granules)) best = hole;
    }
    return best == nullptr ? nullptr : take_hole(zone, *best, want);
  };
  Record* const block = take_in(zone_for(want.granules));
  return block == nullptr && want.anywhere ? take_in(zones_[kPlanZone]) : block;
}

Record* Arena::take_from(DomainId from, const Want& want) {
  std::lock_guard const guard(lock_);
  if (records_.in_use() > RecordTable::kCapacity - kSpareRecords) return nullptr;
  Zone& zone = zone_for(want.granules);
  const SizeIndex* const holes = index_or_null(zone, from);
  Record* const hole = holes == nullptr ? nullptr : holes->best(want.granules);
  return hole == nullptr ? nullptr : take_hole(zone, *hole, want);
}

void Arena::release(Record& block, DomainId domain, std::uint64_t stamp) {
  std::lock_guard const guard(lock_);
  pointers_.withdraw(block);
  block.capture = 0;
  block.planned = false;
  block.used = ++tick_;
  make_hole(zone_of(block.offset), block, domain, stamp);
}

void Arena::promote(DomainId domain, std::uint64_t passed) {
  std::lock_guard const guard(lock_);
  for (Zone& zone : zones_) {
    const SizeIndex* const holes = index_or_null(zone, domain);
    if (holes == nullptr || holes->count() == 0) continue;
    std::vector<Record*> done;
    holes->for_each(1, [&](Record& hole) {
      if (hole.stamp <= passed) done.push_back(&hole);
    });
    for (Record* const hole : done) {
      // A neighbour may have swallowed this one when it was promoted itself; then it is everybody's already.
      if (hole->state.load(std::memory_order_relaxed) != State::Hole || hole->domain != domain) continue;
      take_out(zone, *hole);
      make_hole(zone, *hole, DomainId::Shared, 0);
    }
  }
}

void Arena::keep_planned(bool keep) {
  std::lock_guard const guard(lock_);
  keeps_planned_ = keep;
}

bool Arena::has_holes_of(DomainId domain) const {
  std::lock_guard const guard(lock_);
  return std::any_of(zones_.begin(), zones_.end(), [&](const Zone& zone) {
    const SizeIndex* const holes = index_or_null(zone, domain);
    return holes != nullptr && holes->count() != 0;
  });
}

Status Arena::take_whole(std::uint64_t bytes, Record** block) {
  std::uint64_t address = 0;
  pool_.calls().allocate.fetch_add(1, std::memory_order_relaxed);
  if (Status const s = pool_.upstream().allocate_block(bytes, &address); s != Status::Ok) return s;
  {
    std::lock_guard const guard(lock_);
    Record* const r = records_.in_use() > RecordTable::kCapacity - kSpareRecords ? nullptr : records_.make();
    if (r != nullptr) {
      r->whole = true;
      r->granules = to_granules(bytes);
      r->address.store(address, std::memory_order_relaxed);
      r->state.store(State::Live, std::memory_order_relaxed);
      if (pointers_.publish_elsewhere(*r)) {
        whole_granules_ += r->granules;
        *block = r;
        return Status::Ok;
      }
      records_.drop(*r);
    }
  }
  pool_.upstream().free_block(address);
  return Status::OutOfMemory;
}

Status Arena::drop_whole(Record& block) {
  std::uint64_t const address = block.address.load(std::memory_order_relaxed);
  {
    // Before the driver's call: afterwards another thread may be given the address.
    std::lock_guard const guard(lock_);
    pointers_.withdraw_elsewhere(block);
  }
  pool_.calls().free.fetch_add(1, std::memory_order_relaxed);
  Status const status = pool_.upstream().free_block(address);
  std::lock_guard const guard(lock_);
  if (status != Status::Ok && pointers_.publish_elsewhere(block)) {
    block.state.store(State::Live, std::memory_order_release);
    return status;
  }
  whole_granules_ -= block.granules;
  records_.drop(block);
  return status;
}

ArenaUse Arena::use() const {
  std::lock_guard const guard(lock_);
  ArenaUse use{.reserved_bytes = pool_.reserved_frames() * kFrameBytes,
               .stock_bytes = pool_.stock_frames() * kFrameBytes,
               .moved_frames = moved_frames_,
               .whole_bytes = whole_granules_ * kGranuleBytes,
               .lost_bytes = lost_frames_ * kFrameBytes};
  for (const Zone& zone : zones_)
    for (const auto& holes : zone.holes) {
      if (!holes || holes->count() == 0) continue;
      use.holes += holes->count();
      use.hole_bytes += holes->total_granules() * kGranuleBytes;
      use.largest_hole_bytes = std::max(use.largest_hole_bytes, to_bytes(holes->largest()->granules));
    }
  return use;
}

}  // namespace tidemark::allocator
