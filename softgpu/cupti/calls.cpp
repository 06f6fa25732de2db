// SPDX-License-Identifier: Apache-2.0
// Calls of the driver and runtime API: callbacks, API records, correlation ids.
//
// A correlation id belongs to the program's own call: what the runtime calls in the driver to carry it out shares the
// id, as do the work and the memory operations that come of it.
#include <dlfcn.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "softgpu/cupti/buffers.h"
#include "softgpu/cupti/clock.h"
#include "softgpu/cupti/device.h"
#include "softgpu/cupti/events.h"
#include "softgpu/cupti/selection.h"
#include "softgpu/cupti/thread.h"

namespace tidemark::softgpu::cupti {
namespace {

// Places in SoftgpuCall::observers.
enum { kSeen, kStart, kClientData, kOuterCall };

constinit std::atomic<std::uint32_t> last_correlation{0};
constinit std::atomic<CUpti_ActivityThreadIdType> thread_id_type{CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT};

std::uint32_t thread_id() {
  return thread_id_type.load(std::memory_order_relaxed) == CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM
             ? static_cast<std::uint32_t>(::syscall(SYS_gettid))
             : static_cast<std::uint32_t>(::pthread_self());
}

const void* member(const void* params, std::size_t offset) {
  return *reinterpret_cast<const void* const*>(static_cast<const char*>(params) + offset);
}

const char* launched_by_driver(const SoftgpuCall& call) {
  switch (call.id) {
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz:
      return device()->kernel_name(member(call.params, offsetof(cuLaunchKernel_params, f)));
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz:
      return device()->kernel_name(member(call.params, offsetof(cuLaunchCooperativeKernel_params, f)));
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx:
    case CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz:
      return device()->kernel_name(member(call.params, offsetof(cuLaunchKernelEx_params, f)));
    default: return nullptr;
  }
}

// A program's function pointer, or a kernel that the runtime gave out.
const char* name_of_function(const void* func) {
  const char* const name = runtime_kernel_name(func);
  return name != nullptr ? name : device()->kernel_name(func);
}

const char* launched_by_runtime(const SoftgpuCall& call) {
  switch (call.id) {
    case CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000:
    case CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_ptsz_v7000:
      return name_of_function(member(call.params, offsetof(cudaLaunchKernel_v7000_params, func)));
    case CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_v9000:
    case CUPTI_RUNTIME_TRACE_CBID_cudaLaunchCooperativeKernel_ptsz_v9000:
      return name_of_function(member(call.params, offsetof(cudaLaunchCooperativeKernel_v9000_params, func)));
    case CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_v11060:
    case CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernelExC_ptsz_v11060:
      return name_of_function(member(call.params, offsetof(cudaLaunchKernelExC_v11060_params, func)));
    // No public struct: the arguments in order, the first is the kernel.
    case CUPTI_RUNTIME_TRACE_CBID___cudaLaunchKernel_v13000:
    case CUPTI_RUNTIME_TRACE_CBID___cudaLaunchKernel_ptsz_v13000: return device()->kernel_name(member(call.params, 0));
    default: return nullptr;
  }
}

const char* launched_kernel(const SoftgpuCall& call) {
  const char* const name = call.domain == SOFTGPU_DRIVER_API ? launched_by_driver(call) : launched_by_runtime(call);
  return intern(name);
}

void tell(SoftgpuCall& call, CUpti_ApiCallbackSite site) {
  auto const domain = static_cast<CUpti_CallbackDomain>(call.domain);
  if (wanted_by(domain, call.id) == nullptr) return;
  CUpti_CallbackData data{};
  std::uint64_t context = 0;
  data.callbackSite = site;
  data.functionName = call.name;
  data.functionParams = call.params;
  data.functionReturnValue = site == CUPTI_API_EXIT ? call.result : nullptr;
  data.symbolName = launched_kernel(call);
  data.context = static_cast<CUcontext>(device()->current_context(&context, nullptr));
  data.contextUid = static_cast<std::uint32_t>(context);
  data.correlationData = &call.observers[kClientData];
  data.correlationId = thread_state().correlation;
  call_back(domain, call.id, &data);
}

// An address is found in its file now: later, under the device's lock, the loader's lock must not be waited for.
const char* file_of(const void* address) {
  Dl_info info{};
  return ::dladdr(address, &info) != 0 ? intern(info.dli_fname) : nullptr;
}

void begin_outermost(Thread& thread, const SoftgpuCall& call) {
  thread.correlation = next_correlation();
  thread.external_written = false;
  thread.is_runtime = call.domain == SOFTGPU_RUNTIME_API;
  thread.caller = call.caller;
  thread.source = wants_allocation_source() ? file_of(call.caller) : nullptr;
}

void record_call(const SoftgpuCall& call, std::uint64_t end) {
  Thread& thread = thread_state();
  if (!is_api_wanted(call.domain, call.id)) return;
  if (!thread.external_written) {
    record_external(thread.correlation);
    thread.external_written = true;
  }
  CUpti_ActivityAPI record{};
  record.kind = call.domain == SOFTGPU_DRIVER_API ? CUPTI_ACTIVITY_KIND_DRIVER : CUPTI_ACTIVITY_KIND_RUNTIME;
  record.cbid = call.id;
  record.start = call.observers[kStart];
  record.end = end;
  record.processId = static_cast<std::uint32_t>(::getpid());
  record.threadId = thread_id();
  record.correlationId = thread.correlation;
  if (call.result != nullptr && call.result_is_status != 0)
    record.returnValue = *static_cast<const std::uint32_t*>(call.result);
  stage(record);
}

// The first cuInit of the process.
void after_init(const SoftgpuCall& call) {
  static constinit std::atomic<bool> done{false};
  if (call.result == nullptr || *static_cast<const CUresult*>(call.result) != CUDA_SUCCESS || done.exchange(true))
    return;
  if (is_wanted(CUPTI_ACTIVITY_KIND_DEVICE)) record_devices();
  CUpti_ResourceData const data{};
  call_back(CUPTI_CB_DOMAIN_RESOURCE, CUPTI_CBID_RESOURCE_CU_INIT_FINISHED, &data);
}

}  // namespace

std::uint32_t next_correlation() {
  return last_correlation.fetch_add(1, std::memory_order_relaxed) + 1;
}

void record_external(std::uint32_t correlation) {
  if (!is_wanted(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION)) return;
  auto const& external = thread_state().external;
  for (std::size_t kind = 0; kind < external.size(); ++kind) {
    if (external[kind].empty()) continue;
    CUpti_ActivityExternalCorrelation record{};
    record.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
    record.externalKind = static_cast<CUpti_ExternalCorrelationKind>(kind);
    record.externalId = external[kind].back();
    record.correlationId = correlation;
    stage(record);
  }
}

void enter(SoftgpuCall* call) {
  if (is_forked()) return;
  Thread& thread = thread_state();
  if (thread.quiet != 0) return;
  call->observers[kSeen] = 1;
  call->observers[kOuterCall] = reinterpret_cast<std::uint64_t>(thread.call);
  thread.call = call;
  if (thread.depth++ == 0) begin_outermost(thread, *call);
  tell(*call, CUPTI_API_ENTER);
  call->observers[kStart] = now();
}

void leave(SoftgpuCall* call) {
  if (call->observers[kSeen] == 0 || is_forked()) return;
  std::uint64_t const end = now();
  Thread& thread = thread_state();
  tell_created();
  if (call->domain == SOFTGPU_DRIVER_API) {
    if (call->id == CUPTI_DRIVER_TRACE_CBID_cuInit) after_init(*call);
    after_driver_call(*call, call->observers[kStart], end);
  }
  record_call(*call, end);
  tell(*call, CUPTI_API_EXIT);
  thread.call = reinterpret_cast<SoftgpuCall*>(call->observers[kOuterCall]);
  if (--thread.depth == 0) deliver_some();
}

}  // namespace tidemark::softgpu::cupti

using namespace tidemark::softgpu::cupti;

CUptiResult CUPTIAPI cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t id) {
  if (kind <= CUPTI_EXTERNAL_CORRELATION_KIND_INVALID || kind >= CUPTI_EXTERNAL_CORRELATION_KIND_SIZE)
    return answer(CUPTI_ERROR_INVALID_PARAMETER);
  thread_state().external[kind].push_back(id);
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind kind, uint64_t* last) {
  if (kind <= CUPTI_EXTERNAL_CORRELATION_KIND_INVALID || kind >= CUPTI_EXTERNAL_CORRELATION_KIND_SIZE)
    return answer(CUPTI_ERROR_INVALID_PARAMETER);
  auto& ids = thread_state().external[kind];
  if (ids.empty()) return answer(CUPTI_ERROR_QUEUE_EMPTY);
  if (last != nullptr) *last = ids.back();
  ids.pop_back();
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiSetThreadIdType(CUpti_ActivityThreadIdType type) {
  if (type < CUPTI_ACTIVITY_THREAD_ID_TYPE_DEFAULT || type >= CUPTI_ACTIVITY_THREAD_ID_TYPE_SIZE)
    return answer(CUPTI_ERROR_NOT_SUPPORTED);
  thread_id_type.store(type);
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiGetThreadIdType(CUpti_ActivityThreadIdType* type) {
  if (type == nullptr) return answer(CUPTI_ERROR_INVALID_PARAMETER);
  *type = thread_id_type.load();
  return CUPTI_SUCCESS;
}
