// SPDX-License-Identifier: Apache-2.0
// Copies of rows: between pitched memory and arrays, and the older forms that run on over the ends of an array's rows.
#include <algorithm>
#include <optional>

#include "softgpu/runtime/copy.h"

using namespace tidemark::softgpu::runtime;

namespace {

// One end of a copy: rows in pitched memory, or a place in an array (x in bytes).
struct End {
  const void* pointer = nullptr;
  std::size_t pitch = 0;
  cudaArray_const_t array = nullptr;
  std::size_t x = 0;
  std::size_t y = 0;
};

// Synchronous when there is no stream to put it on.
using MaybeStream = std::optional<cudaStream_t>;

struct Rows {
  End target, source;
  std::size_t width = 0;  // bytes
  std::size_t height = 0;
  cudaMemcpyKind kind = cudaMemcpyDefault;
  MaybeStream stream;
};

bool pitch_is_short(const End& end, const Rows& rows) {
  return end.array == nullptr && end.pitch < rows.width && rows.height > 1;
}

CUDA_MEMCPY2D to_driver(const Rows& rows) {
  CUDA_MEMCPY2D copy{};
  copy.WidthInBytes = rows.width;
  copy.Height = rows.height;
  copy.srcXInBytes = rows.source.x;
  copy.srcY = rows.source.y;
  copy.srcMemoryType = rows.source.array != nullptr ? CU_MEMORYTYPE_ARRAY : source_type(rows.kind);
  copy.srcHost = rows.source.pointer;
  copy.srcDevice = convert<CUdeviceptr>(rows.source.pointer);
  copy.srcArray = convert<CUarray>(rows.source.array);
  copy.srcPitch = rows.source.pitch;
  copy.dstXInBytes = rows.target.x;
  copy.dstY = rows.target.y;
  copy.dstMemoryType = rows.target.array != nullptr ? CU_MEMORYTYPE_ARRAY : target_type(rows.kind);
  copy.dstHost = const_cast<void*>(rows.target.pointer);
  copy.dstDevice = convert<CUdeviceptr>(rows.target.pointer);
  copy.dstArray = convert<CUarray>(rows.target.array);
  copy.dstPitch = rows.target.pitch;
  return copy;
}

cudaError_t copy_rows(const Rows& rows) {
  cudaError_t const kind = check_kind(rows.kind, {rows.source.array != nullptr, rows.target.array != nullptr});
  if (kind != cudaSuccess) return record(kind);
  if (rows.width == 0 || rows.height == 0) return record(enter());
  if (pitch_is_short(rows.source, rows) || pitch_is_short(rows.target, rows)) return record(cudaErrorInvalidPitchValue);
  CUDA_MEMCPY2D const copy = to_driver(rows);
  // The unaligned form takes any pitch, also one that cuMemAllocPitch did not choose.
  if (!rows.stream) return forward(&Driver::cuMemcpy2DUnaligned, &copy);
  return forward(&Driver::cuMemcpy2DAsync, &copy, *rows.stream);
}

// Moves an end by so many bytes: on in memory, over the ends of rows in an array.
struct Cursor {
  End end;
  std::size_t row_bytes = 0;  // of the array; 0 for memory

  std::size_t left_in_row(std::size_t wanted) const {
    return row_bytes == 0 ? wanted : std::min(wanted, row_bytes - end.x);
  }
  void advance(std::size_t bytes) {
    if (row_bytes == 0) {
      end.pointer = static_cast<const char*>(end.pointer) + bytes;
      return;
    }
    end.x += bytes;
    if (end.x >= row_bytes) end.x = 0, ++end.y;
  }
};

cudaError_t cursor_of(const End& end, Cursor& out) {
  out.end = end;
  if (end.array == nullptr) return cudaSuccess;
  ArrayShape shape;
  cudaError_t const error = shape_of(end.array, shape);
  out.row_bytes = shape.description.Width * shape.element_bytes;
  if (error == cudaSuccess && end.x >= out.row_bytes) return cudaErrorInvalidValue;
  return error;
}

// `bytes` that run on from the end of an array's row to the beginning of the next.
cudaError_t copy_running_on(Rows rows, std::size_t bytes) {
  Cursor source, target;
  if (cudaError_t const error = cursor_of(rows.source, source); error != cudaSuccess) return record(error);
  if (cudaError_t const error = cursor_of(rows.target, target); error != cudaSuccess) return record(error);
  while (bytes > 0) {
    std::size_t const piece = target.left_in_row(source.left_in_row(bytes));
    rows.source = source.end;
    rows.target = target.end;
    rows.source.pitch = rows.target.pitch = rows.width = piece;
    rows.height = 1;
    if (cudaError_t const error = copy_rows(rows); error != cudaSuccess) return error;
    source.advance(piece);
    target.advance(piece);
    bytes -= piece;
  }
  return cudaSuccess;
}

End memory(const void* pointer, std::size_t pitch = 0) {
  return {.pointer = pointer, .pitch = pitch};
}
End place(cudaArray_const_t array, std::size_t x, std::size_t y) {
  return {.array = array, .x = x, .y = y};
}

}  // namespace

cudaError_t cudaMemcpy2D(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height,
                         cudaMemcpyKind kind) {
  return copy_rows({memory(dst, dpitch), memory(src, spitch), width, height, kind, {}});
}
cudaError_t cudaMemcpy2DAsync(void* dst, size_t dpitch, const void* src, size_t spitch, size_t width, size_t height,
                              cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_rows({memory(dst, dpitch), memory(src, spitch), width, height, kind, stream});
}
cudaError_t cudaMemcpy2DToArray(cudaArray_t dst, size_t x, size_t y, const void* src, size_t spitch, size_t width,
                                size_t height, cudaMemcpyKind kind) {
  return copy_rows({place(dst, x, y), memory(src, spitch), width, height, kind, {}});
}
cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t dst, size_t x, size_t y, const void* src, size_t spitch, size_t width,
                                     size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_rows({place(dst, x, y), memory(src, spitch), width, height, kind, stream});
}
cudaError_t cudaMemcpy2DFromArray(void* dst, size_t dpitch, cudaArray_const_t src, size_t x, size_t y, size_t width,
                                  size_t height, cudaMemcpyKind kind) {
  return copy_rows({memory(dst, dpitch), place(src, x, y), width, height, kind, {}});
}
cudaError_t cudaMemcpy2DFromArrayAsync(void* dst, size_t dpitch, cudaArray_const_t src, size_t x, size_t y,
                                       size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_rows({memory(dst, dpitch), place(src, x, y), width, height, kind, stream});
}
cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t dst, size_t dst_x, size_t dst_y, cudaArray_const_t src, size_t src_x,
                                     size_t src_y, size_t width, size_t height, cudaMemcpyKind kind) {
  return copy_rows({place(dst, dst_x, dst_y), place(src, src_x, src_y), width, height, kind, {}});
}

cudaError_t cudaMemcpyToArray(cudaArray_t dst, size_t x, size_t y, const void* src, size_t bytes, cudaMemcpyKind kind) {
  return copy_running_on({place(dst, x, y), memory(src), 0, 0, kind, {}}, bytes);
}
cudaError_t cudaMemcpyToArrayAsync(cudaArray_t dst, size_t x, size_t y, const void* src, size_t bytes,
                                   cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_running_on({place(dst, x, y), memory(src), 0, 0, kind, stream}, bytes);
}
cudaError_t cudaMemcpyFromArray(void* dst, cudaArray_const_t src, size_t x, size_t y, size_t bytes,
                                cudaMemcpyKind kind) {
  return copy_running_on({memory(dst), place(src, x, y), 0, 0, kind, {}}, bytes);
}
cudaError_t cudaMemcpyFromArrayAsync(void* dst, cudaArray_const_t src, size_t x, size_t y, size_t bytes,
                                     cudaMemcpyKind kind, cudaStream_t stream) {
  return copy_running_on({memory(dst), place(src, x, y), 0, 0, kind, stream}, bytes);
}
cudaError_t cudaMemcpyArrayToArray(cudaArray_t dst, size_t dst_x, size_t dst_y, cudaArray_const_t src, size_t src_x,
                                   size_t src_y, size_t bytes, cudaMemcpyKind kind) {
  return copy_running_on({place(dst, dst_x, dst_y), place(src, src_x, src_y), 0, 0, kind, {}}, bytes);
}
