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

std::vector<Stretch> stretches_of(const Arena& arena) {
  std::vector<Stretch> all;
  arena.for_each([&](const Record& r) {
    Use const use = use_of(r);
    // The same address space may begin anew with a zone: only neighbours are joined.
    if (use == Use::Free && !all.empty() && all.back().use == Use::Free && all.back().end == r.offset)
      all.back().end = r.end();
    else
      all.push_back({use, r.offset, r.end(), r.address.load(std::memory_order_relaxed)});
  });
  return all;
}

std::uint64_t whole_frames(Granules begin, Granules end) {
  Granules const first = frame_ceil(begin);
  Granules const last = frame_floor(end);
  return last > first ? (last - first) / kFrameGranules : 0;
}

}  // namespace

std::vector<Pin> find_pins(const Arena& arena, std::size_t most) {
  std::vector<Stretch> const all = stretches_of(arena);
  std::vector<Pin> pins;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Stretch& block = all[i];
    if (block.use != Use::Live) continue;
    bool const before = i > 0 && all[i - 1].use == Use::Free && all[i - 1].end == block.begin;
    bool const after = i + 1 < all.size() && all[i + 1].use == Use::Free && all[i + 1].begin == block.end;
    if (!before && !after) continue;
    Granules const begin = before ? all[i - 1].begin : block.begin;
    Granules const end = after ? all[i + 1].end : block.end;
    std::uint64_t const now = whole_frames(begin, block.begin) + whole_frames(block.end, end);
    pins.push_back({.address = block.address,
                    .block_bytes = to_bytes(block.end - block.begin),
                    .before_bytes = to_bytes(block.begin - begin),
                    .after_bytes = to_bytes(end - block.end),
                    .given_back_bytes = (whole_frames(begin, end) - now) * kFrameBytes});
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
