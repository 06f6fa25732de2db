// SPDX-License-Identifier: Apache-2.0
// Whole pieces under holes: which there are, taking them away, giving them back to the driver.
#include <algorithm>
#include <tuple>

#include "allocator/core/arena.h"
#include "base/invariant.h"

namespace tidemark::allocator {

Arena::Loot Arena::loot_of(Record& hole) const {
  Frame first = (hole.offset + kFrameGranules - 1) / kFrameGranules;
  Frame last = hole.end() / kFrameGranules;
  if (first < last) {
    // A piece that begins before the hole or ends behind it stays.
    const Piece& low = pool_.piece(pool_.shown(first));
    if (low.first < first) first = low.first + low.frames;
  }
  if (first < last) {
    const Piece& high = pool_.piece(pool_.shown(last - 1));
    if (high.first + high.frames > last) last = high.first;
  }
  if (first >= last) return {};
  return {.hole = &hole, .first = first, .last = last, .rest = hole.granules - (last - first) * kFrameGranules};
}

// Where the least of a hole would be left over, it is of little use without its frames anyway; among those, the one
// that was not needed for the longest time.
std::vector<Arena::Loot> Arena::all_loot(const GrowthLimit& limit) const {
  std::vector<Loot> all;
  for (const Zone& zone : zones_) {
    const SizeIndex* const holes = index_or_null(zone, DomainId::Shared);
    bool const kept = keeps_planned_ && !limit.rob_plan && &zone == &zones_[kPlanZone];
    if (holes == nullptr || kept) continue;
    holes->for_each(kFrameGranules, [&](Record& hole) {
      if (hole.stamp > limit.sole_passed) return;
      if (Loot const loot = loot_of(hole); loot.hole != nullptr) all.push_back(loot);
    });
  }
  std::sort(all.begin(), all.end(), [](const Loot& a, const Loot& b) {
    return std::tuple(a.rest, a.hole->used, a.first) < std::tuple(b.rest, b.hole->used, b.first);
  });
  return all;
}

Record* Arena::rob(Record& hole, Frame first, Frame last, std::vector<PieceId>& pieces) {
  Record* const range = isolate(zone_of(hole.offset), hole, first * kFrameGranules, last * kFrameGranules);
  for (Frame f = first; f < last;) {
    PieceId const id = pool_.shown(f);
    f += pool_.piece(id).frames;
    pool_.detach(id);
    pieces.push_back(id);
  }
  return range;
}

std::uint64_t Arena::trim(std::uint64_t bytes, const GrowthLimit& limit) {
  std::uint64_t const wanted = round_up(bytes, kFrameBytes) / kFrameBytes;
  std::vector<Record*> ranges;
  std::vector<PieceId> mapped;
  std::vector<PieceId> stock;
  std::vector<Piece> pieces;
  {
    std::lock_guard const guard(lock_);
    returns_begun_.fetch_add(1, std::memory_order_acq_rel);
    std::uint64_t found = 0;
    while (PieceId const id = found < wanted ? pool_.take_from_stock(kPieceFrames.back()) : 0) {
      stock.push_back(id);
      found += pool_.piece(id).frames;
    }
    for (const Loot& loot : all_loot(limit)) {
      if (found >= wanted) break;
      Frame first = loot.last;
      while (first > loot.first && found + (loot.last - first) < wanted)
        first -= pool_.piece(pool_.shown(first - 1)).frames;
      found += loot.last - first;
      ranges.push_back(rob(*loot.hole, first, loot.last, mapped));
    }
    for (PieceId const id : mapped) pieces.push_back(pool_.piece(id));
    for (PieceId const id : stock) pieces.push_back(pool_.piece(id));
  }
  std::uint64_t given = 0;
  std::vector<Piece> stuck;
  std::vector<bool> gone(pieces.size());
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    bool const unmapped = i >= mapped.size() || pool_.unmap(pieces[i]) == Status::Ok;
    if (!unmapped) stuck.push_back(pieces[i]);
    gone[i] = unmapped && pool_.destroy(pieces[i]) == Status::Ok;
    if (gone[i]) given += pieces[i].frames;
  }
  std::lock_guard const guard(lock_);
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    if (gone[i])
      pool_.forget(i < mapped.size() ? mapped[i] : stock[i - mapped.size()]);
    else
      lost_frames_ += pieces[i].frames;
  }
  for (Record* const range : ranges) settle_but(zone_of(range->offset), *range, stuck);
  returns_ended_.fetch_add(1, std::memory_order_acq_rel);
  return given * kFrameBytes;
}

bool Arena::has_unpassed_frames(std::uint64_t sole_passed) const {
  std::lock_guard const guard(lock_);
  bool found = false;
  for (const Zone& zone : zones_)
    if (const SizeIndex* const holes = index_or_null(zone, DomainId::Shared))
      holes->for_each(kFrameGranules, [&](Record& hole) {
        found = found || (hole.stamp > sole_passed && loot_of(hole).hole != nullptr);
      });
  return found;
}

// Of whole pieces within a free and mapped range.
std::uint64_t Arena::whole_frames(Granules begin, Granules end) const {
  Record run;
  run.offset = begin;
  run.granules = end - begin;
  Loot const loot = loot_of(run);
  return loot.last - loot.first;
}

// The same for a free range that is mapped in part.
std::uint64_t Arena::whole_mapped_frames(Granules begin, Granules end) const {
  std::uint64_t frames = 0;
  for (Frame f = frame_ceil(begin) / kFrameGranules; f < end / kFrameGranules;) {
    Frame last = f;
    while (last < end / kFrameGranules && pool_.shown(last) != 0) ++last;
    if (last > f) frames += whole_frames(f * kFrameGranules, last * kFrameGranules);
    f = last + 1;
  }
  return frames;
}

std::uint64_t Arena::returnable_bytes() const {
  std::lock_guard const guard(lock_);
  std::uint64_t frames = pool_.stock_frames();
  for (const Zone& zone : zones_) {
    // A run of holes and free blocks would be one hole, and so would what is free of a lease between them; what is
    // under it in whole pieces can go.
    Granules begin = 0;
    Granules end = 0;
    auto const count_run = [&] { frames += end > begin ? whole_mapped_frames(begin, end) : 0; };
    for (const Record* r = zone.tiling.first(); r != nullptr; r = zone.tiling.after(*r)) {
      State const state = r->state.load(std::memory_order_relaxed);
      const Leased* const lease = lease_at(*r);
      bool const counts = state == State::Hole || state == State::Cached || state == State::Pending || lease != nullptr;
      if (!counts || begin == end) {
        count_run();
        begin = r->offset;
        end = r->offset;
      }
      if (lease != nullptr)
        for (const Record* const block : blocks_of(*lease)) {
          end = block->offset;
          count_run();
          begin = end = block->end();
        }
      if (counts) end = r->end();
    }
    count_run();
  }
  return frames * kFrameBytes;
}

}  // namespace tidemark::allocator
