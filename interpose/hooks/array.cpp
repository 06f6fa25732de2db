// SPDX-License-Identifier: Apache-2.0
// Arrays: their layout is the driver's secret, so the size is that of their elements, a lower bound.
#include <algorithm>

#include "interpose/hooks/array_size.h"
#include "interpose/hooks/hook.h"

using namespace tidemark::interpose;
using tidemark::trace::Class;
using tidemark::trace::Space;

namespace {

template <class Handle>
std::uint64_t number(Handle handle) {
  return reinterpret_cast<std::uint64_t>(handle);
}

CUDA_ARRAY3D_DESCRIPTOR with_depth(const CUDA_ARRAY_DESCRIPTOR& d) {
  return {
      .Width = d.Width, .Height = d.Height, .Depth = 0, .Format = d.Format, .NumChannels = d.NumChannels, .Flags = 0};
}

}  // namespace

TIDEMARK_HOOK(cuArrayCreate_v2)(CUarray* out, const CUDA_ARRAY_DESCRIPTOR* shape) {
  std::uint64_t const bytes = shape == nullptr ? 0 : array_bytes(with_depth(*shape), 1);
  return allocate(
      {.call = "cuArrayCreate", .size_bytes = bytes, .block_class = Class::Array, .undo = undo_array},
      [&] { return call(&Driver::cuArrayCreate_v2, out, shape); },
      [&] { return Allocation{.address = number(*out), .size_bytes = bytes}; });
}

TIDEMARK_HOOK(cuArray3DCreate_v2)(CUarray* out, const CUDA_ARRAY3D_DESCRIPTOR* shape) {
  std::uint64_t const bytes = shape == nullptr ? 0 : array_bytes(*shape, 1);
  return allocate(
      {.call = "cuArray3DCreate", .size_bytes = bytes, .block_class = Class::Array, .undo = undo_array},
      [&] { return call(&Driver::cuArray3DCreate_v2, out, shape); },
      [&] { return Allocation{.address = number(*out), .size_bytes = bytes}; });
}

TIDEMARK_HOOK(cuMipmappedArrayCreate)
(CUmipmappedArray* out, const CUDA_ARRAY3D_DESCRIPTOR* shape, unsigned int levels) {
  std::uint64_t const bytes = shape == nullptr ? 0 : array_bytes(*shape, levels);
  return allocate(
      {.call = "cuMipmappedArrayCreate", .size_bytes = bytes, .block_class = Class::Array, .undo = undo_mipmap},
      [&] { return call(&Driver::cuMipmappedArrayCreate, out, shape, levels); },
      [&] { return Allocation{.address = number(*out), .size_bytes = bytes}; });
}

TIDEMARK_HOOK(cuArrayDestroy)(CUarray array) {
  return release(Space::Array, number(array), nullptr, [&] { return call(&Driver::cuArrayDestroy, array); });
}

TIDEMARK_HOOK(cuMipmappedArrayDestroy)(CUmipmappedArray array) {
  return release(Space::Array, number(array), nullptr, [&] { return call(&Driver::cuMipmappedArrayDestroy, array); });
}
