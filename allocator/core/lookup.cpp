// SPDX-License-Identifier: Apache-2.0
// From an address inside of a block to the block, and over everything that is mapped.
#include <algorithm>
#include <mutex>

#include "allocator/core/arena.h"

namespace tidemark::allocator {

// Where the address lies in address space; `end` when no piece shows there.
Granules PagePool::offset_of(std::uint64_t address, Granules end) const {
  if (base_ != 0) {
    std::uint64_t const at = (address - base_) / kGranuleBytes;
    return at < end ? static_cast<Granules>(at) : end;
  }
  for (const Piece& segment : pieces_)
    if (segment.frames != 0 && address - segment.segment_address < segment.frames * kFrameBytes)
      return static_cast<Granules>(segment.first * kFrameGranules +
                                   (address - segment.segment_address) / kGranuleBytes);
  return end;
}

Record* Arena::holding(std::uint64_t address) const {
  std::lock_guard const guard(lock_);
  Granules const end = zones_[kLargeZone].tiling.end();
  Granules const offset = pool_.offset_of(address, end);
  if (offset >= end) return nullptr;
  for (const auto& lease : leases_)
    if (lease->range->offset <= offset && offset < lease->range->end()) return holding(*lease, offset);
  const Zone& zone = zone_of(offset);
  Record* r = &zone == &zones_[kPlanZone] ? zone.tiling.at(offset) : pointers_.last_before(offset, zone.tiling.begin());
  if (r == nullptr && large_among_small_)
    for (r = zone.tiling.first(); r != nullptr && r->end() <= offset;) r = zone.tiling.after(*r);
  return r != nullptr && r->offset <= offset && offset < r->end() ? r : nullptr;
}

// Places are in the order of their offsets; of those that are not Idle, the last one that begins before the offset is
// the only one that can hold it.
Record* Arena::holding(const Leased& lease, Granules offset) {
  auto at = std::upper_bound(lease.places.begin(), lease.places.end(), offset,
                             [](Granules o, const Record* r) { return o < r->offset; });
  while (at != lease.places.begin()) {
    Record* const r = *--at;
    if (r->state.load(std::memory_order_relaxed) != State::Idle) return offset < r->end() ? r : nullptr;
  }
  return nullptr;
}

Status Arena::renew_access() {
  // Pieces that are on their way get their access when they are mapped, and those who do that ask for it anew.
  std::vector<Piece> mapped;
  {
    std::lock_guard const guard(lock_);
    auto const add = [&](const Record& r) {
      for (Frame f = r.offset / kFrameGranules; f < (r.end() + kFrameGranules - 1) / kFrameGranules; ++f) {
        if (pool_.shown(f) == 0) continue;
        Piece const piece = pool_.piece(pool_.shown(f));
        if (mapped.empty() || mapped.back().first != piece.first) mapped.push_back(piece);
      }
    };
    for (const Zone& zone : zones_)
      for (const Record* r = zone.tiling.first(); r != nullptr; r = zone.tiling.after(*r)) {
        State const state = r->state.load(std::memory_order_relaxed);
        if (state != State::Unmapped && state != State::Busy) add(*r);
      }
    for (const auto& lease : leases_) add(*lease->range);
  }
  Status all = Status::Ok;
  for (const Piece& piece : mapped)
    if (Status const s = pool_.set_access(piece.first, piece.frames); s != Status::Ok) all = s;
  return all;
}

}  // namespace tidemark::allocator
