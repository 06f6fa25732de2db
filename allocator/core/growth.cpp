// SPDX-License-Identifier: Apache-2.0
// A block that needs frames: under the lock everything involved is made Busy and the pieces are chosen; then the driver
// is called without it; then the books are brought up to date. A failure leaves no frame half mapped.
#include <algorithm>

#include "allocator/core/arena.h"
#include "base/invariant.h"

namespace tidemark::allocator {

Status Arena::grow(const Want& want, const GrowthLimit& limit, Record** block) {
  Growth growth;
  if (!begin(want, limit, growth)) return Status::OutOfMemory;
  Status const status = carry_out(growth, limit);
  *block = finish(growth, status);
  if (*block != nullptr) return Status::Ok;
  return status == Status::Ok ? Status::OutOfMemory : status;
}

bool Arena::begin(const Want& want, const GrowthLimit& limit, Growth& growth) {
  std::lock_guard const guard(lock_);
  if (records_.in_use() + kSpareRecords > RecordTable::kCapacity) return false;
  growth.want = want;
  growth.zone = &zone_for(want.granules);
  Spot const spot = best_place(*growth.zone, want, limit);
  if (spot.first == nullptr) return false;
  growth.start = spot.start;
  surround(growth, spot);
  plan_fillings(growth, limit);
  return true;
}

// Makes one Busy record of everything that the block and its new frames touch.
void Arena::surround(Growth& growth, const Spot& spot) {
  Zone& zone = *growth.zone;
  Granules const block_end = spot.start + growth.want.granules;
  Record* at = spot.first;
  DomainId domain = DomainId::Shared;
  std::uint64_t stamp = 0;
  while (at != nullptr && at->offset < block_end) {
    bool const hole = at->state.load(std::memory_order_relaxed) == State::Hole;
    Granules from = std::max(at->offset, spot.start);
    Granules to = std::min(at->end(), block_end);
    if (!hole) {
      from = frame_floor(from);
      to = frame_ceil(to);
    } else if (at->domain == growth.want.domain) {
      domain = at->domain;
      stamp = std::max(stamp, at->stamp);
    }
    Record* const part = isolate(zone, *at, from, to);
    at = zone.tiling.after(*part);
    if (growth.target == nullptr)
      growth.target = part;
    else
      zone.tiling.absorb_after(*growth.target);
  }
  growth.target->domain = domain;
  growth.target->stamp = stamp;
}

void Arena::plan_fillings(Growth& growth, const GrowthLimit& limit) {
  plan_fillings(growth, growth.target->offset / kFrameGranules, frame_ceil(growth.target->end()) / kFrameGranules,
                limit);
}

void Arena::plan_fillings(Growth& growth, Frame first, Frame last, const GrowthLimit& limit) {
  struct Run {
    Frame at;
    Frame count;
  };
  std::vector<Run> runs;
  for (Frame f = first; f < last; ++f) {
    if (pool_.shown(f) != 0) continue;
    if (!runs.empty() && runs.back().at + runs.back().count == f)
      ++runs.back().count;
    else
      runs.push_back({f, 1});
  }
  auto const put = [&](Run& run, PieceId id, const Piece& piece) {
    growth.fillings.push_back({.id = id, .piece = piece, .at = run.at});
    run.at += piece.frames;
    run.count -= piece.frames;
  };
  Frame needed = 0;
  Frame widest = 0;
  for (Run& run : runs) {
    while (PieceId const id = run.count == 0 ? 0 : pool_.take_from_stock(run.count)) put(run, id, pool_.piece(id));
    needed += run.count;
    widest = std::max(widest, run.count);
  }
  if (options_.stitch && limit.stitch && needed != 0 && pool_.can_map()) steal(growth, needed, widest, limit);
  std::size_t next = 0;
  for (Run& run : runs) {
    for (; next < growth.stolen.size() && growth.stolen_pieces[next].frames <= run.count; ++next)
      put(run, growth.stolen[next], growth.stolen_pieces[next]);
    while (run.count != 0) put(run, 0, {.frames = new_piece_frames(run.count)});
  }
  // What was taken and fits nowhere goes into stock when it is unmapped.
  for (; next < growth.stolen.size(); ++next)
    growth.fillings.push_back({.id = growth.stolen[next], .piece = growth.stolen_pieces[next], .spare = true});
}

Frame Arena::new_piece_frames(Frame at_most) const {
  if (!pool_.can_map()) return at_most;
  // Larger pieces cost fewer calls but can move only as a whole: worth it where they are a small part of what there is.
  std::uint64_t const reserved = pool_.reserved_frames() * kFrameBytes;
  std::size_t order = 0;
  while (order < options_.larger_pieces_from_bytes.size() && reserved >= options_.larger_pieces_from_bytes[order] &&
         kPieceFrames[order + 1] <= at_most)
    ++order;
  return kPieceFrames[order];
}

void Arena::steal(Growth& growth, Frame frames, Frame at_most, const GrowthLimit& limit) {
  for (const Loot& loot : all_loot(limit)) {
    if (frames == 0) break;
    // From the high end, so that low addresses stay dense.
    Frame first = loot.last;
    Frame taken = 0;
    while (first > loot.first && taken < frames) {
      const Piece& piece = pool_.piece(pool_.shown(first - 1));
      if (piece.frames > at_most || piece.frames > frames - taken) break;
      first -= piece.frames;
      taken += piece.frames;
    }
    if (taken == 0) continue;
    growth.robbed.push_back(rob(*loot.hole, first, loot.last, growth.stolen));
    frames -= taken;
    moved_frames_ += taken;
  }
  // Large ones first: they are the hardest to place.
  std::sort(growth.stolen.begin(), growth.stolen.end(),
            [&](PieceId a, PieceId b) { return pool_.piece(a).frames > pool_.piece(b).frames; });
  for (PieceId const id : growth.stolen) growth.stolen_pieces.push_back(pool_.piece(id));
}

Status Arena::carry_out(Growth& growth, const GrowthLimit& limit) {
  Status status = Status::Ok;
  growth.unmapped.resize(growth.stolen.size());
  for (std::size_t i = 0; i < growth.stolen.size(); ++i) {
    growth.unmapped[i] = pool_.unmap(growth.stolen_pieces[i]) == Status::Ok;
    if (!growth.unmapped[i]) status = Status::Failed;
  }
  for (Filling& filling : growth.fillings) {
    if (status != Status::Ok) return status;
    if (filling.id != 0) continue;
    if (!pool_.claim(filling.piece.frames, limit.frames)) return Status::OutOfMemory;
    status = pool_.create(filling.piece.frames, &filling.piece);
    filling.created = status == Status::Ok;
    if (!filling.created) pool_.unclaim(filling.piece.frames);
  }
  return status == Status::Ok ? map_fillings(growth) : status;
}

Status Arena::map_fillings(Growth& growth) {
  Status status = Status::Ok;
  for (Filling& filling : growth.fillings) {
    if (filling.spare || status != Status::Ok) continue;
    filling.piece.first = filling.at;
    status = pool_.map(filling.piece, filling.at);
    filling.mapped = status == Status::Ok;
  }
  // One call per contiguous run.
  for (std::size_t i = 0; i < growth.fillings.size() && status == Status::Ok;) {
    Frame const first = growth.fillings[i].at;
    Frame last = first;
    for (; i < growth.fillings.size() && (growth.fillings[i].spare || growth.fillings[i].at == last); ++i)
      if (!growth.fillings[i].spare) last += growth.fillings[i].piece.frames;
    if (last > first) status = pool_.set_access(first, last - first);
  }
  if (status == Status::Ok) return status;
  for (Filling& filling : growth.fillings)
    if (filling.mapped) filling.mapped = pool_.unmap(filling.piece) != Status::Ok;
  return status;
}

// The books of all pieces that were on their way; the mappings that the driver did not take back.
std::vector<Piece> Arena::book(Growth& growth, Status status) {
  std::vector<Piece> stuck;
  for (std::size_t i = 0; i < growth.stolen.size(); ++i)
    if (!growth.unmapped[i]) stuck.push_back(growth.stolen_pieces[i]);
  for (Filling& filling : growth.fillings) {
    if (filling.created) filling.id = pool_.adopt(filling.piece);
    auto const stolen = std::find(growth.stolen.begin(), growth.stolen.end(), filling.id);
    bool const lost =
        stolen != growth.stolen.end() && !growth.unmapped[static_cast<std::size_t>(stolen - growth.stolen.begin())];
    if (filling.id == 0 || lost) continue;
    if (!filling.mapped)
      pool_.put_in_stock(filling.id);
    else if (status == Status::Ok)
      pool_.attach(filling.id, filling.at);
    else
      stuck.push_back(filling.piece);
  }
  for (Record* const range : growth.robbed) settle_but(zone_of(range->offset), *range, stuck);
  return stuck;
}

Record* Arena::finish(Growth& growth, Status status) {
  std::lock_guard const guard(lock_);
  std::vector<Piece> const stuck = book(growth, status);
  Zone& zone = *growth.zone;
  if (status != Status::Ok) {
    settle_but(zone, *growth.target, stuck);
    for (const Piece& piece : stuck) lost_frames_ += piece.frames;
    return nullptr;
  }
  Record* block = growth.target;
  if (growth.start > block->offset) {
    Record* const rest = zone.tiling.split(*block, growth.start - block->offset);
    settle(zone, *block);
    block = rest;
  }
  if (growth.want.granules < block->granules) settle(zone, *zone.tiling.split(*block, growth.want.granules));
  Record* const delivered = deliver(*block, growth.want);
  if (delivered == nullptr) make_hole(zone, *block, block->domain, block->stamp);
  return delivered;
}

}  // namespace tidemark::allocator
