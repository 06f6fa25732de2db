// SPDX-License-Identifier: Apache-2.0
#include "softgpu/cupti/events.h"

#include <cstring>
#include <utility>

#include "softgpu/cupti/buffers.h"
#include "softgpu/cupti/device.h"
#include "softgpu/cupti/records.h"
#include "softgpu/cupti/selection.h"
#include "softgpu/cupti/thread.h"

namespace tidemark::softgpu::cupti {

constinit const SoftgpuObserver kObserver{.enter = enter,
                                          .exit = leave,
                                          .tag = tag,
                                          .memory = memory,
                                          .pool = pool,
                                          .work = work,
                                          .created = created,
                                          .destroying = destroying};

namespace {

struct ResourceIds {
  CUpti_CallbackIdResource created, destroying;
};

ResourceIds ids_of(const SoftgpuResourceEvent& event) {
  switch (event.what) {
    case SOFTGPU_CONTEXT: return {CUPTI_CBID_RESOURCE_CONTEXT_CREATED, CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING};
    case SOFTGPU_STREAM: return {CUPTI_CBID_RESOURCE_STREAM_CREATED, CUPTI_CBID_RESOURCE_STREAM_DESTROY_STARTING};
    default: return {CUPTI_CBID_RESOURCE_MODULE_LOADED, CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING};
  }
}

void tell_resource(const SoftgpuResourceEvent& event, CUpti_CallbackIdResource id) {
  CUpti_ModuleResourceData module{.moduleId = static_cast<std::uint32_t>(event.module),
                                  .cubinSize = event.image_bytes,
                                  .pCubin = static_cast<const char*>(event.image)};
  CUpti_ResourceData data{};
  data.context = static_cast<CUcontext>(event.context_handle);
  if (event.what == SOFTGPU_STREAM) data.resourceHandle.stream = static_cast<CUstream>(event.stream_handle);
  if (event.what == SOFTGPU_MODULE) data.resourceDescriptor = &module;
  call_back(CUPTI_CB_DOMAIN_RESOURCE, id, &data);
}

void record_resource(const SoftgpuResourceEvent& event) {
  if (event.what == SOFTGPU_CONTEXT && is_wanted(CUPTI_ACTIVITY_KIND_CONTEXT)) stage(context_record(event));
  if (event.what == SOFTGPU_STREAM && is_wanted(CUPTI_ACTIVITY_KIND_STREAM, event.context)) stage(stream_record(event));
}

}  // namespace

void call_back(CUpti_CallbackDomain domain, std::uint32_t id, const void* data) {
  CUpti_Subscriber_st const* const who = wanted_by(domain, id);
  if (who == nullptr || who->callback == nullptr || thread_state().quiet != 0) return;
  Quiet const quiet;
  who->callback(who->userdata, domain, id, data);
}

// Work that a sister library queues by itself stands in no call: it gets an id of its own, which carries the thread's
// external ids.
std::uint64_t tag() {
  Thread const& thread = thread_state();
  if (thread.depth == 0) {
    std::uint32_t const correlation = next_correlation();
    record_external(correlation);
    return Origin{.correlation = correlation}.packed();
  }
  return Origin{.correlation = thread.correlation,
                .is_runtime = thread.is_runtime,
                .is_async = std::strstr(thread.call->name, "Async") != nullptr}
      .packed();
}

void memory(const SoftgpuMemoryEvent* event) {
  if (is_wanted(CUPTI_ACTIVITY_KIND_MEMORY2, event->context)) stage(memory_record(*event));
}

void pool(const SoftgpuPoolEvent* event) {
  if (is_wanted(CUPTI_ACTIVITY_KIND_MEMORY_POOL)) stage(pool_record(*event));
}

void work(const SoftgpuWorkEvent* event) {
  switch (event->what) {
    case SOFTGPU_WORK_KERNEL:
      if (CUpti_ActivityKind const kind = wanted_kernel_kind(event->context); kind != CUPTI_ACTIVITY_KIND_INVALID)
        stage(kernel_record(*event, kind));
      return;
    case SOFTGPU_WORK_COPY:
      if (is_peer_copy(*event)) {
        if (is_wanted(CUPTI_ACTIVITY_KIND_MEMCPY2, event->context)) stage(peer_copy_record(*event));
      } else if (is_wanted(CUPTI_ACTIVITY_KIND_MEMCPY, event->context)) {
        stage(copy_record(*event));
      }
      return;
    case SOFTGPU_WORK_SET:
      if (is_wanted(CUPTI_ACTIVITY_KIND_MEMSET, event->context)) stage(set_record(*event));
      return;
    default: return;
  }
}

void created(const SoftgpuResourceEvent* event) {
  record_resource(*event);
  if (wanted_by(CUPTI_CB_DOMAIN_RESOURCE, ids_of(*event).created) != nullptr) thread_state().created.push_back(*event);
}

void tell_created() {
  Thread& thread = thread_state();
  if (thread.created.empty() || thread.quiet != 0) return;
  for (SoftgpuResourceEvent const& event : std::exchange(thread.created, {}))
    tell_resource(event, ids_of(event).created);
}

void destroying(const SoftgpuResourceEvent* event) {
  tell_resource(*event, ids_of(*event).destroying);
}

void record_devices() {
  Quiet const quiet;
  int count = 0;
  if (device()->device_count(&count) != CUDA_SUCCESS) return;
  for (int ordinal = 0; ordinal < count; ++ordinal) stage(device_record(ordinal));
}

void record_existing(CUpti_ActivityKind kind) {
  if (kind == CUPTI_ACTIVITY_KIND_DEVICE) record_devices();
  if (kind != CUPTI_ACTIVITY_KIND_CONTEXT && kind != CUPTI_ACTIVITY_KIND_STREAM) return;
  int what = kind == CUPTI_ACTIVITY_KIND_CONTEXT ? SOFTGPU_CONTEXT : SOFTGPU_STREAM;
  device()->resources(
      [](const SoftgpuResourceEvent* event, void* wanted) {
        if (event->what == *static_cast<int*>(wanted)) record_resource(*event);
      },
      &what);
}

}  // namespace tidemark::softgpu::cupti
