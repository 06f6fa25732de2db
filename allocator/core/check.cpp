// SPDX-License-Identifier: Apache-2.0
// The arena's invariants, one by one. For tests and dev builds: it walks everything.
#include <unordered_set>

#include "allocator/core/arena.h"

namespace tidemark::allocator {

std::string Arena::check() const {
  std::lock_guard const guard(lock_);
  std::vector<std::uint64_t> holes;  // by domain: granules
  std::uint64_t shown_frames = 0;
  std::unordered_set<PieceId> seen;
  for (const Zone& zone : zones_) {
    if (!zone.tiling.covers_everything()) return "a zone has a gap or an overlap";
    holes.assign(zone.holes.size(), 0);
    std::uint64_t unmapped = 0;
    for (const Record* r = zone.tiling.first(); r != nullptr; r = zone.tiling.after(*r)) {
      std::string const where = " at offset " + std::to_string(to_bytes(r->offset));
      State const state = r->state.load(std::memory_order_relaxed);
      const Record* const next = zone.tiling.after(*r);
      State const next_state = next == nullptr ? State::None : next->state.load(std::memory_order_relaxed);
      if (state == State::Hole) {
        holes[static_cast<std::size_t>(r->domain)] += r->granules;
        if (next_state == State::Hole && next->domain == r->domain) return "two holes were not merged" + where;
      }
      if (state == State::Unmapped) {
        ++unmapped;
        if (r->offset % kFrameGranules != 0 || r->granules % kFrameGranules != 0) return "a crooked gap" + where;
        if (next_state == State::Unmapped) return "two gaps were not merged" + where;
      }
      if (state == State::Busy || state == State::None) continue;
      for (Frame f = r->offset / kFrameGranules; f < frame_ceil(r->end()) / kFrameGranules; ++f) {
        if ((pool_.shown(f) != 0) == (state == State::Unmapped)) return "a frame is mapped wrongly" + where;
        if (pool_.shown(f) != 0) seen.insert(pool_.shown(f));
      }
      std::uint64_t const address = r->address.load(std::memory_order_relaxed);
      bool const block = state != State::Hole && state != State::Unmapped;
      if (block != (address != 0) || (block && pointers_.find(address) != r)) return "a pointer is not found" + where;
    }
    for (std::size_t i = 0; i < holes.size(); ++i)
      if (holes[i] != (zone.holes[i] ? zone.holes[i]->total_granules() : 0)) return "an index lost a hole";
    for (std::uint32_t id = zone.unmapped; id != 0; id = records_.at(id).right) --unmapped;
    if (unmapped != 0) return "the list of gaps lost one";
  }
  if (std::string broken = check_leases(); !broken.empty()) return broken;
  for (const auto& lease : leases_)
    for (Frame f = lease->range->offset / kFrameGranules; f < lease->range->end() / kFrameGranules; ++f)
      if (pool_.shown(f) != 0) seen.insert(pool_.shown(f));
  for (PieceId const id : seen) shown_frames += pool_.piece(id).frames;
  if (shown_frames + pool_.stock_frames() + lost_frames_ > pool_.reserved_frames()) return "more frames than reserved";
  return {};
}

}  // namespace tidemark::allocator
