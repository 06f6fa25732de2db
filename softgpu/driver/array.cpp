// SPDX-License-Identifier: Apache-2.0
// CUDA arrays: memory with a shape. Textures and surfaces over them are refused; their memory is accounted for and can
// be copied. Rows are kept packed.
#include <algorithm>
#include <cmath>

#include "base/bytes.h"
#include "softgpu/driver/capture.h"
#include "softgpu/driver/contents.h"
#include "softgpu/driver/memory.h"
#include "softgpu/driver/observe.h"

using namespace tidemark;
using namespace tidemark::softgpu;

namespace {

std::uint64_t channel_bytes(CUarray_format format) {
  switch (format) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8: return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF: return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT: return 4;
    default: return 0;
  }
}

// 0: not a shape that arrays can have.
std::uint64_t element_bytes(const CUDA_ARRAY3D_DESCRIPTOR& d) {
  if (d.NumChannels != 1 && d.NumChannels != 2 && d.NumChannels != 4) return 0;
  return channel_bytes(d.Format) * d.NumChannels;
}

bool shape_is_valid(const CUDA_ARRAY3D_DESCRIPTOR& d) {
  constexpr std::uint64_t kLongest = 1u << 17;
  if (d.Width == 0 || element_bytes(d) == 0 || d.Width > kLongest || d.Height > kLongest || d.Depth > kLongest)
    return false;
  bool const layered = (d.Flags & CUDA_ARRAY3D_LAYERED) != 0;
  return d.Depth == 0 || d.Height != 0 || layered;
}

CUarray describe(Call& call, const CUDA_ARRAY3D_DESCRIPTOR& d) {
  CUarray const array = call.driver.arrays.create();
  array->descriptor = d;
  array->element_bytes = element_bytes(d);
  array->row_bytes = d.Width * array->element_bytes;
  array->rows = std::max<std::uint64_t>(1, d.Height);
  array->slices = std::max<std::uint64_t>(1, d.Depth);
  array->device = call.device().ordinal;
  array->context = call.context;
  return array;
}

std::uint64_t bytes_of(const CUarray_st& array) {
  return array.row_bytes * array.rows * array.slices;
}

CUresult create(CUarray* out, const CUDA_ARRAY3D_DESCRIPTOR& d) {
  return with_context([&](Call& call) -> CUresult {
    if (out == nullptr || !shape_is_valid(d)) return CUDA_ERROR_INVALID_VALUE;
    if (is_capture_forbidden(call)) return capture_violated(call, nullptr);
    CUarray const array = describe(call, d);
    array->block = allocate_device(call, bytes_of(*array));
    if (array->block == nullptr) {
      call.driver.arrays.destroy(array);
      return CUDA_ERROR_OUT_OF_MEMORY;
    }
    array->block->kind = MemoryKind::Array;
    array->block->owner = array;
    array->address = array->block->address;
    observe_allocated(call.driver, *array->block);
    *out = array;
    return CUDA_SUCCESS;
  });
}

CUDA_ARRAY3D_DESCRIPTOR widen(const CUDA_ARRAY_DESCRIPTOR& d) {
  return {
      .Width = d.Width, .Height = d.Height, .Depth = 0, .Format = d.Format, .NumChannels = d.NumChannels, .Flags = 0};
}

template <class F>
CUresult with_array(CUarray array, F f) {
  return with_context([&](Call& call) -> CUresult {
    return call.driver.arrays.check(array) == nullptr ? CUDA_ERROR_INVALID_HANDLE : f(call);
  });
}

}  // namespace

CUresult CUDAAPI cuArrayCreate_v2(CUarray* out, const CUDA_ARRAY_DESCRIPTOR* d) {
  return d == nullptr ? CUDA_ERROR_INVALID_VALUE : create(out, widen(*d));
}

CUresult CUDAAPI cuArray3DCreate_v2(CUarray* out, const CUDA_ARRAY3D_DESCRIPTOR* d) {
  return d == nullptr ? CUDA_ERROR_INVALID_VALUE : create(out, *d);
}

CUresult CUDAAPI cuArrayDestroy(CUarray array) {
  return with_array(array, [&](Call& call) -> CUresult {
    if (array->parent != nullptr) return CUDA_ERROR_INVALID_HANDLE;
    call.engine().wait_group(call.lock, *array->context);
    if (call.driver.arrays.check(array) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    release_block(call.driver, array->block);
    call.driver.arrays.destroy(array);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR* out, CUarray array) {
  return with_array(array, [&](Call&) -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    CUDA_ARRAY3D_DESCRIPTOR const& d = array->descriptor;
    *out = {.Width = d.Width, .Height = d.Height, .Format = d.Format, .NumChannels = d.NumChannels};
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR* out, CUarray array) {
  return with_array(array, [&](Call&) -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = array->descriptor;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMipmappedArrayCreate(CUmipmappedArray* out, const CUDA_ARRAY3D_DESCRIPTOR* d, unsigned levels) {
  if (out == nullptr || d == nullptr || levels == 0) return CUDA_ERROR_INVALID_VALUE;
  std::uint64_t const longest = std::max({d->Width, d->Height, d->Depth});
  auto const most =
      static_cast<unsigned>(1 + std::floor(std::log2(static_cast<double>(std::max<std::uint64_t>(1, longest)))));
  std::vector<CUarray> made;
  CUDA_ARRAY3D_DESCRIPTOR level = *d;
  CUresult result = CUDA_SUCCESS;
  for (unsigned i = 0; i < std::min(levels, most) && result == CUDA_SUCCESS; ++i) {
    CUarray array = nullptr;
    result = create(&array, level);
    if (result == CUDA_SUCCESS) made.push_back(array);
    auto const halve = [](std::size_t n) { return n == 0 ? 0 : std::max<std::size_t>(1, n / 2); };
    level.Width = halve(level.Width);
    level.Height = halve(level.Height);
    if ((d->Flags & CUDA_ARRAY3D_LAYERED) == 0) level.Depth = halve(level.Depth);
  }
  if (result != CUDA_SUCCESS) {
    for (CUarray const array : made) cuArrayDestroy(array);
    return result;
  }
  return with_context([&](Call& call) -> CUresult {
    CUmipmappedArray const handle = call.driver.mipmapped_arrays.create();
    handle->descriptor = *d;
    handle->context = call.context;
    handle->levels = made;
    for (CUarray const array : made) array->parent = handle;
    *out = handle;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMipmappedArrayGetLevel(CUarray* out, CUmipmappedArray handle, unsigned level) {
  return with_context([&](Call& call) -> CUresult {
    if (call.driver.mipmapped_arrays.check(handle) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (out == nullptr || level >= handle->levels.size()) return CUDA_ERROR_INVALID_VALUE;
    *out = handle->levels[level];
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuMipmappedArrayDestroy(CUmipmappedArray handle) {
  std::vector<CUarray> levels;
  CUresult const result = with_context([&](Call& call) -> CUresult {
    if (call.driver.mipmapped_arrays.check(handle) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    levels = handle->levels;
    for (CUarray const array : levels) array->parent = nullptr;
    call.driver.mipmapped_arrays.destroy(handle);
    return CUDA_SUCCESS;
  });
  for (CUarray const array : levels) cuArrayDestroy(array);
  return result;
}
