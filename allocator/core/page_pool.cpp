// SPDX-License-Identifier: Apache-2.0
#include "allocator/core/page_pool.h"

#include "base/invariant.h"

namespace tidemark::allocator {

namespace {
std::size_t order_of(Frame frames) {
  std::size_t order = 0;
  while (order + 1 < kPieceFrames.size() && kPieceFrames[order] < frames) ++order;
  return order;
}
std::uint64_t bytes_of(Frame frames) {
  return frames * kFrameBytes;
}
void count(std::atomic<std::uint64_t>& calls) {
  calls.fetch_add(1, std::memory_order_relaxed);
}
}  // namespace

Status PagePool::start(Frame frames) {
  if (!shown_) return Status::OutOfMemory;
  return can_map() ? upstream_.reserve(bytes_of(frames), &base_) : Status::Ok;
}

Status PagePool::create(Frame frames, Piece* piece) {
  *piece = {.frames = frames};
  if (!can_map()) {
    count(calls_.allocate);
    return upstream_.allocate_block(bytes_of(frames), &piece->segment_address);
  }
  count(calls_.create);
  return upstream_.create(bytes_of(frames), &piece->handle);
}

Status PagePool::map(const Piece& piece, Frame at) {
  if (!can_map()) return Status::Ok;
  count(calls_.map);
  return upstream_.map(base_ + bytes_of(at), bytes_of(piece.frames), piece.handle);
}

Status PagePool::unmap(const Piece& piece) {
  if (!can_map()) return Status::Ok;
  count(calls_.unmap);
  return upstream_.unmap(base_ + bytes_of(piece.first), bytes_of(piece.frames));
}

Status PagePool::set_access(Frame first, Frame frames) {
  if (!can_map()) return Status::Ok;
  count(calls_.set_access);
  return upstream_.set_access(base_ + bytes_of(first), bytes_of(frames));
}

Status PagePool::destroy(const Piece& piece) {
  if (!can_map()) {
    count(calls_.free);
    return upstream_.free_block(piece.segment_address);
  }
  count(calls_.destroy);
  return upstream_.destroy(piece.handle);
}

PieceId PagePool::adopt(const Piece& piece) {
  if (unused_.empty()) {
    pieces_.push_back(piece);
    return static_cast<PieceId>(pieces_.size() - 1);
  }
  PieceId const id = unused_.back();
  unused_.pop_back();
  pieces_[id] = piece;
  return id;
}

void PagePool::forget(PieceId id) {
  unclaim(pieces_[id].frames);
  pieces_[id] = {};
  unused_.push_back(id);
}

void PagePool::attach(PieceId id, Frame at) {
  Piece& piece = pieces_[id];
  piece.first = at;
  for (Frame f = at; f < at + piece.frames; ++f) {
    TIDEMARK_INVARIANT(shown_[f] == 0);
    shown_[f] = id;
  }
  shown_frames_ += piece.frames;
}

void PagePool::detach(PieceId id) {
  const Piece& piece = pieces_[id];
  for (Frame f = piece.first; f < piece.first + piece.frames; ++f) {
    TIDEMARK_INVARIANT(shown_[f] == id);
    shown_[f] = 0;
  }
  shown_frames_ -= piece.frames;
}

void PagePool::put_in_stock(PieceId id) {
  stock_[order_of(pieces_[id].frames)].push_back(id);
  stock_frames_ += pieces_[id].frames;
}

PieceId PagePool::take_from_stock(Frame at_most) {
  for (std::size_t order = stock_.size(); order-- > 0;) {
    if (kPieceFrames[order] > at_most || stock_[order].empty()) continue;
    PieceId const id = stock_[order].back();
    stock_[order].pop_back();
    stock_frames_ -= pieces_[id].frames;
    return id;
  }
  return 0;
}

std::uint64_t PagePool::address_of(Granules offset) const {
  if (base_ != 0) return base_ + to_bytes(offset);
  const Piece& segment = pieces_[shown_[offset / kFrameGranules]];
  return segment.segment_address + to_bytes(offset) - bytes_of(segment.first);
}

bool PagePool::claim(Frame frames, std::uint64_t limit_frames) {
  std::uint64_t now = reserved_frames_.load(std::memory_order_relaxed);
  do
    if (now + frames > limit_frames) return false;
  while (!reserved_frames_.compare_exchange_weak(now, now + frames, std::memory_order_relaxed));
  return true;
}

}  // namespace tidemark::allocator
