// SPDX-License-Identifier: Apache-2.0
// Calls that wait for work, and those that move managed memory. They allocate nothing, but change what the device has
// given: pools give back what is free when somebody waits, a prefetch takes memory of the device that it goes to.
#include "interpose/hooks/hook.h"
#include "interpose/order/order.h"
#include "interpose/serve/cache.h"
#include "interpose/serve/uses.h"

using namespace tidemark::interpose;

namespace {

using order::Work;

constexpr order::Entry entry(const char* name, Work work, bool per_thread, int slot) {
  return {.name = name,
          .library = Library::Driver,
          .work = work,
          .per_thread = per_thread,
          .slot = static_cast<std::int8_t>(slot)};
}
constexpr order::Entry kContext = entry("cuCtxSynchronize", Work::Sync, false, order::kNoStream),
                       kContext2 = entry("cuCtxSynchronize_v2", Work::Sync, false, order::kNoStream),
                       kStream = entry("cuStreamSynchronize", Work::Sync, false, 0),
                       kStreamTwin = entry("cuStreamSynchronize_ptsz", Work::Sync, true, 0),
                       kEvent = entry("cuEventSynchronize", Work::Sync, false, order::kNoStream),
                       kPrefetch = entry("cuMemPrefetchAsync", Work::Managed, false, 3),
                       kPrefetchTwin = entry("cuMemPrefetchAsync_ptsz", Work::Managed, true, 3),
                       kPrefetch2 = entry("cuMemPrefetchAsync_v2", Work::Managed, false, 4),
                       kPrefetch2Twin = entry("cuMemPrefetchAsync_v2_ptsz", Work::Managed, true, 4);

template <class Real>
CUresult moving(const order::Entry& which, CUstream stream, Real real) {
  order::tell(which, reinterpret_cast<std::uint64_t>(stream));
  CUresult const result = real();
  if (!recording()) return result;
  if (result == CUDA_SUCCESS)
    shield([] { devices().sample_moved(); });
  else if (serve::has_caches())
    shield([&] { serve::saw_result(result); });
  return result;
}

// Memory may go to a device that has no block yet: what is in use there without it has to be known first.
template <class Real>
CUresult moving_to(CUmemLocation to, const order::Entry& which, CUstream stream, Real real) {
  bool const on_device = to.type == CU_MEM_LOCATION_TYPE_DEVICE && to.id >= 0;
  if (on_device && ready()) shield([&] { devices().meet(static_cast<std::uint8_t>(to.id)); });
  return moving(which, stream, real);
}
CUmemLocation on(CUdevice device) {
  return {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device};
}

}  // namespace

TIDEMARK_HOOK(cuCtxSynchronize)() {
  return moving(kContext, nullptr, [] { return call(&Driver::cuCtxSynchronize); });
}
TIDEMARK_HOOK(cuCtxSynchronize_v2)(CUcontext context) {
  return moving(kContext2, nullptr, [&] { return call(&Driver::cuCtxSynchronize_v2, context); });
}
TIDEMARK_HOOK(cuStreamSynchronize)(CUstream stream) {
  return moving(kStream, stream, [&] { return call(&Driver::cuStreamSynchronize, stream); });
}
TIDEMARK_HOOK(cuStreamSynchronize_ptsz)(CUstream stream) {
  return moving(kStreamTwin, stream, [&] { return call(&Driver::cuStreamSynchronize_ptsz, stream); });
}
TIDEMARK_HOOK(cuEventSynchronize)(CUevent event) {
  if (serve::has_caches() && serve::follows_uses())
    shield([&] { serve::host_waits_for(reinterpret_cast<std::uint64_t>(event)); });
  return moving(kEvent, nullptr, [&] { return call(&Driver::cuEventSynchronize, event); });
}

TIDEMARK_HOOK(cuMemPrefetchAsync)(CUdeviceptr block, size_t bytes, CUdevice to, CUstream stream) {
  return moving_to(on(to), kPrefetch, stream,
                   [&] { return call(&Driver::cuMemPrefetchAsync, block, bytes, to, stream); });
}
TIDEMARK_HOOK(cuMemPrefetchAsync_ptsz)(CUdeviceptr block, size_t bytes, CUdevice to, CUstream stream) {
  return moving_to(on(to), kPrefetchTwin, stream,
                   [&] { return call(&Driver::cuMemPrefetchAsync_ptsz, block, bytes, to, stream); });
}
TIDEMARK_HOOK(cuMemPrefetchAsync_v2)
(CUdeviceptr block, size_t bytes, CUmemLocation to, unsigned int flags, CUstream stream) {
  return moving_to(to, kPrefetch2, stream,
                   [&] { return call(&Driver::cuMemPrefetchAsync_v2, block, bytes, to, flags, stream); });
}
TIDEMARK_HOOK(cuMemPrefetchAsync_v2_ptsz)
(CUdeviceptr block, size_t bytes, CUmemLocation to, unsigned int flags, CUstream stream) {
  return moving_to(to, kPrefetch2Twin, stream,
                   [&] { return call(&Driver::cuMemPrefetchAsync_v2_ptsz, block, bytes, to, flags, stream); });
}
