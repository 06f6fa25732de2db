// SPDX-License-Identifier: Apache-2.0
// The threads that the device computes with.
#pragma once
#include <cstdint>
#include <functional>

namespace tidemark::softgpu {

// Calls body(first, last) for pieces of [0, count) on up to `workers` threads, the caller's among them, and returns
// when all are done. Pieces hold at least `grain` indices. Several callers may be at it at once.
void parallel_for(std::uint64_t count, std::uint64_t grain, int workers,
                  const std::function<void(std::uint64_t, std::uint64_t)>& body);

}  // namespace tidemark::softgpu
