// SPDX-License-Identifier: Apache-2.0
// The arena's invariants, one by one. For tests and dev builds: it walks everything.
#include "allocator/core/arena.h"

namespace tidemark::allocator {

std::string Arena::check() const {
  std::lock_guard const guard(lock_);
  std::vector<std::uint64_t> holes;  // by domain: granules
  std::uint64_t shown_frames = 0;
  std::vector<bool> seen(pool_.piece_ids());
  Frame unseen = 0;  // records come in the order of their frames, and two may share one
  std::uint64_t showing = 0;
  auto const see = [&](Frame f) {
    PieceId const id = pool_.shown(f);
    if (id == 0 || f < unseen) return;
    unseen = f + 1;
    ++showing;
    if (seen[id]) return;
    seen[id] = true;
    shown_frames += pool_.piece(id).frames;
  };
  for (const Zone& zone : zones_) {
    if (!zone.tiling.covers_everything()) return "a zone has a gap or an overlap";
    holes.assign(zone.holes.size(), 0);
    std::uint64_t unmapped = 0;
    for (const Record* r = zone.tiling.first(); r != nullptr; r = zone.tiling.after(*r)) {
      auto const where = [&] { return " at offset " + std::to_string(to_bytes(r->offset)); };
      State const state = r->state.load(std::memory_order_relaxed);
      const Record* const next = zone.tiling.after(*r);
      State const next_state = next == nullptr ? State::None : next->state.load(std::memory_order_relaxed);
      if (state == State::Hole) {
        holes[static_cast<std::size_t>(r->domain)] += r->granules;
        if (next_state == State::Hole && next->domain == r->domain) return "two holes were not merged" + where();
      }
      if (state == State::Unmapped) {
        ++unmapped;
        if (r->offset % kFrameGranules != 0 || r->granules % kFrameGranules != 0) return "a crooked gap" + where();
        if (next_state == State::Unmapped) return "two gaps were not merged" + where();
      }
      // Unmapped ranges are far larger than all others: that nothing shows there follows from the sum.
      bool const settled = state != State::Busy && state != State::None;
      if (state != State::Unmapped)
        for (Frame f = r->offset / kFrameGranules; f < frame_ceil(r->end()) / kFrameGranules; ++f) {
          if (settled && pool_.shown(f) == 0) return "a frame is not mapped" + where();
          see(f);
        }
      if (!settled) continue;
      std::uint64_t const address = r->address.load(std::memory_order_relaxed);
      bool const block = state != State::Hole && state != State::Unmapped;
      if (block != (address != 0) || (block && pointers_.find(address) != r)) return "a pointer is not found" + where();
    }
    for (std::size_t i = 0; i < holes.size(); ++i)
      if (holes[i] != (zone.holes[i] ? zone.holes[i]->total_granules() : 0)) return "an index lost a hole";
    for (std::uint32_t id = zone.unmapped; id != 0; id = records_.at(id).right) --unmapped;
    if (unmapped != 0) return "the list of gaps lost one";
  }
  if (std::string broken = check_leases(); !broken.empty()) return broken;
  if (showing != pool_.shown_frames()) return "a frame is mapped where nothing is";
  if (shown_frames + pool_.stock_frames() + lost_frames_ > pool_.reserved_frames()) return "more frames than reserved";
  return {};
}

}  // namespace tidemark::allocator
