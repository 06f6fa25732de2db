// SPDX-License-Identifier: Apache-2.0
// Arrays: their layout is the driver's secret, so the size is that of their elements, a lower bound.
#include "interpose/hooks/array_size.h"
#include "interpose/hooks/hook.h"
#include "interpose/hooks/physical.h"

using namespace tidemark::interpose;
using tidemark::trace::Class;
using tidemark::trace::Space;

namespace {

template <class Handle>
std::uint64_t number(Handle handle) {
  return reinterpret_cast<std::uint64_t>(handle);
}

// A description of any ABI as the newest one.
template <class Shape>
CUDA_ARRAY3D_DESCRIPTOR in_3d(const Shape& d) {
  CUDA_ARRAY3D_DESCRIPTOR shape{.Width = d.Width, .Height = d.Height, .Format = d.Format, .NumChannels = d.NumChannels};
  if constexpr (requires { d.Depth; }) {
    shape.Depth = d.Depth;
    shape.Flags = d.Flags;
  }
  return shape;
}

template <class Shape, class Real>
CUresult create(const char* name, CUarray* out, const Shape* shape, Real real) {
  std::uint64_t const bytes = shape == nullptr ? 0 : array_bytes(in_3d(*shape), 1);
  return allocate({.call = name, .size_bytes = bytes, .block_class = Class::Array, .undo = undo_array}, real,
                  [&] { return Allocation{.address = number(*out), .size_bytes = bytes}; });
}

}  // namespace

TIDEMARK_HOOK(cuArrayCreate)(CUarray* out, const CUDA_ARRAY_DESCRIPTOR_v1* shape) {
  return create("cuArrayCreate", out, shape, [&] { return call(&Driver::cuArrayCreate, out, shape); });
}
TIDEMARK_HOOK(cuArrayCreate_v2)(CUarray* out, const CUDA_ARRAY_DESCRIPTOR* shape) {
  return create("cuArrayCreate", out, shape, [&] { return call(&Driver::cuArrayCreate_v2, out, shape); });
}
TIDEMARK_HOOK(cuArray3DCreate)(CUarray* out, const CUDA_ARRAY3D_DESCRIPTOR_v1* shape) {
  return create("cuArray3DCreate", out, shape, [&] { return call(&Driver::cuArray3DCreate, out, shape); });
}
TIDEMARK_HOOK(cuArray3DCreate_v2)(CUarray* out, const CUDA_ARRAY3D_DESCRIPTOR* shape) {
  return create("cuArray3DCreate", out, shape, [&] { return call(&Driver::cuArray3DCreate_v2, out, shape); });
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
  CUresult const result =
      release(Space::Array, number(array), nullptr, [&] { return call(&Driver::cuArrayDestroy, array); });
  if (result == CUDA_SUCCESS && recording()) shield([&] { unmap_tiles(number(array)); });
  return result;
}

// One that was made of another API's memory is imported, not an array of ours.
TIDEMARK_HOOK(cuMipmappedArrayDestroy)(CUmipmappedArray array) {
  Space space = Space::Array;
  if (recording())
    shield([&] {
      if (recorder().registry().find(Space::Memory, number(array))) space = Space::Memory;
    });
  CUresult const result =
      release(space, number(array), nullptr, [&] { return call(&Driver::cuMipmappedArrayDestroy, array); });
  if (result == CUDA_SUCCESS && recording()) shield([&] { unmap_tiles(number(array)); });
  return result;
}
