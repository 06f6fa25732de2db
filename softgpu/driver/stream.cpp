// SPDX-License-Identifier: Apache-2.0
// Streams: creation, waiting, callbacks, words in memory.
#include <algorithm>

#include "softgpu/driver/capture.h"
#include "softgpu/driver/copy.h"
#include "softgpu/driver/driver.h"
#include "softgpu/driver/observe.h"
#include "softgpu/driver/operation.h"

using namespace tidemark;
using namespace tidemark::softgpu;

namespace {

CUresult create_stream(CUstream* out, unsigned flags, int priority) {
  return with_context([&](Call& call) -> CUresult {
    if (out == nullptr || (flags & ~CU_STREAM_NON_BLOCKING) != 0) return CUDA_ERROR_INVALID_VALUE;
    reap_streams(call.driver, call.context);
    // Priorities outside the range are clamped, as documented.
    int const clamped = std::min(kLeastPriority, std::max(kGreatestPriority, priority));
    CUstream const stream = make_stream(call.driver, call.context, flags, clamped);
    call.context->streams.push_back(stream);
    observe_created(stream);
    *out = stream;
    return CUDA_SUCCESS;
  });
}

template <class T, class Get>
CUresult get(CUstream handle, T* out, Get value) {
  return with_stream(handle, [&](Call&, CUstream stream) -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = value(stream);
    return CUDA_SUCCESS;
  });
}

CUresult check_word(Driver& driver, const WordOp& op) {
  if (op.address == 0 || op.address % (op.wide ? 8 : 4) != 0) return CUDA_ERROR_INVALID_VALUE;
  Place const place = place_of(driver, op.address, op.wide ? 8 : 4, {.writes = !op.waits, .in_graph = true});
  return place == Place::Invalid || place == Place::Pageable ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

CUresult word_operation(CUstream handle, const WordOp& op) {
  return with_stream(handle, [&](Call& call, CUstream stream) -> CUresult {
    CUresult const wrong = check_word(call.driver, op);
    return wrong != CUDA_SUCCESS ? wrong : issue(call, stream, op);
  });
}

}  // namespace

CUresult CUDAAPI cuStreamCreate(CUstream* stream, unsigned flags) {
  return create_stream(stream, flags, 0);
}

CUresult CUDAAPI cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int priority) {
  return create_stream(stream, flags, priority);
}

CUresult CUDAAPI cuStreamDestroy_v2(CUstream handle) {
  return with_context([&](Call& call) -> CUresult {
    if (handle == nullptr || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD)
      return CUDA_ERROR_INVALID_HANDLE;
    CUstream const stream = stream_of(call, handle);
    if (stream == nullptr || stream->is_default || !announce_end(call, stream)) return CUDA_ERROR_INVALID_HANDLE;
    // Returns at once; what is queued is still done, and the stream goes when it is.
    stream->destroyed = true;
    abandon_capture(call, stream);
    reap_streams(call.driver, stream->context);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuStreamSynchronize(CUstream handle) {
  return with_stream(handle, [&](Call& call, CUstream stream) -> CUresult {
    if (is_capturing(stream) || is_capture_forbidden(call)) return capture_violated(call, stream);
    fault_slow(call.driver, SlowCall::StreamSynchronize);
    // The legacy stream's order includes the blocking streams' work queued before.
    if (stream == stream->context->legacy_handle) {
      Item marker;
      marker.name = "synchronize";
      call.engine().wait(call.lock, call.engine().submit(call.lock, *stream, std::move(marker)));
    } else {
      call.engine().wait_stream(call.lock, *stream);
    }
    settle_pools(call.driver);
    return static_cast<CUresult>(stream->context->error);
  });
}

CUresult CUDAAPI cuStreamQuery(CUstream handle) {
  return with_stream(handle, [&](Call& call, CUstream stream) -> CUresult {
    if (is_capturing(stream) || is_capture_forbidden(call)) return capture_violated(call, stream);
    if (stream != stream->context->legacy_handle)
      return call.engine().query(call.lock, stream->last) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
    // A question may let work run, and streams come and go meanwhile: first note what is asked for.
    std::vector<Ref<Ticket>> asked{stream->last};
    call.engine().add_implicit_waits(*stream, asked);
    bool const done =
        std::all_of(asked.begin(), asked.end(), [&](auto const& t) { return call.engine().query(call.lock, t); });
    return done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
  });
}

CUresult CUDAAPI cuStreamWaitEvent(CUstream handle, CUevent event, unsigned flags) {
  return with_stream(handle, [&](Call& call, CUstream stream) -> CUresult {
    if (call.driver.events.check(event) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if ((flags & ~CU_EVENT_WAIT_EXTERNAL) != 0) return CUDA_ERROR_INVALID_VALUE;
    // The external form is a node of a graph, or nothing.
    if ((flags & CU_EVENT_WAIT_EXTERNAL) != 0 && !is_capturing(stream)) return CUDA_ERROR_INVALID_VALUE;
    if (event->capture || is_capturing(stream)) return capture_wait(call, stream, event, flags);
    if (!event->ticket) return CUDA_SUCCESS;  // never recorded: nothing to wait for
    Item item;
    item.name = "wait event";
    item.waits.push_back(event->ticket);
    call.engine().submit(call.lock, *stream, std::move(item));
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuStreamAddCallback(CUstream handle, CUstreamCallback callback, void* data, unsigned flags) {
  return with_stream(handle, [&](Call& call, CUstream stream) -> CUresult {
    if (callback == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    if (is_capturing(stream)) return capture_violated(call, stream);
    // Called exactly once in any case: after a fault with its error.
    auto const call_back = [=, &driver = call.driver, context = stream->context] {
      auto const status = [&] {
        Lock const lock(driver.engine.mutex());
        return static_cast<CUresult>(context->error);
      }();
      callback(handle, status, data);
    };
    return issue(call, stream, HostOp{.call = call_back, .always = true});
  });
}

CUresult CUDAAPI cuLaunchHostFunc(CUstream handle, CUhostFn function, void* data) {
  return with_stream(handle, [&](Call& call, CUstream stream) -> CUresult {
    if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
    return issue(call, stream, HostOp{.call = [=] { function(data); }, .function = function, .data = data});
  });
}

CUresult CUDAAPI cuStreamGetFlags(CUstream handle, unsigned* flags) {
  return get(handle, flags, [](CUstream s) { return s->flags; });
}

CUresult CUDAAPI cuStreamGetPriority(CUstream handle, int* priority) {
  return get(handle, priority, [](CUstream s) { return s->priority; });
}

CUresult CUDAAPI cuStreamGetId(CUstream handle, unsigned long long* id) {
  return get(handle, id, [](CUstream s) { return s->id; });
}

CUresult CUDAAPI cuStreamGetDevice(CUstream handle, CUdevice* device) {
  return get(handle, device, [](CUstream s) { return s->context->device->ordinal; });
}

CUresult CUDAAPI cuStreamGetCtx(CUstream handle, CUcontext* context) {
  return get(handle, context, [](CUstream s) { return s->context; });
}

CUresult CUDAAPI cuStreamGetCtx_v2(CUstream handle, CUcontext* context, CUgreenCtx* green) {
  if (green != nullptr) *green = nullptr;
  return cuStreamGetCtx(handle, context);
}

CUresult CUDAAPI cuStreamAttachMemAsync(CUstream handle, CUdeviceptr address, size_t, unsigned flags) {
  return with_stream(handle, [&](Call& call, CUstream stream) -> CUresult {
    Block const* const block = call.driver.blocks.find(address);
    if (block == nullptr || block->kind != MemoryKind::Managed) return CUDA_ERROR_INVALID_VALUE;
    if (flags != CU_MEM_ATTACH_GLOBAL && flags != CU_MEM_ATTACH_HOST && flags != CU_MEM_ATTACH_SINGLE)
      return CUDA_ERROR_INVALID_VALUE;
    if (is_capturing(stream)) return capture_violated(call, stream);
    return issue(call, stream, EmptyOp{});
  });
}

CUresult CUDAAPI cuStreamCopyAttributes(CUstream destination, CUstream source) {
  return with_stream(destination, [&](Call& call, CUstream to) -> CUresult {
    CUstream const from = stream_of(call, source);
    if (from == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    to->access_policy = from->access_policy;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuStreamGetAttribute(CUstream handle, CUstreamAttrID attribute, CUstreamAttrValue* value) {
  return with_stream(handle, [&](Call&, CUstream stream) -> CUresult {
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *value = {};
    if (attribute == CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW) {
      *value = stream->access_policy;
    } else if (attribute == CU_LAUNCH_ATTRIBUTE_PRIORITY) {
      value->priority = stream->priority;
    } else if (attribute == CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY) {
      value->syncPolicy = CU_SYNC_POLICY_AUTO;
    } else {
      return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuStreamSetAttribute(CUstream handle, CUstreamAttrID attribute, const CUstreamAttrValue* value) {
  return with_stream(handle, [&](Call&, CUstream stream) -> CUresult {
    if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (attribute == CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW) {
      stream->access_policy = *value;
    } else if (attribute != CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY) {
      return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
  });
}

CUresult tidemark::softgpu::word_of(Driver& driver, const CUstreamBatchMemOpParams& p, WordOp* out) {
  // Both halves of the union have one layout; a 32-bit value stands in the lower word.
  bool const wide = p.operation == CU_STREAM_MEM_OP_WAIT_VALUE_64 || p.operation == CU_STREAM_MEM_OP_WRITE_VALUE_64;
  *out = {.address = p.waitValue.address,
          .value = wide ? p.waitValue.value64 : p.waitValue.value,
          .wide = wide,
          .flags = p.waitValue.flags};
  switch (p.operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
    case CU_STREAM_MEM_OP_WAIT_VALUE_64: out->waits = true; [[fallthrough]];
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
    case CU_STREAM_MEM_OP_WRITE_VALUE_64: return check_word(driver, *out);
    case CU_STREAM_MEM_OP_BARRIER: *out = {}; return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult CUDAAPI cuStreamWriteValue32_v2(CUstream s, CUdeviceptr a, cuuint32_t value, unsigned flags) {
  return word_operation(s, {.address = a, .value = value, .flags = flags});
}

CUresult CUDAAPI cuStreamWriteValue64_v2(CUstream s, CUdeviceptr a, cuuint64_t value, unsigned flags) {
  return word_operation(s, {.address = a, .value = value, .wide = true, .flags = flags});
}

CUresult CUDAAPI cuStreamWaitValue32_v2(CUstream s, CUdeviceptr a, cuuint32_t value, unsigned flags) {
  return word_operation(s, {.address = a, .value = value, .waits = true, .flags = flags});
}

CUresult CUDAAPI cuStreamWaitValue64_v2(CUstream s, CUdeviceptr a, cuuint64_t value, unsigned flags) {
  return word_operation(s, {.address = a, .value = value, .wide = true, .waits = true, .flags = flags});
}

CUresult CUDAAPI cuStreamBatchMemOp_v2(CUstream s, unsigned count, CUstreamBatchMemOpParams* params, unsigned flags) {
  if (count > 256 || (params == nullptr && count != 0) || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  return with_stream(s, [&](Call& call, CUstream stream) -> CUresult {
    std::vector<WordOp> words(count);
    for (unsigned i = 0; i < count; ++i)
      if (CUresult const wrong = word_of(call.driver, params[i], &words[i]); wrong != CUDA_SUCCESS) return wrong;
    if (is_capturing(stream))
      return capture_node(call, stream,
                          {.work = BatchWork{{params, params + count}, flags}, .context = stream->context});
    for (WordOp const& word : words)
      if (word.address != 0) issue(call, stream, word);
    return CUDA_SUCCESS;
  });
}
