// SPDX-License-Identifier: Apache-2.0
// Memory in the order of a stream. On a stream that is being captured nothing is allocated: the call becomes a node of
// the graph, and the graph's own pool is on the account when it is launched (graph.cpp).
#include "interpose/hooks/graph_memory.h"
#include "interpose/hooks/hook.h"
#include "interpose/record/pools.h"
#include "interpose/serve/pools.h"
#include "interpose/serve/serve.h"

using namespace tidemark::interpose;
using tidemark::trace::Class;
using tidemark::trace::Space;

namespace {

std::uint64_t number(CUmemoryPool pool) {
  return reinterpret_cast<std::uint64_t>(pool);
}

using IsCapturing = decltype(&cuStreamIsCapturing) Driver::*;
constexpr IsCapturing kLegacy = &Driver::cuStreamIsCapturing, kPerThread = &Driver::cuStreamIsCapturing_ptsz;

bool capturing(IsCapturing ask, CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return call(ask, stream, &status) == CUDA_SUCCESS && status == CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

// Memory comes from the stream's device.
int device_of_stream(CUstream stream) {
  CUdevice device = -1;
  bool const plain = stream == nullptr || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
  return !plain && several_devices() && call(&Driver::cuStreamGetDevice, stream, &device) == CUDA_SUCCESS ? device : -1;
}

template <class Real>
CUresult allocate_ordered(const char* name, IsCapturing ask, CUdeviceptr* out, size_t bytes, CUmemoryPool pool,
                          CUstream stream, Real real) {
  if (capturing(ask, stream)) {
    expect_graph_memory();
    return real();
  }
  if (pool == nullptr && serve::default_pool_is_served() &&
      serve::allocate_ordered(out, bytes, order::stream_of(stream, ask == kPerThread)))
    return CUDA_SUCCESS;
  int where = -1;
  if (ready()) shield([&] { where = pool != nullptr ? pools().device_of(number(pool)) : device_of_stream(stream); });
  return allocate({.call = name,
                   .size_bytes = bytes,
                   .block_class = Class::Pool,
                   .stream = stream,
                   .device = where,
                   .undo = undo_memory,
                   .pool = pool},
                  real, [&] { return Allocation{.address = *out, .size_bytes = bytes}; });
}

template <class Real>
CUresult release_ordered(IsCapturing ask, CUdeviceptr block, CUstream stream, Real real) {
  if (capturing(ask, stream)) return real();
  CUresult result = CUDA_SUCCESS;
  if (serve::free_ordered(block, order::stream_of(stream, ask == kPerThread), &result)) return result;
  devices().expect_moves();  // whatever it is that is freed, it may be gone later than now
  return release(Space::Memory, block, stream, real);
}

CUresult sampled(CUresult result) {
  if (result == CUDA_SUCCESS && recording()) shield([] { devices().sample_moved(); });
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

TIDEMARK_HOOK(cuMemPoolCreate)(CUmemoryPool* out, const CUmemPoolProps* properties) {
  CUresult const result = call(&Driver::cuMemPoolCreate, out, properties);
  if (result == CUDA_SUCCESS && properties->location.type == CU_MEM_LOCATION_TYPE_DEVICE && ready())
    shield([&] { pools().made(number(*out), static_cast<std::uint8_t>(properties->location.id)); });
  return result;
}
// A pool gives back what it holds and no block is in.
TIDEMARK_HOOK(cuMemPoolTrimTo)(CUmemoryPool pool, size_t keep_bytes) {
  serve::trim_pool(pool, keep_bytes);
  return sampled(call(&Driver::cuMemPoolTrimTo, pool, keep_bytes));
}
// Where it was a device's current one, the default pool is that again.
TIDEMARK_HOOK(cuMemPoolDestroy)(CUmemoryPool pool) {
  if (ready()) shield([&] { pools().ended(number(pool)); });
  CUresult const result = sampled(call(&Driver::cuMemPoolDestroy, pool));
  if (result == CUDA_SUCCESS) shield([] { serve::pools_changed(); });
  return result;
}
TIDEMARK_HOOK(cuDeviceSetMemPool)(CUdevice device, CUmemoryPool pool) {
  CUresult const result = call(&Driver::cuDeviceSetMemPool, device, pool);
  if (result == CUDA_SUCCESS && ready()) shield([] { serve::pools_changed(); });
  return result;
}
TIDEMARK_HOOK(cuMemSetMemPool)(CUmemLocation* location, CUmemAllocationType type, CUmemoryPool pool) {
  CUresult const result = call(&Driver::cuMemSetMemPool, location, type, pool);
  if (result == CUDA_SUCCESS && ready()) shield([] { serve::pools_changed(); });
  return result;
}
// Served blocks cannot follow what is set for peers: from here on the pool is the driver's alone.
TIDEMARK_HOOK(cuMemPoolSetAccess)(CUmemoryPool pool, const CUmemAccessDesc* access, size_t count) {
  CUresult const result = call(&Driver::cuMemPoolSetAccess, pool, access, count);
  if (result == CUDA_SUCCESS && ready()) shield([&] { serve::pool_is_special(pool); });
  return result;
}

TIDEMARK_HOOK(cuMemPoolGetAttribute)(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  CUresult const result = call(&Driver::cuMemPoolGetAttribute, pool, attribute, value);
  if (result == CUDA_SUCCESS && recording()) shield([&] { serve::correct_attribute(pool, attribute, value); });
  return result;
}
TIDEMARK_HOOK(cuMemPoolSetAttribute)(CUmemoryPool pool, CUmemPool_attribute attribute, void* value) {
  CUresult const result = call(&Driver::cuMemPoolSetAttribute, pool, attribute, value);
  if (result == CUDA_SUCCESS && ready()) shield([&] { serve::attribute_set(pool, attribute, value); });
  return result;
}

TIDEMARK_HOOK(cuMemPoolImportPointer)(CUdeviceptr* out, CUmemoryPool pool, CUmemPoolPtrExportData* data) {
  return allocate(
      {.call = "cuMemPoolImportPointer", .block_class = Class::Imported},
      [&] { return call(&Driver::cuMemPoolImportPointer, out, pool, data); },
      [&] { return Allocation{.address = *out, .size_bytes = block_bytes(*out)}; });
}
