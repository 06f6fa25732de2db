// SPDX-License-Identifier: Apache-2.0
// Records change their state here, and nowhere else does an index, the list of unmapped ranges or the pointer table.
#include "allocator/core/arena.h"
#include "base/invariant.h"

namespace tidemark::allocator {

namespace {
bool is(const Record* r, State state) {
  return r != nullptr && r->state.load(std::memory_order_relaxed) == state;
}
}  // namespace

void Arena::take_out(Zone& zone, Record& r) {
  if (is(&r, State::Hole)) {
    index(zone, r.domain).erase(r);
  } else {
    TIDEMARK_INVARIANT(is(&r, State::Unmapped));
    (r.left == 0 ? zone.unmapped : records_.at(r.left).right) = r.right;
    if (r.right != 0) records_.at(r.right).left = r.left;
  }
  r.left = r.right = 0;
  r.state.store(State::Busy, std::memory_order_relaxed);
}

void Arena::make_hole(Zone& zone, Record& r, DomainId domain, std::uint64_t stamp) {
  Record* hole = &r;
  r.domain = domain;
  r.stamp = stamp;
  if (Record* const next = zone.tiling.after(r); is(next, State::Hole) && next->domain == domain) {
    take_out(zone, *next);
    zone.tiling.absorb_after(r);
  }
  if (Record* const previous = zone.tiling.before(r); is(previous, State::Hole) && previous->domain == domain) {
    take_out(zone, *previous);
    zone.tiling.absorb_after(*previous);
    hole = previous;
  }
  hole->state.store(State::Hole, std::memory_order_relaxed);
  index(zone, domain).insert(*hole);
}

void Arena::make_unmapped(Zone& zone, Record& r) {
  Record* range = &r;
  if (Record* const next = zone.tiling.after(r); is(next, State::Unmapped)) {
    take_out(zone, *next);
    zone.tiling.absorb_after(r);
  }
  if (Record* const previous = zone.tiling.before(r); is(previous, State::Unmapped)) {
    take_out(zone, *previous);
    zone.tiling.absorb_after(*previous);
    range = previous;
  }
  range->state.store(State::Unmapped, std::memory_order_relaxed);
  range->left = 0;
  range->right = zone.unmapped;
  if (zone.unmapped != 0) records_.at(zone.unmapped).left = records_.id(*range);
  zone.unmapped = records_.id(*range);
}

Record* Arena::isolate(Zone& zone, Record& r, Granules begin, Granules end) {
  bool const was_hole = is(&r, State::Hole);
  auto const put_back = [&](Record& rest) {
    if (was_hole)
      make_hole(zone, rest, rest.domain, rest.stamp);
    else
      make_unmapped(zone, rest);
  };
  take_out(zone, r);
  Record* middle = &r;
  if (begin > r.offset) {
    middle = zone.tiling.split(r, begin - r.offset);
    put_back(r);
  }
  if (end < middle->end()) put_back(*zone.tiling.split(*middle, end - middle->offset));
  return middle;
}

Record* Arena::take_hole(Zone& zone, Record& hole, const Want& want) {
  Granules const begin = want.lifetime == Lifetime::Long ? hole.end() - want.granules : hole.offset;
  Record* const block = isolate(zone, hole, begin, begin + want.granules);
  Record* const delivered = deliver(*block, want);
  if (delivered == nullptr) make_hole(zone, *block, block->domain, block->stamp);
  return delivered;
}

Record* Arena::deliver(Record& busy, const Want& want) {
  busy.address.store(pool_.address_of(busy.offset), std::memory_order_relaxed);
  if (!pointers_.publish(busy)) {
    pointers_.withdraw(busy);
    return nullptr;
  }
  busy.lifetime = want.lifetime;
  busy.capture = 0;
  busy.state.store(State::Live, std::memory_order_relaxed);
  return &busy;
}

void Arena::settle(Zone& zone, Record& busy) {
  for (Record* r = &busy; r != nullptr;) {
    Frame const first = r->offset / kFrameGranules;
    Frame const last = (r->end() + kFrameGranules - 1) / kFrameGranules;
    bool const mapped = pool_.shown(first) != 0;
    Frame same = first + 1;
    while (same < last && (pool_.shown(same) != 0) == mapped) ++same;
    Record* const rest = same < last ? zone.tiling.split(*r, same * kFrameGranules - r->offset) : nullptr;
    if (mapped)
      make_hole(zone, *r, r->domain, r->stamp);
    else
      make_unmapped(zone, *r);
    r = rest;
  }
}

// Address space over a mapping that may still stand is never used again: its record stays Busy.
void Arena::settle_but(Zone& zone, Record& busy, const std::vector<Piece>& stuck) {
  Record* r = &busy;
  Granules const end = busy.end();
  while (r != nullptr) {
    // The first stuck piece in the rest of the range.
    const Piece* next = nullptr;
    for (const Piece& piece : stuck) {
      Granules const at = piece.first * kFrameGranules;
      if (at >= r->offset && at < end && (next == nullptr || piece.first < next->first)) next = &piece;
    }
    if (next == nullptr) {
      settle(zone, *r);
      return;
    }
    Granules const from = next->first * kFrameGranules;
    Granules const to = from + next->frames * kFrameGranules;
    Record* stays = r;
    if (from > r->offset) {
      stays = zone.tiling.split(*r, from - r->offset);
      settle(zone, *r);
    }
    r = to < stays->end() ? zone.tiling.split(*stays, to - stays->offset) : nullptr;
  }
}

}  // namespace tidemark::allocator
