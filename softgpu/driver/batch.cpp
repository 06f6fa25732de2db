// SPDX-License-Identifier: Apache-2.0
// Batches: many copies, prefetches or discards in one call, in stream order as a whole. Here they also keep their order
// among themselves, which the API leaves open.
#include <algorithm>
#include <optional>

#include "softgpu/driver/copy.h"
#include "softgpu/driver/managed.h"

using namespace tidemark;
using namespace tidemark::softgpu;

namespace {

// "Must not be legacy NULL stream."
CUstream batch_stream(Call& call, CUstream handle) {
  CUstream const stream = stream_of(call, handle);
  return stream == stream_of(call, CU_STREAM_LEGACY) ? nullptr : stream;
}

// Entry k of a table holds for the items from indices[k] on, to the next entry's.
template <class Entry>
class Ranges {
 public:
  Ranges(const Entry* entries, const std::size_t* indices, std::size_t count)
      : entries_(entries), indices_(indices), count_(count) {}
  bool valid(std::size_t items) const {
    if (entries_ == nullptr || indices_ == nullptr || count_ == 0 || count_ > items || indices_[0] != 0) return false;
    for (std::size_t k = 1; k < count_; ++k)
      if (indices_[k] <= indices_[k - 1] || indices_[k] >= items) return false;
    return true;
  }
  // Items are asked for in rising order.
  const Entry& of(std::size_t item) {
    while (at_ + 1 < count_ && indices_[at_ + 1] <= item) ++at_;
    return entries_[at_];
  }

 private:
  const Entry* entries_;
  const std::size_t* indices_;
  std::size_t count_, at_ = 0;
};

std::optional<Waiting> waiting_for(CUmemcpySrcAccessOrder order) {
  switch (order) {
    case CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL: return Waiting::Sync;
    case CU_MEMCPY_SRC_ACCESS_ORDER_STREAM:
    case CU_MEMCPY_SRC_ACCESS_ORDER_ANY: return Waiting::Async;
    default: return std::nullopt;
  }
}

CopyOp one_row(std::uintptr_t to, std::uintptr_t from, std::uint64_t bytes) {
  return {.source = from,
          .destination = to,
          .source_pitch = bytes,
          .source_slice = bytes,
          .destination_pitch = bytes,
          .destination_slice = bytes,
          .width = bytes};
}

// Does all of them, or tells which was the first that could not be done.
template <class One>
CUresult each(std::size_t count, std::size_t* failed, One one) {
  for (std::size_t i = 0; i < count; ++i)
    if (CUresult const wrong = one(i); wrong != CUDA_SUCCESS) {
      if (failed != nullptr) *failed = i;
      return wrong;
    }
  return CUDA_SUCCESS;
}

CUresult copy_batch(CUdeviceptr* to, CUdeviceptr* from, size_t* sizes, size_t count, CUmemcpyAttributes* attributes,
                    size_t* indices, size_t attribute_count, size_t* failed, CUstream handle) {
  if (failed != nullptr) *failed = SIZE_MAX;
  return with_context([&](Call& call) -> CUresult {
    CUstream const stream = batch_stream(call, handle);
    Ranges<CUmemcpyAttributes> ranges(attributes, indices, attribute_count);
    if (stream == nullptr || to == nullptr || from == nullptr || sizes == nullptr || count == 0 || !ranges.valid(count))
      return CUDA_ERROR_INVALID_VALUE;
    return each(count, failed, [&](std::size_t i) -> CUresult {
      auto const waiting = waiting_for(ranges.of(i).srcAccessOrder);
      return waiting ? copy(call, stream, one_row(to[i], from[i], sizes[i]), *waiting) : CUDA_ERROR_INVALID_VALUE;
    });
  });
}

// The size of an element is the array's; between two pointers elements are bytes.
std::uint64_t element_bytes(Call& call, const CUmemcpy3DOperand& operand) {
  if (operand.type != CU_MEMCPY_OPERAND_TYPE_ARRAY) return 0;
  CUarray const array = call.driver.arrays.check(operand.op.array.array);
  return array != nullptr ? array->element_bytes : 0;
}

// One end of a copy, as the general form of the API names it; pitch and height are of no meaning for an array.
struct End {
  CUmemorytype type = CU_MEMORYTYPE_UNIFIED;
  CUdeviceptr address = 0;
  CUarray array = nullptr;
  std::size_t pitch = 0, height = 0, x_bytes = 0, y = 0, z = 0;
};

std::optional<End> end_of(const CUmemcpy3DOperand& operand, const CUextent3D& extent, std::uint64_t element) {
  if (operand.type == CU_MEMCPY_OPERAND_TYPE_ARRAY) {
    auto const& at = operand.op.array;
    return End{.type = CU_MEMORYTYPE_ARRAY,
               .array = at.array,
               .x_bytes = at.offset.x * element,
               .y = at.offset.y,
               .z = at.offset.z};
  }
  if (operand.type != CU_MEMCPY_OPERAND_TYPE_POINTER) return std::nullopt;
  auto const& at = operand.op.ptr;  // 0: rows and layers follow each other
  return End{.address = at.ptr,
             .pitch = (at.rowLength != 0 ? at.rowLength : extent.width) * element,
             .height = at.layerHeight != 0 ? at.layerHeight : extent.height};
}

std::optional<CUDA_MEMCPY3D> as_copy(Call& call, const CUDA_MEMCPY3D_BATCH_OP& op) {
  CUextent3D const& extent = op.extent;
  if (extent.width == 0 || extent.height == 0 || extent.depth == 0) return std::nullopt;
  std::uint64_t const element = std::max({std::uint64_t{1}, element_bytes(call, op.src), element_bytes(call, op.dst)});
  auto const from = end_of(op.src, extent, element), to = end_of(op.dst, extent, element);
  if (!from || !to) return std::nullopt;
  CUDA_MEMCPY3D p{};
  p.srcMemoryType = from->type;
  p.srcDevice = from->address;
  p.srcArray = from->array;
  p.srcPitch = from->pitch;
  p.srcHeight = from->height;
  p.srcXInBytes = from->x_bytes;
  p.srcY = from->y;
  p.srcZ = from->z;
  p.dstMemoryType = to->type;
  p.dstDevice = to->address;
  p.dstArray = to->array;
  p.dstPitch = to->pitch;
  p.dstHeight = to->height;
  p.dstXInBytes = to->x_bytes;
  p.dstY = to->y;
  p.dstZ = to->z;
  p.WidthInBytes = extent.width * element;
  p.Height = extent.height;
  p.Depth = extent.depth;
  return p;
}

CUresult copy_3d_batch(size_t count, CUDA_MEMCPY3D_BATCH_OP* operations, size_t* failed, unsigned long long flags,
                       CUstream handle) {
  if (failed != nullptr) *failed = SIZE_MAX;
  return with_context([&](Call& call) -> CUresult {
    CUstream const stream = batch_stream(call, handle);
    if (stream == nullptr || count == 0 || operations == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    return each(count, failed, [&](std::size_t i) -> CUresult {
      auto const waiting = waiting_for(operations[i].srcAccessOrder);
      auto const shape = as_copy(call, operations[i]);
      auto op = shape ? from_3d(call.driver, *shape) : std::nullopt;
      return waiting && op ? copy(call, stream, std::move(*op), *waiting) : CUDA_ERROR_INVALID_VALUE;
    });
  });
}

CUresult prefetch_batch(CUdeviceptr* addresses, size_t* sizes, size_t count, CUmemLocation* locations, size_t* indices,
                        size_t location_count, unsigned long long flags, CUstream handle) {
  Ranges<CUmemLocation> ranges(locations, indices, location_count);
  if (addresses == nullptr || sizes == nullptr || count == 0 || flags != 0 || !ranges.valid(count))
    return CUDA_ERROR_INVALID_VALUE;
  CUresult const fits = with_context([&](Call& call) -> CUresult {
    return batch_stream(call, handle) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
  if (fits != CUDA_SUCCESS) return fits;
  return each(count, nullptr,
              [&](std::size_t i) { return cuMemPrefetchAsync_v2(addresses[i], sizes[i], ranges.of(i), 0, handle); });
}

// What is discarded may be anything afterwards: the values that were there will do.
CUresult discard_batch(CUdeviceptr* addresses, size_t* sizes, size_t count, unsigned long long flags, CUstream handle) {
  return with_context([&](Call& call) -> CUresult {
    if (batch_stream(call, handle) == nullptr || addresses == nullptr || sizes == nullptr || count == 0 || flags != 0)
      return CUDA_ERROR_INVALID_VALUE;
    return each(count, nullptr, [&](std::size_t i) {
      return managed_block(call.driver, addresses[i], sizes[i]) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    });
  });
}

}  // namespace

CUresult CUDAAPI cuMemcpyBatchAsync(CUdeviceptr* to, CUdeviceptr* from, size_t* sizes, size_t count,
                                    CUmemcpyAttributes* attributes, size_t* indices, size_t attribute_count,
                                    size_t* failed, CUstream stream) {
  return copy_batch(to, from, sizes, count, attributes, indices, attribute_count, failed, stream);
}
CUresult CUDAAPI cuMemcpyBatchAsync_v2(CUdeviceptr* to, CUdeviceptr* from, size_t* sizes, size_t count,
                                       CUmemcpyAttributes* attributes, size_t* indices, size_t attribute_count,
                                       CUstream stream) {
  return copy_batch(to, from, sizes, count, attributes, indices, attribute_count, nullptr, stream);
}

CUresult CUDAAPI cuMemcpy3DBatchAsync(size_t count, CUDA_MEMCPY3D_BATCH_OP* operations, size_t* failed,
                                      unsigned long long flags, CUstream stream) {
  return copy_3d_batch(count, operations, failed, flags, stream);
}
CUresult CUDAAPI cuMemcpy3DBatchAsync_v2(size_t count, CUDA_MEMCPY3D_BATCH_OP* operations, unsigned long long flags,
                                         CUstream stream) {
  return copy_3d_batch(count, operations, nullptr, flags, stream);
}

CUresult CUDAAPI cuMemPrefetchBatchAsync(CUdeviceptr* addresses, size_t* sizes, size_t count, CUmemLocation* locations,
                                         size_t* indices, size_t location_count, unsigned long long flags,
                                         CUstream stream) {
  return prefetch_batch(addresses, sizes, count, locations, indices, location_count, flags, stream);
}
CUresult CUDAAPI cuMemDiscardBatchAsync(CUdeviceptr* addresses, size_t* sizes, size_t count, unsigned long long flags,
                                        CUstream stream) {
  return discard_batch(addresses, sizes, count, flags, stream);
}
CUresult CUDAAPI cuMemDiscardAndPrefetchBatchAsync(CUdeviceptr* addresses, size_t* sizes, size_t count,
                                                   CUmemLocation* locations, size_t* indices, size_t location_count,
                                                   unsigned long long flags, CUstream stream) {
  CUresult const wrong = discard_batch(addresses, sizes, count, flags, stream);
  if (wrong != CUDA_SUCCESS) return wrong;
  return prefetch_batch(addresses, sizes, count, locations, indices, location_count, flags, stream);
}
