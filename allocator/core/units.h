// SPDX-License-Identifier: Apache-2.0
// The allocator's units. Sizes and places are counted in granules: 32 bits of them reach 2 TiB, and every block, hole
// and frame begins on one. The allocator's address space has offset 0 at its first granule.
#pragma once
#include <cstdint>

#include "base/bytes.h"

namespace tidemark::allocator {

using Granules = std::uint32_t;

constexpr std::uint64_t kGranuleBytes = 512;       // CUDA's texture alignment: enough for every use of a block
constexpr std::uint64_t kFrameBytes = 2ull << 20;  // the smallest page that drivers map
constexpr std::uint64_t kSmallBytes = 1ull << 20;  // blocks up to here share frames of their own
constexpr Granules kFrameGranules = kFrameBytes / kGranuleBytes;
// Beyond, a size would not be what its granules say.
constexpr std::uint64_t kLargestBytes = (std::uint64_t{1} << 31) * kGranuleBytes;
constexpr Granules kSmallGranules = kSmallBytes / kGranuleBytes;

constexpr Granules to_granules(std::uint64_t bytes) {
  return static_cast<Granules>((bytes + kGranuleBytes - 1) / kGranuleBytes);
}
constexpr std::uint64_t to_bytes(Granules granules) {
  return granules * kGranuleBytes;
}
constexpr Granules frame_floor(Granules at) {
  return at / kFrameGranules * kFrameGranules;
}
constexpr Granules frame_ceil(Granules at) {
  return (at + kFrameGranules - 1) / kFrameGranules * kFrameGranules;
}

// What freed memory is filled with where that is wished for: no number in any floating-point format of 16 bits or more,
// far out of range as an index, and easy to recognise.
constexpr std::uint32_t kPoison = 0xfff5'fff5;

// Who may take a hole. Number 0 is everybody: the memory is ready for any stream. The others are streams, and only work
// that is queued behind them may use the memory, until they have passed the hole's stamp.
enum class DomainId : std::uint16_t { Shared = 0 };

// Whether a block is known to stay: such blocks gather at the high end, so that they pin nothing between others.
enum class Lifetime : std::uint8_t { Unknown, Long };

}  // namespace tidemark::allocator
