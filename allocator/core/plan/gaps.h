// SPDX-License-Identifier: Apache-2.0
// One after another in a given order, each arc into a gap between those it meets: the lowest gap, or the tightest.
// Keeps every alignment, which the skyline and the search cannot. Those alive where an arc begins come from a tree over
// the sections, those that begin within it from a list: an arc costs what it meets, not the number of all. What it
// meets is not sorted but dealt into buckets by offset, and looked at bucket by bucket until there is a gap.
#pragma once
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "allocator/core/plan/problem.h"
#include "allocator/core/plan/stop.h"

namespace tidemark::plan {

enum class Fit : std::uint8_t { Lowest, Tightest };

class Gaps {
 public:
  Gaps(const Problem& problem, Effort& effort);
  // Fills offsets (units, per arc); returns the height. Gives up, returning `limit`, once the height reaches it or when
  // it has to stop.
  struct Wish {
    Fit fit = Fit::Lowest;
    std::int64_t limit = INT64_MAX;
    Stop stop = {};
  };
  std::int64_t place(std::span<const std::uint32_t> rank, const Wish& wish, std::vector<std::int64_t>& offsets);

 private:
  using Extent = std::pair<std::int64_t, std::int64_t>;  // offset and end
  void note(const Arc& arc, Extent extent);
  void note_line(std::uint32_t begin, std::uint32_t end, Extent extent);
  void meet(std::uint32_t arc, const std::vector<std::int64_t>& offsets);
  void meet_starts(std::uint32_t begin, std::uint32_t end, const std::vector<std::int64_t>& offsets);
  void deal(std::int64_t height);
  std::int64_t gap_for(const Arc& arc, Fit fit);

  const Problem& problem_;
  Effort& effort_;
  std::vector<std::uint32_t> first_;  // the first arc that begins at or after a section
  std::uint32_t leaves_ = 1;
  std::vector<std::vector<Extent>> covering_;  // of a node of the tree: what covers all of its sections
  std::vector<Extent> met_;
  static constexpr std::uint32_t kBuckets = 512;
  std::vector<std::uint32_t> heads_, next_;  // of met_, by bucket; kNone ends a list
  std::vector<Extent> bucket_;
};

}  // namespace tidemark::plan
