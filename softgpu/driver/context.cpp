// SPDX-License-Identifier: Apache-2.0
// Contexts: how they begin and end, the thread's stack of current ones, limits.
#include <thread>

#include "base/log.h"
#include "softgpu/driver/capture.h"
#include "softgpu/driver/contents.h"
#include "softgpu/driver/kernels.h"
#include "softgpu/driver/observe.h"

using namespace tidemark;
using namespace tidemark::softgpu;

namespace tidemark::softgpu {
namespace {

std::map<int, std::size_t> default_limits() {
  return {{CU_LIMIT_STACK_SIZE, 1024},
          {CU_LIMIT_PRINTF_FIFO_SIZE, 7u << 20},
          {CU_LIMIT_MALLOC_HEAP_SIZE, 8u << 20},
          {CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, 2},
          {CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, 2048},
          {CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 64},
          {CU_LIMIT_PERSISTING_L2_CACHE_SIZE, 0}};
}

void give_back_overhead(Driver& driver, CUcontext context) {
  if (context->charged) context->device->ledger->release(driver.config.context_overhead.n);
  context->charged = false;
}

}  // namespace

bool charge_overhead(Driver& driver, CUcontext context) {
  context->charged = context->device->ledger->charge(driver.config.context_overhead.n);
  return context->charged;
}

CUcontext make_context(Driver& driver, Device& device, unsigned flags) {
  CUcontext const context = driver.contexts.create();
  context->device = &device;
  context->flags = flags;
  context->id = driver.next_id();
  context->device_ordinal = device.ordinal;
  context->limits = default_limits();
  context->legacy_handle = make_stream(driver, context, CU_STREAM_DEFAULT, 0);
  context->legacy_handle->is_default = true;
  context->legacy = context->legacy_handle;
  if (charge_overhead(driver, context)) {
    observe_created(context);
    return context;
  }
  driver.streams.destroy(context->legacy_handle);
  driver.contexts.destroy(context);
  return nullptr;
}

void empty_context(Call& call, CUcontext context) {
  for (Stream* const stream : context->streams) abandon_capture(call, static_cast<CUstream_st*>(stream));
  // Threads that were inside a call when the end began may have added work while this one waited.
  do call.engine().wait_group(call.lock, *context);
  while (!call.engine().idle(*context));
  free_contents(call, context);
  for (Stream* const stream : context->streams) {
    call.engine().forget(*stream);
    call.driver.streams.destroy(static_cast<CUstream_st*>(stream));
  }
  context->streams.clear();
  context->spare_lanes.clear();
  context->per_thread_streams.clear();
  context->peers.clear();
  context->error = 0;
  give_back_overhead(call.driver, context);
}

}  // namespace tidemark::softgpu

namespace {

CUresult create_context(CUcontext* out, unsigned flags, CUdevice ordinal) {
  return with_driver([&](Call& call) -> CUresult {
    Device* const device = call.driver.device(ordinal);
    if (out == nullptr || (flags & ~CU_CTX_FLAGS_MASK) != 0) return CUDA_ERROR_INVALID_VALUE;
    if (device == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    CUcontext const context = make_context(call.driver, *device, flags);
    if (context == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    context_stack().push_back(context);
    *out = context;
    return CUDA_SUCCESS;
  });
}

// Contexts may be named before they are current, and whatever error they carry.
bool is_context(Call& call, CUcontext context) {
  return call.driver.contexts.check(context) != nullptr;
}

}  // namespace

CUresult CUDAAPI cuCtxCreate_v2(CUcontext* out, unsigned flags, CUdevice device) {
  return create_context(out, flags, device);
}

CUresult CUDAAPI cuCtxCreate_v3(CUcontext* out, CUexecAffinityParam*, int params, unsigned flags, CUdevice device) {
  if (params != 0) return static_cast<CUresult>(softgpu_not_supported("cuCtxCreate with an execution affinity"));
  return create_context(out, flags, device);
}

CUresult CUDAAPI cuCtxCreate_v4(CUcontext* out, CUctxCreateParams* params, unsigned flags, CUdevice device) {
  if (params != nullptr && (params->numExecAffinityParams != 0 || params->cigParams != nullptr))
    return static_cast<CUresult>(softgpu_not_supported("cuCtxCreate with parameters"));
  return create_context(out, flags, device);
}

CUresult CUDAAPI cuCtxDestroy_v2(CUcontext context) {
  return with_driver([&](Call& call) -> CUresult {
    if (!is_context(call, context)) return CUDA_ERROR_INVALID_CONTEXT;
    if (context->primary || !announce_end(call, context) || context->ending) return CUDA_ERROR_INVALID_CONTEXT;
    context->ending = true;
    empty_context(call, context);
    auto& stack = context_stack();
    if (!stack.empty() && stack.back() == context) stack.pop_back();
    call.engine().forget(*context->legacy_handle);
    call.driver.streams.destroy(context->legacy_handle);
    call.driver.contexts.destroy(context);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuCtxPushCurrent_v2(CUcontext context) {
  return with_driver([&](Call& call) -> CUresult {
    if (!is_context(call, context)) return CUDA_ERROR_INVALID_CONTEXT;
    context_stack().push_back(context);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuCtxPopCurrent_v2(CUcontext* out) {
  return with_driver([&](Call&) -> CUresult {
    auto& stack = context_stack();
    if (stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
    if (out != nullptr) *out = stack.back();
    stack.pop_back();
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuCtxSetCurrent(CUcontext context) {
  return with_driver([&](Call& call) -> CUresult {
    auto& stack = context_stack();
    if (context != nullptr && !is_context(call, context)) return CUDA_ERROR_INVALID_CONTEXT;
    if (!stack.empty()) stack.pop_back();
    if (context != nullptr) stack.push_back(context);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuCtxGetCurrent(CUcontext* out) {
  return with_driver([&](Call& call) -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = current_context(call.driver);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuCtxGetDevice(CUdevice* out) {
  return with_driver([&](Call& call) -> CUresult {
    CUcontext const context = current_context(call.driver);
    if (!is_context(call, context)) return CUDA_ERROR_INVALID_CONTEXT;
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = context->device->ordinal;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuCtxGetDevice_v2(CUdevice* out, CUcontext context) {
  if (context == nullptr) return cuCtxGetDevice(out);
  return with_driver([&](Call& call) -> CUresult {
    if (!is_context(call, context)) return CUDA_ERROR_INVALID_CONTEXT;
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = context->device->ordinal;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuCtxGetFlags(unsigned* flags) {
  return with_context([&](Call& call) -> CUresult {
    if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *flags = call.context->flags;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuCtxSetFlags(unsigned flags) {
  return with_context([&](Call& call) -> CUresult {
    if ((flags & ~CU_CTX_FLAGS_MASK) != 0) return CUDA_ERROR_INVALID_VALUE;
    call.context->flags = flags;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuCtxGetId(CUcontext context, unsigned long long* id) {
  return with_driver([&](Call& call) -> CUresult {
    if (context == nullptr) context = current_context(call.driver);
    if (!is_context(call, context)) return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *id = context->id;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuCtxGetApiVersion(CUcontext context, unsigned* version) {
  return with_driver([&](Call& call) -> CUresult {
    if (context == nullptr) context = current_context(call.driver);
    if (!is_context(call, context)) return CUDA_ERROR_INVALID_CONTEXT;
    if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *version = static_cast<unsigned>(call.driver.config.driver_version);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuCtxSynchronize(void) {
  return with_context([&](Call& call) -> CUresult {
    if (call.context->captures != 0 || is_capture_forbidden(call)) return capture_violated_context(call, call.context);
    fault_slow(call.driver, SlowCall::CtxSynchronize);
    call.engine().wait_group(call.lock, *call.context);
    reap_streams(call.driver, call.context);
    settle_pools(call.driver);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuCtxSynchronize_v2(CUcontext context) {
  if (context == nullptr) return cuCtxSynchronize();
  return with_driver([&](Call& call) -> CUresult {
    if (!is_context(call, context)) return CUDA_ERROR_INVALID_CONTEXT;
    if (context->captures != 0 || is_capture_forbidden(call)) return capture_violated_context(call, context);
    fault_slow(call.driver, SlowCall::CtxSynchronize);
    call.engine().wait_group(call.lock, *context);
    settle_pools(call.driver);
    return static_cast<CUresult>(context->error);
  });
}

CUresult CUDAAPI cuCtxSetLimit(CUlimit limit, size_t value) {
  return with_context([&](Call& call) -> CUresult {
    auto const found = call.context->limits.find(limit);
    if (limit < 0 || limit >= CU_LIMIT_MAX) return CUDA_ERROR_INVALID_VALUE;
    if (found == call.context->limits.end()) return CUDA_ERROR_UNSUPPORTED_LIMIT;
    found->second = value;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuCtxGetLimit(size_t* value, CUlimit limit) {
  return with_context([&](Call& call) -> CUresult {
    auto const found = call.context->limits.find(limit);
    if (value == nullptr || limit < 0 || limit >= CU_LIMIT_MAX) return CUDA_ERROR_INVALID_VALUE;
    if (found == call.context->limits.end()) return CUDA_ERROR_UNSUPPORTED_LIMIT;
    *value = found->second;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuCtxGetCacheConfig(CUfunc_cache* config) {
  return with_context([&](Call& call) -> CUresult {
    if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *config = call.context->cache_config;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuCtxSetCacheConfig(CUfunc_cache config) {
  return with_context([&](Call& call) -> CUresult {
    if (config < CU_FUNC_CACHE_PREFER_NONE || config > CU_FUNC_CACHE_PREFER_EQUAL) return CUDA_ERROR_INVALID_VALUE;
    call.context->cache_config = config;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuCtxGetSharedMemConfig(CUsharedconfig* config) {
  return with_context([&](Call&) -> CUresult {
    if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuCtxSetSharedMemConfig(CUsharedconfig) {
  return with_context([](Call&) { return CUDA_SUCCESS; });
}

CUresult CUDAAPI cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return with_context([&](Call&) -> CUresult {
    if (least != nullptr) *least = kLeastPriority;
    if (greatest != nullptr) *greatest = kGreatestPriority;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuCtxResetPersistingL2Cache(void) {
  return with_context([](Call&) { return CUDA_SUCCESS; });
}

CUresult CUDAAPI cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) {
  return with_context([&](Call& call) -> CUresult {
    if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
    if (!is_context(call, peer) || peer == call.context) return CUDA_ERROR_INVALID_CONTEXT;
    if (peer->device == call.context->device) return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
    return call.context->peers.insert(peer->device->ordinal).second ? CUDA_SUCCESS
                                                                    : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
  });
}

CUresult CUDAAPI cuCtxDisablePeerAccess(CUcontext peer) {
  return with_context([&](Call& call) -> CUresult {
    if (!is_context(call, peer)) return CUDA_ERROR_INVALID_CONTEXT;
    return call.context->peers.erase(peer->device->ordinal) != 0 ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
  });
}
