// SPDX-License-Identifier: Apache-2.0
// What is planned, and the answer. A buffer of `size_bytes` is alive in [lower, upper) of any clock; a layout gives
// each an offset so that no two alive at once share a byte.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

namespace tidemark::plan {

struct Buffer {
  std::uint64_t lower = 0;
  std::uint64_t upper = 0;
  std::uint64_t size_bytes = 0;
  std::uint64_t alignment = 1;
};

using Buffers = std::span<const Buffer>;

// Offsets in the order of the buffers; the height is the largest end of any of them.
struct Layout {
  std::vector<std::uint64_t> offsets;
  std::uint64_t height = 0;
};

// Beyond, sums of sizes and of times could no longer be formed.
inline constexpr std::uint64_t kLargest = std::uint64_t{1} << 62;

}  // namespace tidemark::plan
