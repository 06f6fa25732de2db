// SPDX-License-Identifier: Apache-2.0
// The general form of a copy: each end a row, a box or a part of an array.
#include "softgpu/driver/copy.h"

namespace tidemark::softgpu {
namespace {

// One end of a general copy: address of its first byte, and its strides.
struct End {
  std::uintptr_t address = 0;
  std::uint64_t pitch = 0, slice = 0;
};

std::optional<End> linear_end(std::uintptr_t base, const CUDA_MEMCPY3D& p, bool source) {
  std::uint64_t const x = source ? p.srcXInBytes : p.dstXInBytes;
  std::uint64_t const y = source ? p.srcY : p.dstY;
  std::uint64_t const z = source ? p.srcZ : p.dstZ;
  std::uint64_t pitch = source ? p.srcPitch : p.dstPitch;
  std::uint64_t height = source ? p.srcHeight : p.dstHeight;
  // Whatever wraps around would look like a place that is right.
  std::uint64_t right = 0, bottom = 0, slice = 0;
  if (__builtin_add_overflow(x, p.WidthInBytes, &right) || __builtin_add_overflow(y, p.Height, &bottom))
    return std::nullopt;
  if (pitch == 0) pitch = right;
  if (height == 0) height = bottom;
  if ((p.Height > 1 || p.Depth > 1) && pitch < right) return std::nullopt;
  if (p.Depth > 1 && height < bottom) return std::nullopt;
  bool const nothing = p.WidthInBytes == 0 || p.Height == 0 || p.Depth == 0;
  if (base == 0 && !nothing) return std::nullopt;
  if (__builtin_mul_overflow(pitch, height, &slice)) {
    if (z != 0 || p.Depth > 1) return std::nullopt;
    slice = 0;  // there is only one
  }
  auto const offset = strided_span({.width = x, .pitch = pitch, .rows = y + 1, .slice = slice, .slices = z + 1});
  if (!offset || *offset > ~base) return std::nullopt;
  return End{base + *offset, pitch, slice};
}

std::optional<End> array_end(Driver& driver, CUarray array, const CUDA_MEMCPY3D& p, bool source) {
  if (driver.arrays.check(array) == nullptr) return std::nullopt;
  std::uint64_t const x = source ? p.srcXInBytes : p.dstXInBytes;
  std::uint64_t const y = source ? p.srcY : p.dstY;
  std::uint64_t const z = source ? p.srcZ : p.dstZ;
  auto const fits = [](std::uint64_t at, std::uint64_t n, std::uint64_t all) { return at <= all && n <= all - at; };
  if (!fits(x, p.WidthInBytes, array->row_bytes) || !fits(y, p.Height, array->rows) || !fits(z, p.Depth, array->slices))
    return std::nullopt;
  std::uint64_t const slice = array->row_bytes * array->rows;
  return End{array->address + z * slice + y * array->row_bytes + x, array->row_bytes, slice};
}

std::optional<End> end_of(Driver& driver, const CUDA_MEMCPY3D& p, bool source) {
  switch (source ? p.srcMemoryType : p.dstMemoryType) {
    case CU_MEMORYTYPE_HOST: return linear_end(number(source ? p.srcHost : p.dstHost), p, source);
    case CU_MEMORYTYPE_DEVICE:
    case CU_MEMORYTYPE_UNIFIED: return linear_end(source ? p.srcDevice : p.dstDevice, p, source);
    case CU_MEMORYTYPE_ARRAY: return array_end(driver, source ? p.srcArray : p.dstArray, p, source);
    default: return std::nullopt;
  }
}
}  // namespace

std::optional<CopyOp> from_3d(Driver& driver, const CUDA_MEMCPY3D& p) {
  if (p.srcLOD != 0 || p.dstLOD != 0) return std::nullopt;
  auto const source = end_of(driver, p, true);
  auto const destination = end_of(driver, p, false);
  if (!source || !destination) return std::nullopt;
  return CopyOp{.source = source->address,
                .destination = destination->address,
                .source_pitch = source->pitch,
                .source_slice = source->slice,
                .destination_pitch = destination->pitch,
                .destination_slice = destination->slice,
                .width = p.WidthInBytes,
                .height = p.Height,
                .depth = p.Depth,
                .source_must_be_device = p.srcMemoryType == CU_MEMORYTYPE_DEVICE,
                .destination_must_be_device = p.dstMemoryType == CU_MEMORYTYPE_DEVICE};
}

}  // namespace tidemark::softgpu
