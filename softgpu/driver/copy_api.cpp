// SPDX-License-Identifier: Apache-2.0
// Copies as programs call them.
#include "softgpu/driver/capture.h"
#include "softgpu/driver/copy.h"

using namespace tidemark;
using namespace tidemark::softgpu;

namespace {

// One end of the plain forms: of the host, of the device, or wherever its address says.
struct End {
  std::uintptr_t address;
  bool must_be_device = false;
};
End on_host(const void* p) {
  return {number(p)};
}
End on_device(CUdeviceptr address) {
  return {address, true};
}
End anywhere(CUdeviceptr address) {
  return {address};
}

CopyOp one_row(End to, End from, std::uint64_t bytes) {
  return {.source = from.address,
          .destination = to.address,
          .source_pitch = bytes,
          .source_slice = bytes,
          .destination_pitch = bytes,
          .destination_slice = bytes,
          .width = bytes,
          .source_must_be_device = from.must_be_device,
          .destination_must_be_device = to.must_be_device};
}

CUresult copy_async(CUstream handle, CopyOp op) {
  return with_stream(handle,
                     [&](Call& call, CUstream stream) { return copy(call, stream, std::move(op), Waiting::Async); });
}
// In the default stream.
CUresult copy_now(CopyOp op) {
  return with_stream(nullptr,
                     [&](Call& call, CUstream stream) { return copy(call, stream, std::move(op), Waiting::Sync); });
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

CUresult CUDAAPI cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t n) {
  return copy_now(one_row(anywhere(to), anywhere(from), n));
}
CUresult CUDAAPI cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t n, CUstream s) {
  return copy_async(s, one_row(anywhere(to), anywhere(from), n));
}
CUresult CUDAAPI cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t n) {
  return copy_now(one_row(on_device(to), on_host(from), n));
}
CUresult CUDAAPI cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t n, CUstream s) {
  return copy_async(s, one_row(on_device(to), on_host(from), n));
}
CUresult CUDAAPI cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t n) {
  return copy_now(one_row(on_host(to), on_device(from), n));
}
CUresult CUDAAPI cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t n, CUstream s) {
  return copy_async(s, one_row(on_host(to), on_device(from), n));
}
CUresult CUDAAPI cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, size_t n) {
  return copy_now(one_row(on_device(to), on_device(from), n));
}
CUresult CUDAAPI cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t n, CUstream s) {
  return copy_async(s, one_row(on_device(to), on_device(from), n));
}
CUresult CUDAAPI cuMemcpyPeer(CUdeviceptr to, CUcontext there, CUdeviceptr from, CUcontext here, size_t n) {
  return serialised(there, here, [&] { return copy_now(one_row(on_device(to), on_device(from), n)); });
}
CUresult CUDAAPI cuMemcpyPeerAsync(CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, size_t n, CUstream s) {
  return copy_async(s, one_row(on_device(to), on_device(from), n));
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
