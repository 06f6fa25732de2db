// SPDX-License-Identifier: Apache-2.0
// Events: points in a stream's order, with device time.
#include "softgpu/driver/capture.h"
#include "softgpu/driver/driver.h"
#include "softgpu/driver/operation.h"

using namespace tidemark;
using namespace tidemark::softgpu;

namespace {

template <class F>
CUresult with_event(CUevent event, F f) {
  return with_context([&](Call& call) -> CUresult {
    return call.driver.events.check(event) == nullptr ? CUDA_ERROR_INVALID_HANDLE : f(call);
  });
}

CUresult record(CUevent event, CUstream handle, unsigned flags) {
  return with_event(event, [&](Call& call) -> CUresult {
    if ((flags & ~CU_EVENT_RECORD_EXTERNAL) != 0) return CUDA_ERROR_INVALID_VALUE;
    CUstream const stream = stream_of(call, handle);
    if (stream == nullptr || stream->context != event->context) return CUDA_ERROR_INVALID_HANDLE;
    if (is_capturing(stream)) return capture_record(call, stream, event, flags);
    // The external form is a node of a graph, or nothing.
    if ((flags & CU_EVENT_RECORD_EXTERNAL) != 0) return CUDA_ERROR_INVALID_VALUE;
    event->capture.reset();
    event->captured_nodes.clear();
    Item item;
    item.name = "event";
    // Before anything runs: then the event is what it will be, whoever asks for it or destroys it meanwhile.
    event->ticket = call.engine().enqueue(*stream, std::move(item));
    call.engine().proceed(call.lock, *stream);
    return CUDA_SUCCESS;
  });
}

CUresult elapsed(float* milliseconds, CUevent start, CUevent end) {
  return with_event(start, [&](Call& call) -> CUresult {
    if (milliseconds == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (call.driver.events.check(end) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    for (CUevent const e : {start, end})
      if (e->capture) return CUDA_ERROR_CAPTURED_EVENT;
    for (CUevent const e : {start, end})
      if (!e->ticket || (e->flags & CU_EVENT_DISABLE_TIMING) != 0) return CUDA_ERROR_INVALID_HANDLE;
    // The clocks of two devices do not compare.
    if (start->context->device != end->context->device) return CUDA_ERROR_INVALID_HANDLE;
    for (CUevent const e : {start, end})
      if (!call.engine().query(call.lock, e->ticket)) return CUDA_ERROR_NOT_READY;
    auto const ns = static_cast<double>(static_cast<std::int64_t>(end->ticket->finish - start->ticket->finish));
    *milliseconds = static_cast<float>(ns / 1e6);
    return CUDA_SUCCESS;
  });
}

}  // namespace

CUresult CUDAAPI cuEventCreate(CUevent* out, unsigned flags) {
  return with_context([&](Call& call) -> CUresult {
    constexpr unsigned kKnown = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS;
    if (out == nullptr || (flags & ~kKnown) != 0) return CUDA_ERROR_INVALID_VALUE;
    if ((flags & CU_EVENT_INTERPROCESS) != 0 && (flags & CU_EVENT_DISABLE_TIMING) == 0) return CUDA_ERROR_INVALID_VALUE;
    CUevent const event = call.driver.events.create();
    event->context = call.context;
    event->flags = flags;
    *out = event;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuEventDestroy_v2(CUevent event) {
  return with_event(event, [&](Call& call) -> CUresult {
    call.driver.events.destroy(event);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuEventRecord(CUevent event, CUstream stream) {
  return record(event, stream, CU_EVENT_RECORD_DEFAULT);
}

CUresult CUDAAPI cuEventRecordWithFlags(CUevent event, CUstream stream, unsigned flags) {
  return record(event, stream, flags);
}

CUresult CUDAAPI cuEventQuery(CUevent event) {
  return with_event(event, [&](Call& call) -> CUresult {
    if (event->capture) return CUDA_ERROR_CAPTURED_EVENT;
    if (is_capture_forbidden(call)) return capture_violated(call, nullptr);
    if (fault_early(call.driver)) return CUDA_SUCCESS;
    return call.engine().query(call.lock, event->ticket) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
  });
}

CUresult CUDAAPI cuEventSynchronize(CUevent event) {
  return with_event(event, [&](Call& call) -> CUresult {
    if (event->capture) return CUDA_ERROR_CAPTURED_EVENT;
    if (is_capture_forbidden(call)) return capture_violated(call, nullptr);
    fault_slow(call.driver, SlowCall::EventSynchronize);
    Ref<Ticket> const ticket = event->ticket;
    call.engine().wait(call.lock, ticket);
    settle_pools(call.driver);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuEventElapsedTime_v2(float* milliseconds, CUevent start, CUevent end) {
  return elapsed(milliseconds, start, end);
}

CUresult CUDAAPI cuEventElapsedTime(float* milliseconds, CUevent start, CUevent end) {
  return elapsed(milliseconds, start, end);
}
