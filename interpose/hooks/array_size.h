// SPDX-License-Identifier: Apache-2.0
// How many bytes an array's elements take.
#pragma once
#include <cstdint>

#include "interpose/real/cuda.h"

namespace tidemark::interpose {

// Over this many levels, each half as large as the one before. 0 for arrays whose memory is mapped later, and for
// formats that are not known here.
std::uint64_t array_bytes(const CUDA_ARRAY3D_DESCRIPTOR& shape, unsigned levels);

}  // namespace tidemark::interpose
