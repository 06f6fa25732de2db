// SPDX-License-Identifier: Apache-2.0
// Where a block goes for which no hole is large enough: into the run of holes and unmapped ranges that needs the fewest
// new frames, among those into the tightest run, among those to the lowest address.
#include <algorithm>
#include <tuple>

#include "allocator/core/arena.h"

namespace tidemark::allocator {

namespace {
// A run that alternates between holes and gaps without end is weighed at its first places only.
constexpr int kMostPlaces = 64;

bool is_unmapped(const Record& r) {
  return r.state.load(std::memory_order_relaxed) == State::Unmapped;
}
}  // namespace

bool Arena::usable(const Record& r, const Want& want, const GrowthLimit& limit) const {
  if (is_unmapped(r)) return true;
  if (r.state.load(std::memory_order_relaxed) != State::Hole) return false;
  if (r.domain == want.domain) return true;
  // Stamps of two streams cannot be compared: what is joined with a domain's own must be over.
  return r.domain == DomainId::Shared && r.stamp <= limit.sole_passed;
}

std::uint64_t Arena::frames_to_map(const Zone& zone, const Record& first, Granules start, Granules granules) const {
  std::uint64_t frames = 0;
  Granules const end = start + granules;
  for (const Record* r = &first; r != nullptr && r->offset < end; r = zone.tiling.after(*r))
    if (is_unmapped(*r))
      frames += (frame_ceil(std::min(end, r->end())) - frame_floor(std::max(start, r->offset))) / kFrameGranules;
  return frames;
}

void Arena::weigh_run(const Zone& zone, Record& first, const Want& want, const GrowthLimit& limit, Spot& best) const {
  Granules const run_begin = first.offset;
  Granules run_end = first.end();
  for (const Record* r = &first; r != nullptr && usable(*r, want, limit); r = zone.tiling.after(*r)) run_end = r->end();
  if (run_end - run_begin < want.granules) return;
  bool const high = want.lifetime == Lifetime::Long;
  auto const consider = [&](Record* holder, Granules start) {
    if (start < run_begin || start + want.granules > run_end || start > run_end) return;
    while (holder->offset > start) holder = zone.tiling.before(*holder);
    while (holder->end() <= start) holder = zone.tiling.after(*holder);
    Spot const spot{.first = holder,
                    .start = start,
                    .frames = frames_to_map(zone, *holder, start, want.granules),
                    .rest = run_end - run_begin - want.granules};
    auto const key = [&](const Spot& p) { return std::tuple(p.frames, p.rest, high ? ~p.start : p.start); };
    if (best.first == nullptr || key(spot) < key(best)) best = spot;
  };
  int places = 0;
  for (Record* r = &first; r != nullptr && r->offset < run_end && places < kMostPlaces; r = zone.tiling.after(*r)) {
    ++places;
    consider(r, r->offset);
    if (!is_unmapped(*r) || high) consider(r, r->end() - want.granules);
  }
}

Arena::Spot Arena::best_place(Zone& zone, const Want& want, const GrowthLimit& limit) const {
  if (!pool_.can_map()) return best_segment_place(zone, want);
  Spot best;
  for (std::uint32_t id = zone.unmapped; id != 0;) {
    const Record& gap = records_.at(id);
    const Record* first = &gap;
    bool has_earlier_gap = false;
    for (const Record* r = zone.tiling.before(gap); r != nullptr && usable(*r, want, limit);
         r = zone.tiling.before(*r)) {
      first = r;
      if (is_unmapped(*r)) has_earlier_gap = true;
    }
    // A run is weighed at its first gap, once.
    if (!has_earlier_gap) weigh_run(zone, const_cast<Record&>(*first), want, limit, best);
    id = gap.right;
  }
  return best;
}

// Segments lie anywhere in truth: in the tiling an unmapped frame stays on each side, so that none ever meets another.
Arena::Spot Arena::best_segment_place(const Zone& zone, const Want& want) const {
  Spot best;
  Granules const needed = frame_ceil(want.granules) + 2 * kFrameGranules;
  for (std::uint32_t id = zone.unmapped; id != 0; id = records_.at(id).right) {
    const Record& gap = records_.at(id);
    if (gap.granules < needed || (best.first != nullptr && gap.granules >= best.rest)) continue;
    best = {.first = const_cast<Record*>(&gap),
            .start = gap.offset + kFrameGranules,
            .frames = frame_ceil(want.granules) / kFrameGranules,
            .rest = gap.granules};
  }
  return best;
}

}  // namespace tidemark::allocator
