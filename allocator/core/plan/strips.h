// SPDX-License-Identifier: Apache-2.0
// Memory beside a plan's arena that its blocks may use as well: free ranges between blocks that are not planned and
// stay for good (parameters, workspaces), in pages that these hold on to anyway. What lies there lowers the arena's
// peak, and costs nothing.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "allocator/core/plan/problem.h"
#include "allocator/core/plan/stop.h"

namespace tidemark::plan {

struct Strip {
  std::uint64_t offset = 0;  // in the same space as those of the arena, and above it: kBeside or more
  std::uint64_t size_bytes = 0;
  std::uint64_t least_bytes = 0;  // smaller blocks may not lie there
  bool operator==(const Strip&) const = default;
};
// No arena is so high.
inline constexpr std::uint64_t kBeside = std::uint64_t{1} << 50;

// Where an arc lies in which strip.
struct Beside {
  std::size_t strip = 0;
  std::int64_t offset = 0;  // units, from the strip's beginning
};
// Takes arcs that are alive where the most is alive out of the problem and into strips, the largest that fit first, as
// long as that lowers the peak of the rest. By arc; none: it stays. Sizes of strips are rounded down to units.
std::vector<std::optional<Beside>> fill_strips(const Problem& problem, std::span<const Strip> strips);

}  // namespace tidemark::plan
