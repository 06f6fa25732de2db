// SPDX-License-Identifier: Apache-2.0
// Calls that wait or ask, and events as points in a stream: SYNCHRONIZATION and CUDA_EVENT records, and the callbacks
// of the synchronise domain. All from the driver's calls, which the runtime makes too.
#include <mutex>
#include <unordered_map>

#include "softgpu/cupti/buffers.h"
#include "softgpu/cupti/device.h"
#include "softgpu/cupti/events.h"
#include "softgpu/cupti/ids.h"
#include "softgpu/cupti/selection.h"
#include "softgpu/cupti/thread.h"

namespace tidemark::softgpu::cupti {
namespace {

enum class Act { RecordEvent, DestroyEvent, WaitEvent, SyncEvent, QueryEvent, SyncStream, QueryStream, SyncContext };

struct Row {
  std::uint32_t id;
  Act act;
  bool per_thread;
};

constexpr Row kRows[] = {
    {CUPTI_DRIVER_TRACE_CBID_cuEventRecord, Act::RecordEvent, false},
    {CUPTI_DRIVER_TRACE_CBID_cuEventRecord_ptsz, Act::RecordEvent, true},
    {CUPTI_DRIVER_TRACE_CBID_cuEventRecordWithFlags, Act::RecordEvent, false},
    {CUPTI_DRIVER_TRACE_CBID_cuEventRecordWithFlags_ptsz, Act::RecordEvent, true},
    {CUPTI_DRIVER_TRACE_CBID_cuEventDestroy_v2, Act::DestroyEvent, false},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamWaitEvent, Act::WaitEvent, false},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamWaitEvent_ptsz, Act::WaitEvent, true},
    {CUPTI_DRIVER_TRACE_CBID_cuEventSynchronize, Act::SyncEvent, false},
    {CUPTI_DRIVER_TRACE_CBID_cuEventQuery, Act::QueryEvent, false},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize, Act::SyncStream, false},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamSynchronize_ptsz, Act::SyncStream, true},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamQuery, Act::QueryStream, false},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamQuery_ptsz, Act::QueryStream, true},
    {CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize, Act::SyncContext, false},
    {CUPTI_DRIVER_TRACE_CBID_cuCtxSynchronize_v2, Act::SyncContext, false},
};

const Row* row_of(std::uint32_t id) {
  for (Row const& row : kRows)
    if (row.id == id) return &row;
  return nullptr;
}

// What the call was about, whichever form it had.
struct Subject {
  CUevent event = nullptr;
  CUstream stream = nullptr;
  CUcontext context = nullptr;
};

Subject subject_of(const SoftgpuCall& call, Act act) {
  switch (act) {
    case Act::RecordEvent: {
      // Both forms begin with event and stream.
      auto const& p = *static_cast<const cuEventRecord_params*>(call.params);
      return {.event = p.hEvent, .stream = p.hStream};
    }
    case Act::WaitEvent: {
      auto const& p = *static_cast<const cuStreamWaitEvent_params*>(call.params);
      return {.event = p.hEvent, .stream = p.hStream};
    }
    case Act::DestroyEvent:
    case Act::SyncEvent:
    case Act::QueryEvent: return {.event = static_cast<const cuEventSynchronize_params*>(call.params)->hEvent};
    case Act::SyncStream:
    case Act::QueryStream: return {.stream = static_cast<const cuStreamSynchronize_params*>(call.params)->hStream};
    case Act::SyncContext:
      if (call.params == nullptr) return {};
      return {.context = static_cast<const cuCtxSynchronize_v2_params*>(call.params)->ctx};
  }
  return {};
}

// Events have no id of their own in the driver API: their handle, which is unique among those that live, gives one, and
// each record of one gets a number.
struct Recorded {
  std::mutex mutex;
  std::unordered_map<CUevent, std::uint64_t> latest;
  std::uint64_t last = 0;
};
Recorded& recorded() {
  static auto& leaked = *new Recorded;
  return leaked;
}

std::uint32_t event_id(CUevent event) {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(event) >> 3);
}

std::uint64_t note_record(CUevent event) {
  std::lock_guard const lock(recorded().mutex);
  return recorded().latest[event] = ++recorded().last;
}

void forget_event(CUevent event) {
  std::lock_guard const lock(recorded().mutex);
  recorded().latest.erase(event);
}

std::uint64_t latest_record(CUevent event) {
  std::lock_guard const lock(recorded().mutex);
  auto const found = recorded().latest.find(event);
  return found != recorded().latest.end() ? found->second : CUPTI_SYNCHRONIZATION_INVALID_VALUE;
}

void record_event(const Subject& subject, bool per_thread) {
  std::uint64_t const number = note_record(subject.event);
  StreamIds const ids = ids_of(subject.stream, per_thread);
  if (!is_wanted(CUPTI_ACTIVITY_KIND_CUDA_EVENT, ids.context)) return;
  CUpti_ActivityCudaEvent2 record{};
  record.kind = CUPTI_ACTIVITY_KIND_CUDA_EVENT;
  record.correlationId = thread_state().correlation;
  record.contextId = ids.context;
  record.streamId = ids.stream;
  record.eventId = event_id(subject.event);
  std::uint32_t device = 0;
  (void)cuptiGetDeviceId(nullptr, &device);
  record.deviceId = device;
  record.cudaEventSyncId = number;
  stage(record);
}

CUpti_ActivitySynchronizationType type_of(Act act) {
  switch (act) {
    case Act::WaitEvent: return CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT;
    case Act::SyncEvent:
    case Act::QueryEvent: return CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE;
    case Act::SyncStream:
    case Act::QueryStream: return CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE;
    case Act::SyncContext: return CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE;
    default: return CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_UNKNOWN;
  }
}

struct Waited {
  CUresult result;
  std::uint64_t start, end;
};

void record_synchronization(const Row& row, const Subject& subject, const Waited& waited) {
  bool const has_stream = row.act == Act::WaitEvent || row.act == Act::SyncStream || row.act == Act::QueryStream;
  StreamIds ids;
  if (has_stream) {
    ids = ids_of(subject.stream, row.per_thread);
  } else {
    ids.context = subject.context != nullptr ? id_of(subject.context) : current_context_id();
  }
  if (!is_wanted(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, ids.context)) return;
  CUpti_ActivitySynchronization2 record{};
  record.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
  record.type = type_of(row.act);
  record.start = waited.start;
  record.end = waited.end;
  record.correlationId = thread_state().correlation;
  record.contextId = ids.context;
  record.streamId = has_stream ? ids.stream : CUPTI_SYNCHRONIZATION_INVALID_VALUE;
  record.cudaEventId = subject.event != nullptr ? event_id(subject.event) : CUPTI_SYNCHRONIZATION_INVALID_VALUE;
  record.cudaEventSyncId =
      subject.event != nullptr ? latest_record(subject.event) : std::uint64_t{CUPTI_SYNCHRONIZATION_INVALID_VALUE};
  record.returnValue = waited.result;
  stage(record);
}

void tell_synchronized(const Row& row, const Subject& subject) {
  CUpti_CallbackIdSync const id = row.act == Act::SyncStream ? CUPTI_CBID_SYNCHRONIZE_STREAM_SYNCHRONIZED
                                                             : CUPTI_CBID_SYNCHRONIZE_CONTEXT_SYNCHRONIZED;
  CUpti_SynchronizeData data{};
  data.stream = subject.stream;
  data.context = subject.context;
  if (data.context == nullptr) data.context = static_cast<CUcontext>(device()->current_context(nullptr, nullptr));
  call_back(CUPTI_CB_DOMAIN_SYNCHRONIZE, id, &data);
}

}  // namespace

void after_driver_call(const SoftgpuCall& call, std::uint64_t start, std::uint64_t end) {
  const Row* const row = row_of(call.id);
  if (row == nullptr || call.result == nullptr || thread_state().quiet != 0) return;
  CUresult const result = *static_cast<const CUresult*>(call.result);
  bool const is_query = row->act == Act::QueryEvent || row->act == Act::QueryStream;
  if (result != CUDA_SUCCESS && !(is_query && result == CUDA_ERROR_NOT_READY && wants_unfinished_queries())) return;
  Subject const subject = subject_of(call, row->act);
  if (row->act == Act::DestroyEvent) return forget_event(subject.event);
  if (row->act == Act::RecordEvent) return record_event(subject, row->per_thread);
  record_synchronization(*row, subject, {result, start, end});
  if (row->act == Act::SyncStream || row->act == Act::SyncContext) tell_synchronized(*row, subject);
}

}  // namespace tidemark::softgpu::cupti
