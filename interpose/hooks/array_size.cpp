// SPDX-License-Identifier: Apache-2.0
#include "interpose/hooks/array_size.h"

#include <algorithm>

namespace tidemark::interpose {
namespace {

// Bits of one channel of an element; block-compressed formats and planar ones are the driver's own business.
std::uint64_t channel_bits(CUarray_format format) {
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8: return 8;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF: return 16;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT: return 32;
    default: return 0;
  }
}

}  // namespace

std::uint64_t array_bytes(const CUDA_ARRAY3D_DESCRIPTOR& shape, unsigned levels) {
  if ((shape.Flags & (CUDA_ARRAY3D_DEFERRED_MAPPING | CUDA_ARRAY3D_SPARSE)) != 0) return 0;
  std::uint64_t const element_bytes = channel_bits(shape.Format) * shape.NumChannels / 8;
  std::uint64_t width = shape.Width, height = shape.Height, depth = shape.Depth, sum = 0;
  // A layered array keeps its number of layers from level to level.
  bool const layered = (shape.Flags & CUDA_ARRAY3D_LAYERED) != 0;
  for (unsigned level = 0; level < std::min(levels, 64u); ++level) {
    sum += width * std::max<std::uint64_t>(height, 1) * std::max<std::uint64_t>(depth, 1) * element_bytes;
    // More levels than halve it to one element are asked for in vain.
    if (width <= 1 && height <= 1 && (layered || depth <= 1)) break;
    width = std::max<std::uint64_t>(width / 2, 1);
    height /= 2;
    if (!layered) depth /= 2;
  }
  return sum;
}

}  // namespace tidemark::interpose
