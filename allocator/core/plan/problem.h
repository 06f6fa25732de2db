// SPDX-License-Identifier: Apache-2.0
// The planner's view of buffers: time is cut into sections at the starts of buffers (two buffers meet exactly if one is
// alive where the other starts), of which only those matter at whose end a buffer ends (of large problems only these
// are kept). A buffer is an arc of sections, sizes are whole numbers of a unit. On a ring, where an iteration repeats,
// section `sections` is section 0 again and an arc may run across it.
#pragma once
#include <cstdint>
#include <vector>

#include "allocator/core/plan/buffer.h"

namespace tidemark::plan {

struct Arc {
  std::uint32_t begin = 0;  // < sections
  std::uint32_t end = 0;    // > begin; on a ring up to begin + sections
  std::int64_t size = 0;    // in units, > 0
  std::int64_t alignment = 1;
  std::uint32_t length() const { return end - begin; }
};

struct Problem {
  std::uint32_t sections = 0;
  bool ring = false;
  std::uint64_t unit_bytes = 1;
  std::vector<Arc> arcs;              // ordered by begin
  std::vector<std::uint32_t> buffer;  // of which buffer an arc is
  std::vector<std::int64_t> live;     // units alive per section
  std::int64_t bound = 0;             // the largest of them: no layout is lower
  bool aligned = true;                // every whole number of units is an offset that suits every arc
};

// period 0: buffers that live once. Otherwise they come again every period, and live for at most one.
// alike: sizes are rounded up to the coarsest alignment, so that `aligned` holds. Otherwise each keeps its own.
struct Shape {
  std::uint64_t period = 0;
  bool alike = true;
};
Problem make_problem(Buffers buffers, Shape shape);

// Offsets of arcs, in units, as a layout of the buffers.
Layout layout_of(const Problem& problem, Buffers buffers, const std::vector<std::int64_t>& offsets);

}  // namespace tidemark::plan
