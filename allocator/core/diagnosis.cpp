// SPDX-License-Identifier: Apache-2.0
#include "allocator/core/diagnosis.h"

#include <algorithm>
#include <tuple>

namespace tidemark::allocator {

namespace {

enum class Use : std::uint8_t { Free, Live, Nothing };

// A stretch of one use; free records of any kind count as one.
struct Stretch {
  Use use;
  Granules begin;
  Granules end;
  std::uint64_t address;
};

Use use_of(const Record& r) {
  switch (r.state.load(std::memory_order_relaxed)) {
    case State::Hole:
    case State::Cached:
    case State::Pending: return Use::Free;
    case State::Live:
    case State::Held: return Use::Live;
    default: return Use::Nothing;
  }
}

// What is mapped, in the order of addresses. A driver takes pieces back whole.
struct Map {
  std::vector<Stretch> stretches;
  std::vector<FrameRun> pieces;
};

void add_pieces(const PagePool& pool, const Record& r, std::vector<FrameRun>& pieces) {
  for (Frame f = r.offset / kFrameGranules; f < frame_ceil(r.end()) / kFrameGranules;) {
    const Piece& piece = pool.piece(pool.shown(f));
    if (pieces.empty() || pieces.back().first < piece.first)
      pieces.push_back({piece.first, piece.first + piece.frames});
    f = piece.first + piece.frames;
  }
}

Map map_of(const Arena& arena) {
  Map map;
  std::vector<Stretch>& all = map.stretches;
  arena.for_each([&](const Record& r) {
    Use const use = use_of(r);
    if (use != Use::Nothing) add_pieces(arena.pool(), r, map.pieces);
    // The same address space may begin anew with a zone: only neighbours are joined.
    if (use == Use::Free && !all.empty() && all.back().use == Use::Free && all.back().end == r.offset)
      all.back().end = r.end();
    else
      all.push_back({use, r.offset, r.end(), r.address.load(std::memory_order_relaxed)});
  });
  return map;
}

// Of pieces that lie within a range.
std::uint64_t whole_frames(const Map& map, Granules begin, Granules end) {
  Frame const first = frame_ceil(begin) / kFrameGranules, last = frame_floor(end) / kFrameGranules;
  std::uint64_t frames = 0;
  auto piece = std::lower_bound(map.pieces.begin(), map.pieces.end(), first,
                                [](const FrameRun& p, Frame at) { return p.first < at; });
  for (; piece != map.pieces.end() && piece->last <= last; ++piece) frames += piece->last - piece->first;
  return frames;
}

}  // namespace

std::vector<Pin> find_pins(const Arena& arena, std::size_t most) {
  Map const map = map_of(arena);
  std::vector<Stretch> const& all = map.stretches;
  std::vector<Pin> pins;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Stretch& block = all[i];
    if (block.use != Use::Live) continue;
    bool const before = i > 0 && all[i - 1].use == Use::Free && all[i - 1].end == block.begin;
    bool const after = i + 1 < all.size() && all[i + 1].use == Use::Free && all[i + 1].begin == block.end;
    if (!before && !after) continue;
    Granules const begin = before ? all[i - 1].begin : block.begin;
    Granules const end = after ? all[i + 1].end : block.end;
    std::uint64_t const now = whole_frames(map, begin, block.begin) + whole_frames(map, block.end, end);
    pins.push_back({.address = block.address,
                    .block_bytes = to_bytes(block.end - block.begin),
                    .before_bytes = to_bytes(block.begin - begin),
                    .after_bytes = to_bytes(end - block.end),
                    .given_back_bytes = (whole_frames(map, begin, end) - now) * kFrameBytes});
  }
  // A small block that holds up much is worth more than a large one that frees its own place.
  auto const key = [](const Pin& p) {
    return std::tuple(static_cast<std::int64_t>(p.block_bytes) - static_cast<std::int64_t>(p.given_back_bytes),
                      p.address);
  };
  std::sort(pins.begin(), pins.end(), [&](const Pin& a, const Pin& b) { return key(a) < key(b); });
  if (pins.size() > most) pins.resize(most);
  return pins;
}

}  // namespace tidemark::allocator
