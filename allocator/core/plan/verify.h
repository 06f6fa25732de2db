// SPDX-License-Identifier: Apache-2.0
// The judge of every layout: a sweep over time that knows nothing of how the layout was made. No answer leaves the
// planner without it.
#pragma once
#include "allocator/core/plan/buffer.h"
#include "base/result.h"

namespace tidemark::plan {

// Every buffer has an offset that is aligned, ends at or below height and capacity, and shares no byte with another one
// that is alive at the same time.
Result<void> verify(Buffers buffers, const Layout& layout, std::uint64_t capacity);

// The same for buffers that come again every `period`, without end: each occurrence against every other one that it
// meets. Lifetimes are at most one period long.
Result<void> verify_repeating(Buffers buffers, std::uint64_t period, const Layout& layout);

}  // namespace tidemark::plan
