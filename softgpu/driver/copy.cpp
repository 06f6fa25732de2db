// SPDX-License-Identifier: Apache-2.0
#include "softgpu/driver/copy.h"

#include <cstring>

#include "softgpu/driver/capture.h"
#include "softgpu/driver/memory.h"

using namespace tidemark;
using namespace tidemark::softgpu;

namespace tidemark::softgpu {
namespace {

// Addresses that can only be a device's: there is no memory of the host behind them.
bool is_device_address(Driver& driver, std::uintptr_t address) {
  return driver.blocks.in_window(address) || in_reservation(address);
}

bool allows(const Block& block, Access access) {
  if (block.doomed) return access.in_graph && block.kind == MemoryKind::Graph;
  if (block.kind != MemoryKind::Mapped) return true;
  return widest_access(block) >=
         unsigned{access.writes ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_READ};
}

Place place_of_block(const Block& block) {
  switch (block.kind) {
    case MemoryKind::Pinned:
    case MemoryKind::Registered: return Place::Pinned;
    case MemoryKind::Managed: return Place::Managed;
    default: return Place::Device;
  }
}

// From the first to the last byte. Nothing: no address space is that large, however the numbers would wrap around.
std::optional<std::uint64_t> span_of(const CopyOp& op, std::uint64_t pitch, std::uint64_t slice) {
  if (op.width == 0 || op.height == 0 || op.depth == 0) return 0;
  return strided_span({.width = op.width, .pitch = pitch, .rows = op.height, .slice = slice, .slices = op.depth});
}

struct Ends {
  Place source, destination;
};

std::optional<Ends> ends_of(Driver& driver, const CopyOp& op, bool in_graph) {
  auto const source = span_of(op, op.source_pitch, op.source_slice);
  auto const destination = span_of(op, op.destination_pitch, op.destination_slice);
  if (!source || !destination) return std::nullopt;
  Ends const ends{place_of(driver, op.source, *source, {.in_graph = in_graph}),
                  place_of(driver, op.destination, *destination, {.writes = true, .in_graph = in_graph})};
  if (ends.source == Place::Invalid || ends.destination == Place::Invalid) return std::nullopt;
  return ends;
}

// The program may reuse a pageable source as soon as the call returns: the copy reads it now.
void stage(CopyOp& op) {
  op.staged = std::make_shared<std::vector<std::byte>>(op.bytes());
  std::byte* to = op.staged->data();
  for (std::uint64_t z = 0; z < op.depth; ++z)
    for (std::uint64_t y = 0; y < op.height; ++y, to += op.width)
      std::memcpy(to, reinterpret_cast<const void*>(op.source + z * op.source_slice + y * op.source_pitch), op.width);
  op.source_pitch = op.width;
  op.source_slice = op.width * op.height;
}

}  // namespace

std::optional<std::uint64_t> strided_span(const Strides& s) {
  std::uint64_t rows = 0, slices = 0, span = 0;
  bool const wraps = __builtin_mul_overflow(s.rows - 1, s.pitch, &rows) ||
                     __builtin_mul_overflow(s.slices - 1, s.slice, &slices) ||
                     __builtin_add_overflow(rows, slices, &span) || __builtin_add_overflow(span, s.width, &span);
  return wraps ? std::nullopt : std::optional(span);
}

Place place_of(Driver& driver, std::uintptr_t address, std::uint64_t bytes, Access access) {
  if (bytes > ~address) return Place::Invalid;  // its end would wrap around
  if (address == 0) return bytes == 0 ? Place::Pageable : Place::Invalid;
  std::uintptr_t at = address;
  std::optional<Place> place;
  // Neighbouring mappings of a reservation count as one range.
  for (;;) {
    Block const* const block = driver.blocks.find(at);
    if (block == nullptr) break;
    if (!allows(*block, access)) return Place::Invalid;
    place = place_of_block(*block);
    at = block->address + block->requested;
    if (at >= address + bytes) return *place;
    if (block->kind != MemoryKind::Mapped && *place != Place::Pinned) return Place::Invalid;
  }
  if (place && *place == Place::Device) return Place::Invalid;
  return is_device_address(driver, at) ? Place::Invalid : Place::Pageable;
}

bool always_synchronises(Call& call, std::uintptr_t address) {
  Block const* const block = call.driver.blocks.find(address);
  return (call.context->flags & CU_CTX_SYNC_MEMOPS) != 0 || (block != nullptr && block->sync_memops);
}

CUresult check_copy(Driver& driver, CopyOp& op, bool in_graph) {
  auto const ends = ends_of(driver, op, in_graph);
  if (!ends) return CUDA_ERROR_INVALID_VALUE;
  op.source_is_device = ends->source != Place::Pageable;
  op.destination_is_device = ends->destination != Place::Pageable;
  return CUDA_SUCCESS;
}

CUresult copy(Call& call, CUstream stream, CopyOp op, Waiting waiting) {
  if (CUresult const wrong = check_copy(call.driver, op, is_capturing(stream)); wrong != CUDA_SUCCESS) return wrong;
  if (is_capturing(stream))
    return waiting == Waiting::Sync ? capture_violated(call, stream) : issue(call, stream, std::move(op));
  if (waiting == Waiting::Sync && is_capture_forbidden(call)) return capture_violated(call, nullptr);
  if (op.bytes() == 0) return CUDA_SUCCESS;
  fault_slow(call.driver, "COPY", "cuMemcpy");
  Ends const ends = *ends_of(call.driver, op, false);
  bool const from_pageable = ends.source == Place::Pageable;
  bool const to_pageable = ends.destination == Place::Pageable;
  bool const to_host = to_pageable || ends.destination == Place::Pinned;
  bool const from_host = from_pageable || ends.source == Place::Pinned;
  // Managed memory is the host's as much as the device's: after the plain form it may read and write it at once.
  bool const managed = ends.source == Place::Managed || ends.destination == Place::Managed;
  bool const wait_anyway = waiting == Waiting::Sync && (managed || always_synchronises(call, op.source) ||
                                                        always_synchronises(call, op.destination));
  if (from_pageable && !to_host && !wait_anyway && call.driver.config.schedule != Schedule::Eager) {
    // Documented: the stream is synchronised, then the call returns once the source has been staged.
    if (waiting == Waiting::Sync) call.engine().wait_stream(call.lock, *stream);
    stage(op);
    return issue(call, stream, std::move(op));
  }
  bool const host_waits = wait_anyway || from_pageable || to_pageable || (from_host && to_host) ||
                          (waiting == Waiting::Sync && (from_host || to_host));
  return host_waits ? issue_and_wait(call, stream, std::move(op)) : issue(call, stream, std::move(op));
}

}  // namespace tidemark::softgpu

namespace {

// The plain forms: one row. The stream of a synchronous copy is the default one.
CUresult copy_row(std::uintptr_t destination, std::uintptr_t source, std::uint64_t bytes, CUstream handle,
                  Waiting waiting) {
  return with_context([&](Call& call) -> CUresult {
    CUstream const stream = stream_of(call, waiting == Waiting::Sync ? nullptr : handle);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    return copy(call, stream,
                {.source = source,
                 .destination = destination,
                 .source_pitch = bytes,
                 .source_slice = bytes,
                 .destination_pitch = bytes,
                 .destination_slice = bytes,
                 .width = bytes},
                waiting);
  });
}

std::uintptr_t number(const void* p) {
  return reinterpret_cast<std::uintptr_t>(p);
}

CUresult copy_3d(const CUDA_MEMCPY3D* p, CUstream handle, Waiting waiting) {
  return with_context([&](Call& call) -> CUresult {
    CUstream const stream = stream_of(call, handle);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (p == nullptr) return CUDA_ERROR_INVALID_VALUE;
    auto op = from_3d(call.driver, *p);
    return op ? copy(call, stream, std::move(*op), waiting) : CUDA_ERROR_INVALID_VALUE;
  });
}

CUDA_MEMCPY3D widen(const CUDA_MEMCPY2D& p) {
  CUDA_MEMCPY3D q{};
  q.srcXInBytes = p.srcXInBytes;
  q.srcY = p.srcY;
  q.srcMemoryType = p.srcMemoryType;
  q.srcHost = p.srcHost;
  q.srcDevice = p.srcDevice;
  q.srcArray = p.srcArray;
  q.srcPitch = p.srcPitch;
  q.dstXInBytes = p.dstXInBytes;
  q.dstY = p.dstY;
  q.dstMemoryType = p.dstMemoryType;
  q.dstHost = p.dstHost;
  q.dstDevice = p.dstDevice;
  q.dstArray = p.dstArray;
  q.dstPitch = p.dstPitch;
  q.WidthInBytes = p.WidthInBytes;
  q.Height = p.Height;
  q.Depth = 1;
  return q;
}

CUresult copy_2d(const CUDA_MEMCPY2D* p, CUstream handle, Waiting waiting) {
  if (p == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUDA_MEMCPY3D const wide = widen(*p);
  return copy_3d(&wide, handle, waiting);
}

// A copy between contexts comes after all work of both and before all that is queued in them later: documented for the
// plain forms. The host waits for all of it, the simplest order that keeps the promise.
template <class Issue>
CUresult serialised(CUcontext to, CUcontext from, Issue issue_copy) {
  auto const wait = [&] {
    return with_context([&](Call& call) -> CUresult {
      for (CUcontext const context : {to, from})
        if (call.driver.contexts.check(context) == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
      for (CUcontext const context : {to, from, call.context})
        if (call.driver.contexts.check(context) != nullptr) call.engine().wait_group(call.lock, *context);
      return CUDA_SUCCESS;
    });
  };
  CUresult result = wait();
  if (result == CUDA_SUCCESS) result = issue_copy();
  return result == CUDA_SUCCESS ? wait() : result;
}

CUDA_MEMCPY3D without_contexts(const CUDA_MEMCPY3D_PEER& p) {
  CUDA_MEMCPY3D q{};
  q.srcXInBytes = p.srcXInBytes;
  q.srcY = p.srcY;
  q.srcZ = p.srcZ;
  q.srcLOD = p.srcLOD;
  q.srcMemoryType = p.srcMemoryType;
  q.srcHost = p.srcHost;
  q.srcDevice = p.srcDevice;
  q.srcArray = p.srcArray;
  q.srcPitch = p.srcPitch;
  q.srcHeight = p.srcHeight;
  q.dstXInBytes = p.dstXInBytes;
  q.dstY = p.dstY;
  q.dstZ = p.dstZ;
  q.dstLOD = p.dstLOD;
  q.dstMemoryType = p.dstMemoryType;
  q.dstHost = p.dstHost;
  q.dstDevice = p.dstDevice;
  q.dstArray = p.dstArray;
  q.dstPitch = p.dstPitch;
  q.dstHeight = p.dstHeight;
  q.WidthInBytes = p.WidthInBytes;
  q.Height = p.Height;
  q.Depth = p.Depth;
  return q;
}

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

// An array end of the one-row forms: offset in bytes into a one-dimensional array.
CUDA_MEMCPY3D array_row(std::size_t bytes) {
  CUDA_MEMCPY3D p{};
  p.WidthInBytes = bytes;
  p.Height = 1;
  p.Depth = 1;
  return p;
}

void set_source(CUDA_MEMCPY3D& p, CUarray array, std::size_t offset) {
  p.srcMemoryType = CU_MEMORYTYPE_ARRAY;
  p.srcArray = array;
  p.srcXInBytes = offset;
}

void set_destination(CUDA_MEMCPY3D& p, CUarray array, std::size_t offset) {
  p.dstMemoryType = CU_MEMORYTYPE_ARRAY;
  p.dstArray = array;
  p.dstXInBytes = offset;
}

void set_source(CUDA_MEMCPY3D& p, std::uintptr_t address) {
  p.srcMemoryType = CU_MEMORYTYPE_UNIFIED;
  p.srcDevice = address;
}

void set_destination(CUDA_MEMCPY3D& p, std::uintptr_t address) {
  p.dstMemoryType = CU_MEMORYTYPE_UNIFIED;
  p.dstDevice = address;
}

}  // namespace

std::optional<CopyOp> tidemark::softgpu::from_3d(Driver& driver, const CUDA_MEMCPY3D& p) {
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
                .depth = p.Depth};
}

CUresult CUDAAPI cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t n) {
  return copy_row(to, from, n, nullptr, Waiting::Sync);
}
CUresult CUDAAPI cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t n, CUstream s) {
  return copy_row(to, from, n, s, Waiting::Async);
}
CUresult CUDAAPI cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t n) {
  return copy_row(to, number(from), n, nullptr, Waiting::Sync);
}
CUresult CUDAAPI cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t n, CUstream s) {
  return copy_row(to, number(from), n, s, Waiting::Async);
}
CUresult CUDAAPI cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t n) {
  return copy_row(number(to), from, n, nullptr, Waiting::Sync);
}
CUresult CUDAAPI cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t n, CUstream s) {
  return copy_row(number(to), from, n, s, Waiting::Async);
}
CUresult CUDAAPI cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t n) {
  return copy_row(to, from, n, nullptr, Waiting::Sync);
}
CUresult CUDAAPI cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t n, CUstream s) {
  return copy_row(to, from, n, s, Waiting::Async);
}
CUresult CUDAAPI cuMemcpyPeer(CUdeviceptr to, CUcontext there, CUdeviceptr from, CUcontext here, size_t n) {
  return serialised(there, here, [&] { return copy_row(to, from, n, nullptr, Waiting::Sync); });
}
CUresult CUDAAPI cuMemcpyPeerAsync(CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, size_t n, CUstream s) {
  return copy_row(to, from, n, s, Waiting::Async);
}

CUresult CUDAAPI cuMemcpy2D_v2(const CUDA_MEMCPY2D* p) {
  return copy_2d(p, nullptr, Waiting::Sync);
}
CUresult CUDAAPI cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D* p) {
  return copy_2d(p, nullptr, Waiting::Sync);
}
CUresult CUDAAPI cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D* p, CUstream s) {
  return copy_2d(p, s, Waiting::Async);
}
CUresult CUDAAPI cuMemcpy3D_v2(const CUDA_MEMCPY3D* p) {
  return copy_3d(p, nullptr, Waiting::Sync);
}
CUresult CUDAAPI cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D* p, CUstream s) {
  return copy_3d(p, s, Waiting::Async);
}
CUresult CUDAAPI cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER* p) {
  if (p == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUDA_MEMCPY3D const plain = without_contexts(*p);
  return serialised(p->dstContext, p->srcContext, [&] { return copy_3d(&plain, nullptr, Waiting::Sync); });
}
CUresult CUDAAPI cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER* p, CUstream s) {
  if (p == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUDA_MEMCPY3D const plain = without_contexts(*p);
  return copy_3d(&plain, s, Waiting::Async);
}

CUresult CUDAAPI cuMemcpyDtoA_v2(CUarray to, size_t offset, CUdeviceptr from, size_t n) {
  CUDA_MEMCPY3D p = array_row(n);
  set_source(p, from);
  set_destination(p, to, offset);
  return copy_3d(&p, nullptr, Waiting::Sync);
}
CUresult CUDAAPI cuMemcpyAtoD_v2(CUdeviceptr to, CUarray from, size_t offset, size_t n) {
  CUDA_MEMCPY3D p = array_row(n);
  set_source(p, from, offset);
  set_destination(p, to);
  return copy_3d(&p, nullptr, Waiting::Sync);
}
CUresult CUDAAPI cuMemcpyHtoA_v2(CUarray to, size_t offset, const void* from, size_t n) {
  return cuMemcpyDtoA_v2(to, offset, number(from), n);
}
CUresult CUDAAPI cuMemcpyAtoH_v2(void* to, CUarray from, size_t offset, size_t n) {
  return cuMemcpyAtoD_v2(number(to), from, offset, n);
}
CUresult CUDAAPI cuMemcpyAtoA_v2(CUarray to, size_t to_offset, CUarray from, size_t from_offset, size_t n) {
  CUDA_MEMCPY3D p = array_row(n);
  set_source(p, from, from_offset);
  set_destination(p, to, to_offset);
  return copy_3d(&p, nullptr, Waiting::Sync);
}
CUresult CUDAAPI cuMemcpyHtoAAsync_v2(CUarray to, size_t offset, const void* from, size_t n, CUstream s) {
  CUDA_MEMCPY3D p = array_row(n);
  set_source(p, number(from));
  set_destination(p, to, offset);
  return copy_3d(&p, s, Waiting::Async);
}
CUresult CUDAAPI cuMemcpyAtoHAsync_v2(void* to, CUarray from, size_t offset, size_t n, CUstream s) {
  CUDA_MEMCPY3D p = array_row(n);
  set_source(p, from, offset);
  set_destination(p, number(to));
  return copy_3d(&p, s, Waiting::Async);
}
