// SPDX-License-Identifier: Apache-2.0
// The driver's handles ("pieces") and the frames of address space that show them.
//
// A piece is 1, 4 or 16 frames (2, 8, 32 MiB): a driver can neither cut a handle nor map a part of it, so small pieces
// can go anywhere and large ones cost fewer calls. Without virtual memory management a piece is a segment of the
// driver's, of any number of frames, and stays where it was put.
//
// Two halves: the books (under the arena's lock) and the driver's calls (without any lock, on pieces that are Moving
// and so belong to one thread). Invariants: a frame shows at most one piece; frames in stock + mapped + moving ==
// reserved.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "allocator/core/units.h"
#include "allocator/core/upstream.h"
#include "base/reserved.h"

namespace tidemark::allocator {

using PieceId = std::uint32_t;  // 0: none
using Frame = std::uint32_t;

struct FrameRun {
  Frame first = 0;
  Frame last = 0;  // half-open
};

constexpr std::array<Frame, 3> kPieceFrames = {1, 4, 16};

struct Piece {
  PageHandle handle{};
  std::uint64_t segment_address = 0;  // of a segment: where the driver put it
  Frame first = 0;                    // while mapped
  Frame frames = 0;                   // 0: not in use
};

// Calls that were made, for benches and for the promise of none in a steady loop.
struct DriverCalls {
  std::atomic<std::uint64_t> create{0}, destroy{0}, map{0}, unmap{0}, set_access{0}, allocate{0}, free{0};
  std::uint64_t total() const { return create + destroy + map + unmap + set_access + allocate + free; }
};

class PagePool {
 public:
  PagePool(Upstream& upstream, Frame frames) : upstream_(upstream), shown_(frames), pieces_(1) {}
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;

  // --- driver's calls; no lock ---
  // The reservation of address space that frames stand in. Without mapping there is none and base() stays 0.
  Status start(Frame frames);
  Status create(Frame frames, Piece* piece);
  Status map(const Piece& piece, Frame at);  // without access
  Status unmap(const Piece& piece);
  Status set_access(Frame first, Frame count);
  Status destroy(const Piece& piece);

  // --- books; under the arena's lock ---
  PieceId adopt(const Piece& piece);       // a new piece, Moving
  void forget(PieceId id);                 // a piece that was destroyed
  void attach(PieceId id, Frame at);       // Moving -> mapped
  void detach(PieceId id);                 // mapped -> Moving
  void put_in_stock(PieceId id);           // Moving -> stock
  PieceId take_from_stock(Frame at_most);  // stock -> Moving: the largest that fits
  PieceId shown(Frame at) const { return shown_[at]; }
  const Piece& piece(PieceId id) const { return pieces_[id]; }
  std::size_t piece_ids() const { return pieces_.size(); }  // all are below

  Upstream& upstream() const { return upstream_; }
  bool can_map() const { return upstream_.can_map(); }
  std::uint64_t base() const { return base_; }
  // Where the program sees an offset. Its frame is mapped.
  std::uint64_t address_of(Granules offset) const;
  // The reverse; `end` where nothing of ours is.
  Granules offset_of(std::uint64_t address, Granules end) const;
  std::uint64_t reserved_frames() const { return reserved_frames_.load(std::memory_order_relaxed); }
  std::uint64_t stock_frames() const { return stock_frames_; }
  std::uint64_t shown_frames() const { return shown_frames_; }  // that show a piece
  // Claims room for frames that are about to be created; false when they would cross the limit.
  bool claim(Frame frames, std::uint64_t limit_frames);
  void unclaim(Frame frames) { reserved_frames_.fetch_sub(frames, std::memory_order_relaxed); }
  const DriverCalls& calls() const { return calls_; }
  DriverCalls& calls() { return calls_; }

 private:
  Upstream& upstream_;
  ReservedArray<PieceId> shown_;
  std::vector<Piece> pieces_;
  std::vector<PieceId> unused_;
  std::array<std::vector<PieceId>, kPieceFrames.size()> stock_;
  std::uint64_t base_ = 0;
  std::uint64_t stock_frames_ = 0;
  std::uint64_t shown_frames_ = 0;
  std::atomic<std::uint64_t> reserved_frames_{0};
  DriverCalls calls_;
};

}  // namespace tidemark::allocator
