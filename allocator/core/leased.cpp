// SPDX-License-Identifier: Apache-2.0
// The arena's side of a lease: address space, frames and records for places that its holder hands out.
#include <algorithm>

#include "allocator/core/arena.h"
#include "base/invariant.h"

namespace tidemark::allocator {

Arena::Leased* Arena::lease(const Want& want, const GrowthLimit& limit) {
  std::lock_guard const guard(lock_);
  if (!pool_.can_map() || records_.in_use() + kSpareRecords > RecordTable::kCapacity) return nullptr;
  Zone& zone = zones_[kPlanZone];
  Granules const wanted = frame_ceil(want.granules);
  Granules begin = 0;
  bool within = false;
  for (Record* r = zone.tiling.first(); r != nullptr; r = zone.tiling.after(*r)) {
    bool const free = usable(*r, want, limit);
    if (free && !within) begin = frame_ceil(r->offset);
    within = free;
    if (!free || frame_floor(r->end()) < begin || frame_floor(r->end()) - begin < wanted) continue;
    Growth growth{.want = {.domain = want.domain, .granules = wanted}, .start = begin, .zone = &zone};
    surround(growth, {.first = zone.tiling.at(begin), .start = begin});
    leases_.push_back(std::make_unique<Leased>());
    leases_.back()->range = growth.target;
    return leases_.back().get();
  }
  return nullptr;
}

const Arena::Leased* Arena::lease_at(const Record& range) const {
  if (range.state.load(std::memory_order_relaxed) != State::Busy) return nullptr;
  auto const at = std::find_if(leases_.begin(), leases_.end(), [&](const auto& l) { return l->range == &range; });
  return at == leases_.end() ? nullptr : at->get();
}

std::vector<Arena::Stretch> Arena::stretches(const Want& want, const GrowthLimit& limit) const {
  std::lock_guard const guard(lock_);
  std::vector<Stretch> all;
  if (!pool_.can_map()) return all;
  for (const Zone& zone : zones_) {
    Granules const least = &zone == &zones_[kLargeZone] ? kSmallGranules : 1;
    auto const look_at = [&](Record& hole) {
      if (!usable(hole, want, limit)) return;
      Loot const loot = loot_of(hole);
      const Record* const behind = zone.tiling.after(hole);
      bool const open = behind != nullptr && behind->state.load(std::memory_order_relaxed) == State::Unmapped;
      auto const add = [&](Granules begin, Granules end) {
        if (end <= begin || end - begin < std::max(least, want.granules)) return;
        all.push_back({.offset = begin,
                       .granules = end - begin,
                       .least = least,
                       .room = open && end == hole.end() ? behind->granules : 0});
      };
      add(hole.offset, loot.hole == nullptr ? hole.end() : loot.first * kFrameGranules);
      if (loot.hole != nullptr) add(loot.last * kFrameGranules, hole.end());
    };
    if (const SizeIndex* const holes = index_or_null(zone, want.domain)) holes->for_each(want.granules, look_at);
    if (want.domain == DomainId::Shared) continue;
    if (const SizeIndex* const holes = index_or_null(zone, DomainId::Shared)) holes->for_each(want.granules, look_at);
  }
  std::sort(all.begin(), all.end(), [](const Stretch& a, const Stretch& b) {
    return a.granules != b.granules ? a.granules > b.granules : a.offset < b.offset;
  });
  return all;
}

Record* Arena::hole_around(const Stretch& stretch, DomainId domain, const GrowthLimit& limit) {
  Record* found = nullptr;
  const Zone& zone = zone_of(stretch.offset);
  for (DomainId const whose : {domain, DomainId::Shared})
    if (const SizeIndex* const holes = index_or_null(zone, whose))
      holes->for_each(stretch.granules, [&](Record& hole) {
        bool const around = hole.offset <= stretch.offset && stretch.offset + stretch.granules <= hole.end();
        if (around && usable(hole, {.domain = domain}, limit)) found = &hole;
      });
  return found;
}

Arena::Leased* Arena::lease(const Stretch& stretch, DomainId domain, const GrowthLimit& limit) {
  std::lock_guard const guard(lock_);
  if (!pool_.can_map() || records_.in_use() + kSpareRecords > RecordTable::kCapacity) return nullptr;
  Record* const hole = hole_around(stretch, domain, limit);
  if (hole == nullptr) return nullptr;
  Zone& zone = zone_of(stretch.offset);
  Granules const end = stretch.offset + stretch.granules + frame_ceil(stretch.room);
  for (const Record* r = hole; r->end() < end;) {
    r = zone.tiling.after(*r);
    if (r == nullptr || !usable(*r, {.domain = domain}, limit)) return nullptr;
  }
  Growth growth{.want = {.domain = domain, .granules = end - stretch.offset}, .start = stretch.offset, .zone = &zone};
  surround(growth, {.first = hole, .start = stretch.offset});
  leases_.push_back(std::make_unique<Leased>());
  leases_.back()->range = growth.target;
  return leases_.back().get();
}

bool Arena::change_places(std::span<Change> changes) {
  std::lock_guard const guard(lock_);
  std::size_t all = 0;
  for (const Change& change : changes) all += change.wanted.size();
  if (records_.in_use() + all + kSpareRecords > RecordTable::kCapacity) return false;
  for (Change& change : changes) {
    Leased& lease = *change.lease;
    for (Place& place : change.wanted) {
      if (place.record != nullptr) continue;
      Record& r = *records_.make();
      r.offset = lease.range->offset + place.offset;
      r.granules = place.granules;
      r.planned = true;
      r.leased.store(true, std::memory_order_relaxed);
      r.address.store(pool_.address_of(r.offset), std::memory_order_relaxed);
      r.state.store(State::Idle, std::memory_order_relaxed);
      place.record = &r;
    }
    for (Record* const r : change.gone) {
      pointers_.turn_from(*r);
      records_.drop(*r);
    }
    lease.places.clear();
    for (const Place& place : change.wanted) lease.places.push_back(place.record);
  }
  return true;
}

FrameRun Arena::frames_under(const Leased& lease, Granules begin, Granules end) const {
  return {(lease.range->offset + begin) / kFrameGranules, frame_ceil(lease.range->offset + end) / kFrameGranules};
}

bool Arena::lacks_frames(const Leased& lease, Granules begin, Granules end) const {
  std::lock_guard const guard(lock_);
  return lacking(frames_under(lease, begin, end)) != 0;
}

std::uint64_t Arena::lacking(const FrameRun& run) const {
  std::uint64_t frames = 0;
  for (Frame f = run.first; f < run.last; ++f) frames += pool_.shown(f) == 0 ? 1 : 0;
  return frames;
}

std::uint64_t Arena::movable_frames(const GrowthLimit& limit) const {
  std::uint64_t frames = pool_.stock_frames();
  if (options_.stitch && limit.stitch)
    for (const Loot& loot : all_loot(limit)) frames += loot.last - loot.first;
  return frames;
}

Status Arena::map_leased(Leased& lease, Granules begin, Granules end, const GrowthLimit& limit) {
  Growth growth;
  FrameRun run;
  {
    std::lock_guard const guard(lock_);
    run = frames_under(lease, begin, end);
    auto const moves = [&](Frame f) {
      return std::any_of(lease.moving.begin(), lease.moving.end(),
                         [&](const FrameRun& m) { return m.first <= f && f < m.last; });
    };
    bool complete = true;
    for (Frame f = run.first; f < run.last; ++f) {
      if (moves(f)) return Status::NotReady;
      complete = complete && pool_.shown(f) != 0;
    }
    if (complete) return Status::Ok;
    // Where pieces are large, whole ones are mapped: the frames beside are needed soon.
    FrameRun const all = frames_under(lease, 0, lease.height);
    Frame const unit = new_piece_frames(kPieceFrames.back());
    auto const joins = [&](Frame f) { return pool_.shown(f) == 0 && !moves(f); };
    while ((run.first - all.first) % unit != 0 && joins(run.first - 1)) --run.first;
    while ((run.last - all.first) % unit != 0 && run.last < all.last && joins(run.last)) ++run.last;
    if (!limit.grow && lacking(run) > movable_frames(limit)) return Status::OutOfMemory;
    plan_fillings(growth, run.first, run.last, limit);
    lease.moving.push_back(run);
  }
  Status const status = carry_out(growth, limit);
  std::lock_guard const guard(lock_);
  std::vector<Piece> const stuck = book(growth, status);
  std::erase_if(lease.moving, [&](const FrameRun& m) { return m.first == run.first && m.last == run.last; });
  if (status == Status::Ok) return status;
  for (const Piece& piece : stuck) {
    lost_frames_ += piece.frames;
    if (piece.first < run.first || piece.first >= run.last) continue;  // where it was taken from
    lease.stuck.push_back(piece);
    lease.moving.push_back({piece.first, piece.first + piece.frames});
  }
  return status;
}

std::uint64_t Arena::trim_lease(Leased& lease, Granules above) {
  std::vector<PieceId> ids;
  std::vector<Piece> pieces;
  FrameRun run;
  {
    std::lock_guard const guard(lock_);
    Granules top = lease.range->offset + std::max(lease.height, above);
    for (const Record* const block : blocks_of(lease)) top = std::max(top, block->end());
    run = {frame_ceil(top) / kFrameGranules, lease.range->end() / kFrameGranules};
    if (!lease.moving.empty()) return 0;
    for (Frame f = run.first; f < run.last;) {
      PieceId const id = pool_.shown(f);
      const Piece& piece = pool_.piece(id);
      bool const within = id != 0 && piece.first >= run.first && piece.first + piece.frames <= run.last;
      f = id == 0 ? f + 1 : piece.first + piece.frames;
      if (!within) continue;
      ids.push_back(id);
      pieces.push_back(piece);
      pool_.detach(id);
    }
    if (ids.empty()) return 0;
    lease.moving.push_back(run);
  }
  std::uint64_t given = 0;
  std::vector<bool> unmapped(pieces.size());
  std::vector<bool> gone(pieces.size());
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    unmapped[i] = pool_.unmap(pieces[i]) == Status::Ok;
    gone[i] = unmapped[i] && pool_.destroy(pieces[i]) == Status::Ok;
  }
  std::lock_guard const guard(lock_);
  lease.moving.clear();
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (gone[i]) {
      given += pieces[i].frames;
      pool_.forget(ids[i]);
      continue;
    }
    lost_frames_ += pieces[i].frames;
    if (unmapped[i]) continue;
    lease.stuck.push_back(pieces[i]);
    lease.moving.push_back({pieces[i].first, pieces[i].first + pieces[i].frames});
  }
  return given * kFrameBytes;
}

void Arena::end_lease(Leased& lease, std::span<Record* const> blocks, DomainId domain, std::uint64_t stamp) {
  std::lock_guard const guard(lock_);
  TIDEMARK_INVARIANT(lease.moving.size() == lease.stuck.size());
  Zone& zone = zone_of(lease.range->offset);
  for (Record* const r : lease.places) {
    if (r->state.load(std::memory_order_relaxed) != State::Idle) continue;
    pointers_.turn_from(*r);
    records_.drop(*r);
  }
  Record* rest = lease.range;
  rest->domain = domain;
  rest->stamp = stamp;
  rest->used = ++tick_;
  for (Record* const block : blocks) {
    if (block->offset > rest->offset) {
      Record* const from = zone.tiling.split(*rest, block->offset - rest->offset);
      settle_but(zone, *rest, lease.stuck);
      rest = from;
    }
    Record* const behind = block->granules < rest->granules ? zone.tiling.split(*rest, block->granules) : nullptr;
    zone.tiling.replace(*rest, *block);
    block->leased.store(false, std::memory_order_release);
    large_among_small_ |= &zone == &zones_[kSmallZone] && block->granules > kSmallGranules;
    rest = behind;
  }
  if (rest != nullptr) settle_but(zone, *rest, lease.stuck);
  std::erase_if(leases_, [&](const auto& l) { return l.get() == &lease; });
}

std::vector<const Record*> Arena::blocks_of(const Leased& lease) {
  std::vector<const Record*> blocks;
  for (const Record* const r : lease.places) {
    State const state = r->state.load(std::memory_order_relaxed);
    if (state != State::Idle && state != State::Busy) blocks.push_back(r);
  }
  std::sort(blocks.begin(), blocks.end(), [](const Record* a, const Record* b) { return a->offset < b->offset; });
  return blocks;
}

std::string Arena::check_leases() const {
  for (const auto& lease : leases_) {
    Granules end = lease->range->offset;
    for (const Record* const block : blocks_of(*lease)) {
      auto const where = [&] { return " at offset " + std::to_string(to_bytes(block->offset)); };
      if (block->offset < end) return "two blocks of a lease share memory" + where();
      end = block->end();
      for (Frame f = block->offset / kFrameGranules; f < frame_ceil(end) / kFrameGranules; ++f)
        if (pool_.shown(f) == 0) return "a block of a lease has no memory" + where();
      if (pointers_.find(block->address.load(std::memory_order_relaxed)) != block)
        return "a pointer into a lease is not found" + where();
    }
    if (end > lease->range->end()) return "a block is not in its lease";
  }
  return {};
}

}  // namespace tidemark::allocator
