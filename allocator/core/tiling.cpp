// SPDX-License-Identifier: Apache-2.0
#include "allocator/core/tiling.h"

#include <algorithm>
#include <iterator>

#include "base/invariant.h"

namespace tidemark::allocator {

Record* Tiling::start(Granules begin, Granules end) {
  Record* const r = records_->make();
  if (r == nullptr) return nullptr;
  begin_ = begin;
  end_ = end;
  first_ = records_->id(*r);
  r->offset = begin;
  r->granules = end - begin;
  r->state.store(State::Unmapped, std::memory_order_relaxed);
  return r;
}

Record* Tiling::split(Record& r, Granules granules) {
  TIDEMARK_INVARIANT(granules > 0 && granules < r.granules);
  Record* const rest = records_->make();
  if (rest == nullptr) return nullptr;
  rest->offset = r.offset + granules;
  rest->granules = r.granules - granules;
  rest->domain = r.domain;
  rest->stamp = r.stamp;
  rest->used = r.used;
  rest->state.store(r.state.load(std::memory_order_relaxed), std::memory_order_relaxed);
  rest->before = records_->id(r);
  rest->after = r.after;
  if (Record* const next = after(r)) next->before = records_->id(*rest);
  r.after = records_->id(*rest);
  r.granules = granules;
  if (mapped_) by_offset_[rest->offset] = records_->id(*rest);
  return rest;
}

void Tiling::absorb_after(Record& r) {
  Record& gone = *after(r);
  if (mapped_) by_offset_.erase(gone.offset);
  r.granules += gone.granules;
  r.stamp = std::max(r.stamp, gone.stamp);
  r.used = std::max(r.used, gone.used);
  r.after = gone.after;
  if (Record* const next = after(r)) next->before = records_->id(r);
  records_->drop(gone);
}

void Tiling::replace(Record& r, Record& block) {
  TIDEMARK_INVARIANT(r.offset == block.offset && r.granules == block.granules);
  block.before = r.before;
  block.after = r.after;
  std::uint32_t const id = records_->id(block);
  if (Record* const previous = before(r)) previous->after = id;
  if (Record* const next = after(r)) next->before = id;
  if (first_ == records_->id(r)) first_ = id;
  if (mapped_) by_offset_[block.offset] = id;
  records_->drop(r);
}

void Tiling::map_offsets() {
  mapped_ = true;
  by_offset_[begin_] = first_;
}

Record* Tiling::at(Granules offset) const {
  return &records_->at(std::prev(by_offset_.upper_bound(offset))->second);
}

bool Tiling::covers_everything() const {
  Granules at = begin_;
  std::uint32_t before = 0;
  for (const Record* r = first(); r != nullptr; r = after(*r)) {
    if (r->offset != at || r->granules == 0 || r->before != before) return false;
    if (mapped_ && (!by_offset_.contains(at) || by_offset_.at(at) != records_->id(*r))) return false;
    at = r->end();
    before = records_->id(*r);
  }
  return at == end_;
}

}  // namespace tidemark::allocator
