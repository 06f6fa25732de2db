// SPDX-License-Identifier: Apache-2.0
// A limit that the user set: every card looks like a smaller one. What the device has given to this process, its
// context included, never stays above the limit; and whoever asks how much there is gets answers that fit together.
//
// A request is refused before the driver sees it where its bytes alone cannot fit. Where only the driver knows what it
// would take (its granules, its pools), it is asked, and what went too far is taken back: exact at the limit, and no
// guess about the driver there (gate.h). What contexts, modules and graphs take counts, but is not refused: there is
// nothing to give back, and a program's next block is refused instead. Any thread.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tidemark::interpose {

// 0: none was set, or nothing is counted in this process and so nothing can be held to it.
std::uint64_t limit_bytes();
// The same, and before the first CUDA call what will be: NVML is asked before there is a trace.
std::uint64_t coming_limit_bytes();

// Whether so many more bytes on a device are out of the question.
bool beyond_limit(std::uint8_t device, std::uint64_t more_bytes);

struct Capacity {
  std::uint64_t free_bytes = 0, total_bytes = 0;
};
// What a device's capacity looks like under the limit, to a process that has taken so much of it.
Capacity limited(const Capacity& real, std::uint64_t taken_bytes);

}  // namespace tidemark::interpose
