// SPDX-License-Identifier: Apache-2.0
// A layout in one pass, bottom up: the profile of what has been placed is a chain of runs of equal height. The lowest
// run takes the arc of best rank that lies within it; a run that nothing fits into is raised to its lower neighbour.
// Every arc thus lies on something, at O(log n) each. The same pass serves ring and line.
#pragma once
#include <cstdint>
#include <queue>
#include <span>
#include <vector>

#include "allocator/core/plan/candidates.h"
#include "allocator/core/plan/stop.h"

namespace tidemark::plan {

class Skyline {
 public:
  // The effort is the caller's, and outlives it.
  Skyline(const Problem& problem, Effort& effort);
  // Fills offsets (units, per arc); returns the height. Gives up, returning `limit`, once the height reaches it.
  std::int64_t place(std::span<const std::uint32_t> rank, std::int64_t limit, std::vector<std::int64_t>& offsets);

 private:
  static constexpr std::uint32_t kNone = Candidates::kNone;
  struct Run {
    std::uint32_t begin, end;  // on a ring end may exceed the number of sections, begin does not
    std::int64_t height;
    std::uint32_t before = kNone, after = kNone;
    bool gone = false;
  };
  struct Lowest {
    std::int64_t height;
    std::uint32_t begin, run;
    bool operator<(const Lowest& o) const { return height != o.height ? height > o.height : begin > o.begin; }
  };

  std::uint32_t add(Run run);
  void replace(std::uint32_t old, std::span<const std::uint32_t> chain);
  void join(std::uint32_t run);
  std::uint32_t merge(std::uint32_t left, std::uint32_t right);
  std::uint32_t fitting(const Run& run) const;
  void settle(std::uint32_t run, std::uint32_t arc);
  bool raise(std::uint32_t run);
  bool whole(const Run& run) const { return problem_.ring && run.end - run.begin == problem_.sections; }

  const Problem& problem_;
  Effort& effort_;
  std::uint64_t step_looks_;
  Candidates waiting_;
  std::vector<Run> runs_;
  std::priority_queue<Lowest> lowest_;
};

}  // namespace tidemark::plan
