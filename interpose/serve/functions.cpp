// SPDX-License-Identifier: Apache-2.0
#include "interpose/serve/functions.h"

#include <algorithm>

#include "interpose/limit/gate.h"
#include "interpose/limit/limit.h"
#include "interpose/process/process.h"
#include "interpose/process/stage.h"
#include "interpose/real/primary.h"
#include "interpose/record/devices.h"
#include "interpose/record/thread.h"
#include "interpose/serve/cache.h"
#include "interpose/serve/captures.h"
#include "interpose/serve/checker.h"
#include "interpose/serve/usage.h"

namespace tidemark::interpose::serve {
namespace {

// Memory is taken: within the limit, and on the account. Alone at the gate, what the device has given is measured.
template <class Take, class Undo>
CUresult take(std::uint8_t device, std::size_t bytes, Take take, Undo undo) {
  if (std::uint64_t const limit = limit_bytes(); limit != 0 && bytes > limit) return CUDA_ERROR_OUT_OF_MEMORY;
  Pass const pass = enter_gate(device, bytes);
  CUresult result = take();
  if (pass.kind == Pass::Kind::Alone) {
    std::uint64_t taken = devices().measure(device);
    if (result == CUDA_SUCCESS && taken > limit_bytes() && undo() == CUDA_SUCCESS) {
      result = CUDA_ERROR_OUT_OF_MEMORY;
      taken = devices().measure(device);
    }
    set_credit(device, taken);
  } else if (result == CUDA_SUCCESS) {
    Thread& thread = this_thread();
    thread.sample_due = thread.samples_later;
    if (!thread.samples_later) devices().sample(device);
  }
  leave_gate(pass);
  use_changed();
  return result;
}

CUresult create(CUmemGenericAllocationHandle* out, std::size_t bytes, const CUmemAllocationProp* properties,
                unsigned long long flags) {
  return take(
      static_cast<std::uint8_t>(properties->location.id), bytes,
      [&] { return call(&Driver::cuMemCreate, out, bytes, properties, flags); },
      [&] { return call(&Driver::cuMemRelease, *out); });
}
CUresult destroy(CUmemGenericAllocationHandle handle) {
  CUresult const result = call(&Driver::cuMemRelease, handle);
  if (result == CUDA_SUCCESS) devices().sample_all();
  use_changed();
  return result;
}
CUresult allocate(CUdeviceptr* out, std::size_t bytes) {
  return take(
      current_place().device, bytes, [&] { return call(&Driver::cuMemAlloc_v2, out, bytes); },
      [&] { return call(&Driver::cuMemFree_v2, *out); });
}
CUresult free(CUdeviceptr block) {
  CUresult const result = call(&Driver::cuMemFree_v2, block);
  if (result == CUDA_SUCCESS) devices().sample_all();
  use_changed();
  return result;
}

// A call of ours may let work go on that moves managed memory, or that pools have waited for.
CUresult sampled(CUresult result) {
  if (recording()) devices().sample_moved();
  return result;
}

CUresult record(CUevent event, CUstream stream) {
  if (!enter_stream(stream)) return CUDA_ERROR_NOT_READY;
  CUresult const result = call(&Driver::cuEventRecord, event, stream);
  leave_stream();
  return sampled(result);
}
CUresult wait_in_stream(CUstream stream, CUevent event, unsigned int flags) {
  if (!enter_stream(stream)) return CUDA_ERROR_NOT_READY;
  CUresult const result = call(&Driver::cuStreamWaitEvent, stream, event, flags);
  leave_stream();
  return sampled(result);
}

CUresult query(CUevent event) {
  return sampled(call(&Driver::cuEventQuery, event));
}
CUresult wait(CUevent event) {
  return sampled(call(&Driver::cuEventSynchronize, event));
}

CUresult set_words(CUdeviceptr to, unsigned int word, std::size_t count, CUstream stream) {
  if (!enter_stream(stream)) return CUDA_ERROR_NOT_READY;
  CUresult const result = call(&Driver::cuMemsetD32Async, to, word, count, stream);
  leave_stream();
  return result;
}

// Everything that any stream known to a cache has to do.
CUresult synchronize() {
  if (capturing()) return CUDA_ERROR_NOT_READY;
  CUresult all = call(&Driver::cuCtxSynchronize);
  for_each_context([&](std::uint64_t context) {
    with_context(reinterpret_cast<CUcontext>(context), [&] {
      if (CUresult const result = call(&Driver::cuCtxSynchronize); result != CUDA_SUCCESS) all = result;
    });
  });
  return sampled(all);
}

}  // namespace

allocator::DriverFunctions driver_functions() {
  const Driver& d = driver();
  return {.get_current = d.cuCtxGetCurrent,
          .push_current = d.cuCtxPushCurrent_v2,
          .pop_current = d.cuCtxPopCurrent_v2,
          .synchronize = &synchronize,
          .get_attribute = d.cuDeviceGetAttribute,
          .memory_info = d.cuMemGetInfo_v2,
          .allocate = &allocate,
          .free = &free,
          .reserve = d.cuMemAddressReserve,
          .release = d.cuMemAddressFree,
          .create = d.cuMemCreate == nullptr ? nullptr : &create,
          .destroy = &destroy,
          .map = d.cuMemMap,
          .unmap = d.cuMemUnmap,
          .set_access = d.cuMemSetAccess,
          .granularity = d.cuMemGetAllocationGranularity,
          .create_event = d.cuEventCreate,
          .destroy_event = d.cuEventDestroy_v2,
          .record = &record,
          .query = &query,
          .wait = &wait,
          .wait_in_stream = &wait_in_stream,
          .exchange_capture_mode = d.cuThreadExchangeStreamCaptureMode,
          .create_stream = d.cuStreamCreate,
          .set_words = &set_words};
}

allocator::Options allocator_options(std::uint64_t device_bytes) {
  std::uint64_t const limit = limit_bytes();
  const CacheOptions& asked = options().cache;
  return {.capacity_bytes = limit == 0 ? device_bytes : std::min(limit, device_bytes),
          .wait_at_second = has_checker(),
          .round_bytes = asked.rounding.n,
          .cache_cap_bytes = asked.cap ? asked.cap->n : allocator::Options::kNoCap,
          .poison = asked.poison};
}

}  // namespace tidemark::interpose::serve
