// SPDX-License-Identifier: Apache-2.0
// Why free memory is not in one piece: which live block stands between which free ranges, and what moving it would
// give.
#pragma once
#include <cstdint>
#include <vector>

#include "allocator/core/arena.h"

namespace tidemark::allocator {

// A live block with free memory on at least one side.
struct Pin {
  std::uint64_t address = 0;
  std::uint64_t block_bytes = 0;
  std::uint64_t before_bytes = 0;  // free, up to the next live block or the end of mapped memory
  std::uint64_t after_bytes = 0;
  std::uint64_t given_back_bytes = 0;  // more of whole pieces that could serve elsewhere or go back, were it not there
  std::uint64_t hole_bytes() const { return before_bytes + block_bytes + after_bytes; }
};

// The blocks that cost most, first; at most `most`. Takes the arena's lock for one walk. What a plan has leased is its
// own: blocks there are not in anybody's way.
std::vector<Pin> find_pins(const Arena& arena, std::size_t most);

}  // namespace tidemark::allocator
