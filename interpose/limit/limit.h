// SPDX-License-Identifier: Apache-2.0
// A limit that the user set: every card looks like a smaller one. What the device has given to this process, its
// context included, never stays above the limit; and whoever asks how much there is gets answers that fit together.
//
// A request is refused before the driver sees it where its bytes alone cannot fit. Where only the driver knows what it
// would take (its granules, its pools), it is asked, and what went too far is taken back: exact at the limit, and no
// guess about the driver anywhere. Any thread.
#pragma once
#include <cstddef>
#include <cstdint>

namespace tidemark::interpose {

// 0: none was set.
std::uint64_t limit_bytes();

// Whether so many more bytes on a device are out of the question.
bool beyond_limit(std::uint8_t device, std::uint64_t more_bytes);
// After a call that took memory, and a sample: whether it went too far.
bool above_limit(std::uint8_t device);

struct Capacity {
  std::uint64_t free_bytes = 0, total_bytes = 0;
};
// What a device's capacity looks like under the limit.
Capacity limited(std::uint8_t device, Capacity real);

}  // namespace tidemark::interpose
