// SPDX-License-Identifier: Apache-2.0
// Which kinds of activity there are, and which the client has enabled.
#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "base/log.h"
#include "softgpu/cupti/device.h"
#include "softgpu/cupti/events.h"
#include "softgpu/cupti/selection.h"
#include "softgpu/cupti/thread.h"

namespace tidemark::softgpu::cupti {
namespace {

constinit std::array<Switches, CUPTI_ACTIVITY_KIND_COUNT> kinds{};
constinit std::array<Switches, CUPTI_DRIVER_TRACE_CBID_SIZE> driver_calls{};
constinit std::array<Switches, CUPTI_RUNTIME_TRACE_CBID_SIZE> runtime_calls{};
constinit Switches latency_timestamps{false}, allocation_source{false}, unfinished_queries{true};

// Settings made for one context: (context, kind) -> on.
constinit Switches has_overrides{false};
struct Overrides {
  std::mutex mutex;
  std::map<std::pair<std::uint64_t, int>, bool> settings;
};
Overrides& overrides() {
  static auto& leaked = *new Overrides;
  return leaked;
}

// What cuptiActivityEnable answers for a kind. Records come for the first group; of OVERHEAD there is nothing to
// record.
CUptiResult availability(CUpti_ActivityKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_MEMCPY:
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
    case CUPTI_ACTIVITY_KIND_MEMSET:
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
    case CUPTI_ACTIVITY_KIND_DRIVER:
    case CUPTI_ACTIVITY_KIND_RUNTIME:
    case CUPTI_ACTIVITY_KIND_DEVICE:
    case CUPTI_ACTIVITY_KIND_CONTEXT:
    case CUPTI_ACTIVITY_KIND_STREAM:
    case CUPTI_ACTIVITY_KIND_SYNCHRONIZATION:
    case CUPTI_ACTIVITY_KIND_CUDA_EVENT:
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION:
    case CUPTI_ACTIVITY_KIND_MEMORY2:
    case CUPTI_ACTIVITY_KIND_MEMORY_POOL:
    case CUPTI_ACTIVITY_KIND_OVERHEAD: return CUPTI_SUCCESS;
    // Documented: these are not enabled directly.
    case CUPTI_ACTIVITY_KIND_EVENT:
    case CUPTI_ACTIVITY_KIND_EVENT_INSTANCE:
    case CUPTI_ACTIVITY_KIND_METRIC:
    case CUPTI_ACTIVITY_KIND_METRIC_INSTANCE:
    case CUPTI_ACTIVITY_KIND_CDP_KERNEL:
    case CUPTI_ACTIVITY_KIND_MODULE:
    case CUPTI_ACTIVITY_KIND_DEVICE_ATTRIBUTE:
    case CUPTI_ACTIVITY_KIND_INSTANTANEOUS_EVENT:
    case CUPTI_ACTIVITY_KIND_INSTANTANEOUS_EVENT_INSTANCE:
    case CUPTI_ACTIVITY_KIND_INSTANTANEOUS_METRIC:
    case CUPTI_ACTIVITY_KIND_INSTANTANEOUS_METRIC_INSTANCE:
    case CUPTI_ACTIVITY_KIND_DEVICE_GRAPH_TRACE: return CUPTI_ERROR_NOT_COMPATIBLE;
    // Documented: gone since CUDA 13.0.
    case CUPTI_ACTIVITY_KIND_SOURCE_LOCATOR:
    case CUPTI_ACTIVITY_KIND_GLOBAL_ACCESS:
    case CUPTI_ACTIVITY_KIND_BRANCH:
    case CUPTI_ACTIVITY_KIND_INSTRUCTION_EXECUTION:
    case CUPTI_ACTIVITY_KIND_SHARED_ACCESS:
    case CUPTI_ACTIVITY_KIND_PC_SAMPLING:
    case CUPTI_ACTIVITY_KIND_PC_SAMPLING_RECORD_INFO:
    case CUPTI_ACTIVITY_KIND_INSTRUCTION_CORRELATION: return CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED;
    default: return CUPTI_ERROR_INVALID_KIND;
  }
}

CUptiResult check(CUpti_ActivityKind kind) {
  if (is_forked() || device() == nullptr) return CUPTI_ERROR_NOT_INITIALIZED;
  CUptiResult const result = availability(kind);
  if (result == CUPTI_ERROR_INVALID_KIND && kind > CUPTI_ACTIVITY_KIND_INVALID && kind < CUPTI_ACTIVITY_KIND_COUNT)
    say_once("cupti kind " + std::to_string(kind), "softgpu",
             "CUPTI activity of kind " + std::to_string(kind) + " is not supported");
  return result;
}

template <class Calls>
void set_all(Calls& calls, bool on) {
  for (Switches& call : calls) call.store(on);
}

CUptiResult set_kind(CUpti_ActivityKind kind, bool on) {
  if (CUptiResult const wrong = check(kind); wrong != CUPTI_SUCCESS) return wrong;
  kinds[kind].store(on);
  // Documented: the kind overrides selections of single functions made before.
  if (kind == CUPTI_ACTIVITY_KIND_DRIVER) set_all(driver_calls, on);
  if (kind == CUPTI_ACTIVITY_KIND_RUNTIME) set_all(runtime_calls, on);
  update_observer();
  return CUPTI_SUCCESS;
}

// For what happens in a context. API calls and ids that they are tied to belong to threads.
CUptiResult set_for_context(CUcontext context, CUpti_ActivityKind kind, bool on) {
  if (CUptiResult const wrong = check(kind); wrong != CUPTI_SUCCESS) return wrong;
  if (kind == CUPTI_ACTIVITY_KIND_DRIVER || kind == CUPTI_ACTIVITY_KIND_RUNTIME ||
      kind == CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION || kind == CUPTI_ACTIVITY_KIND_DEVICE)
    return CUPTI_ERROR_NOT_COMPATIBLE;
  std::uint32_t id = 0;
  if (cuptiGetContextId(context, &id) != CUPTI_SUCCESS) return CUPTI_ERROR_INVALID_CONTEXT;
  {
    std::lock_guard const lock(overrides().mutex);
    overrides().settings[{id, kind}] = on;
  }
  has_overrides.store(true);
  update_observer();
  return CUPTI_SUCCESS;
}

template <class Calls>
CUptiResult set_call(Calls& calls, CUpti_CallbackId id, bool on) {
  if (is_forked() || device() == nullptr) return CUPTI_ERROR_NOT_INITIALIZED;
  if (id == 0 || id >= calls.size()) return CUPTI_ERROR_INVALID_PARAMETER;
  calls[id].store(on);
  update_observer();
  return CUPTI_SUCCESS;
}

template <class Array>
bool any_of(const Array& switches) {
  return std::any_of(switches.begin(), switches.end(), [](const Switches& on) { return on.load(); });
}

}  // namespace

bool is_wanted(CUpti_ActivityKind kind, std::uint64_t context) {
  bool const on = kinds[kind].load(std::memory_order_relaxed);
  if (context == 0 || !has_overrides.load(std::memory_order_relaxed)) return on;
  std::lock_guard const lock(overrides().mutex);
  auto const found = overrides().settings.find({context, kind});
  return found != overrides().settings.end() ? found->second : on;
}

CUpti_ActivityKind wanted_kernel_kind(std::uint64_t context) {
  for (CUpti_ActivityKind const kind : {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_KERNEL})
    if (is_wanted(kind, context)) return kind;
  return CUPTI_ACTIVITY_KIND_INVALID;
}

bool is_api_wanted(std::uint32_t domain, std::uint32_t id) {
  return domain == CUPTI_CB_DOMAIN_DRIVER_API ? driver_calls[id].load(std::memory_order_relaxed)
                                              : runtime_calls[id].load(std::memory_order_relaxed);
}

bool wants_latency_timestamps() {
  return latency_timestamps.load(std::memory_order_relaxed);
}
bool wants_allocation_source() {
  return allocation_source.load(std::memory_order_relaxed);
}
bool wants_unfinished_queries() {
  return unfinished_queries.load(std::memory_order_relaxed);
}

void deselect_activity() {
  set_all(kinds, false);
  set_all(driver_calls, false);
  set_all(runtime_calls, false);
  has_overrides.store(false);
  latency_timestamps.store(false);
  allocation_source.store(false);
  unfinished_queries.store(true);
  std::lock_guard const lock(overrides().mutex);
  overrides().settings.clear();
}

bool is_any_activity_selected() {
  return has_overrides.load() || any_of(kinds) || any_of(driver_calls) || any_of(runtime_calls);
}

}  // namespace tidemark::softgpu::cupti

using namespace tidemark::softgpu::cupti;

CUptiResult CUPTIAPI cuptiActivityEnable(CUpti_ActivityKind kind) {
  return answer(set_kind(kind, true));
}

CUptiResult CUPTIAPI cuptiActivityEnableAndDump(CUpti_ActivityKind kind) {
  CUptiResult const result = set_kind(kind, true);
  if (result == CUPTI_SUCCESS) record_existing(kind);
  return answer(result);
}

CUptiResult CUPTIAPI cuptiActivityDisable(CUpti_ActivityKind kind) {
  return answer(set_kind(kind, false));
}

CUptiResult CUPTIAPI cuptiActivityEnableContext(CUcontext context, CUpti_ActivityKind kind) {
  return answer(set_for_context(context, kind, true));
}

CUptiResult CUPTIAPI cuptiActivityDisableContext(CUcontext context, CUpti_ActivityKind kind) {
  return answer(set_for_context(context, kind, false));
}

CUptiResult CUPTIAPI cuptiActivityEnableDriverApi(CUpti_CallbackId id, uint8_t enable) {
  return answer(set_call(driver_calls, id, enable != 0));
}

CUptiResult CUPTIAPI cuptiActivityEnableRuntimeApi(CUpti_CallbackId id, uint8_t enable) {
  return answer(set_call(runtime_calls, id, enable != 0));
}

CUptiResult CUPTIAPI cuptiActivityEnableLatencyTimestamps(uint8_t enable) {
  latency_timestamps.store(enable != 0);
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityEnableAllocationSource(uint8_t enable) {
  allocation_source.store(enable != 0);
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityEnableAllSyncRecords(uint8_t enable) {
  unfinished_queries.store(enable != 0);
  return CUPTI_SUCCESS;
}
