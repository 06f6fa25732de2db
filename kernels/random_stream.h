// SPDX-License-Identifier: Apache-2.0
// Which random numbers: what kernels/philox.h draws is a function of this and of the element's place.
#pragma once
#include <cstdint>

namespace tidemark::kernels {

// No two purposes (a layer, a parameter, the data) share a stream.
struct Stream {
  std::uint64_t seed = 0;
  std::uint32_t purpose = 0;
  std::uint32_t step = 0;
};

}  // namespace tidemark::kernels
