// SPDX-License-Identifier: Apache-2.0
// Memory in the order of a stream. On a stream that is being captured nothing is allocated: the call becomes a node of
// the graph, and the graph's own pool is on the account when it is launched (graph.cpp).
#include "interpose/hooks/graph_memory.h"
#include "interpose/hooks/hook.h"

using namespace tidemark::interpose;
using tidemark::trace::Class;
using tidemark::trace::Space;

namespace {

using IsCapturing = decltype(&cuStreamIsCapturing) Driver::*;
constexpr IsCapturing kLegacy = &Driver::cuStreamIsCapturing, kPerThread = &Driver::cuStreamIsCapturing_ptsz;

bool capturing(IsCapturing ask, CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return call(ask, stream, &status) == CUDA_SUCCESS && status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

template <class Real>
CUresult allocate_ordered(const char* name, IsCapturing ask, CUdeviceptr* out, size_t bytes, CUmemoryPool pool,
                          CUstream stream, Real real) {
  if (capturing(ask, stream)) {
    expect_graph_memory();
    return real();
  }
  return allocate({.call = name,
                   .size_bytes = bytes,
                   .block_class = Class::Pool,
                   .stream = stream,
                   .undo = undo_memory,
                   .pool = pool},
                  real, [&] { return Allocation{.address = *out, .size_bytes = bytes}; });
}

template <class Real>
CUresult release_ordered(IsCapturing ask, CUdeviceptr block, CUstream stream, Real real) {
  if (capturing(ask, stream)) return real();
  return release(Space::Memory, block, stream, real);
}

CUresult sampled(CUresult result) {
  if (result == CUDA_SUCCESS && recording())
    shield([] {
      Place const place = current_place();
      if (place.context != 0) devices().sample(place.device);
    });
  return result;
}

}  // namespace

TIDEMARK_HOOK(cuMemAllocAsync)(CUdeviceptr* out, size_t bytes, CUstream stream) {
  return allocate_ordered("cuMemAllocAsync", kLegacy, out, bytes, nullptr, stream,
                          [&] { return call(&Driver::cuMemAllocAsync, out, bytes, stream); });
}
TIDEMARK_HOOK(cuMemAllocAsync_ptsz)(CUdeviceptr* out, size_t bytes, CUstream stream) {
  return allocate_ordered("cuMemAllocAsync", kPerThread, out, bytes, nullptr, stream,
                          [&] { return call(&Driver::cuMemAllocAsync_ptsz, out, bytes, stream); });
}

TIDEMARK_HOOK(cuMemAllocFromPoolAsync)(CUdeviceptr* out, size_t bytes, CUmemoryPool pool, CUstream stream) {
  return allocate_ordered("cuMemAllocFromPoolAsync", kLegacy, out, bytes, pool, stream,
                          [&] { return call(&Driver::cuMemAllocFromPoolAsync, out, bytes, pool, stream); });
}
TIDEMARK_HOOK(cuMemAllocFromPoolAsync_ptsz)(CUdeviceptr* out, size_t bytes, CUmemoryPool pool, CUstream stream) {
  return allocate_ordered("cuMemAllocFromPoolAsync", kPerThread, out, bytes, pool, stream,
                          [&] { return call(&Driver::cuMemAllocFromPoolAsync_ptsz, out, bytes, pool, stream); });
}

TIDEMARK_HOOK(cuMemFreeAsync)(CUdeviceptr block, CUstream stream) {
  return release_ordered(kLegacy, block, stream, [&] { return call(&Driver::cuMemFreeAsync, block, stream); });
}
TIDEMARK_HOOK(cuMemFreeAsync_ptsz)(CUdeviceptr block, CUstream stream) {
  return release_ordered(kPerThread, block, stream, [&] { return call(&Driver::cuMemFreeAsync_ptsz, block, stream); });
}

// A pool gives back what it holds and no block is in.
TIDEMARK_HOOK(cuMemPoolTrimTo)(CUmemoryPool pool, size_t keep_bytes) {
  return sampled(call(&Driver::cuMemPoolTrimTo, pool, keep_bytes));
}
TIDEMARK_HOOK(cuMemPoolDestroy)(CUmemoryPool pool) {
  return sampled(call(&Driver::cuMemPoolDestroy, pool));
}

TIDEMARK_HOOK(cuMemPoolImportPointer)(CUdeviceptr* out, CUmemoryPool pool, CUmemPoolPtrExportData* data) {
  return allocate(
      {.call = "cuMemPoolImportPointer", .block_class = Class::Imported},
      [&] { return call(&Driver::cuMemPoolImportPointer, out, pool, data); },
      [&] { return Allocation{.address = *out, .size_bytes = block_bytes(*out)}; });
}
