// SPDX-License-Identifier: Apache-2.0
#include "allocator/cuda/cuda_upstream.h"

#include <mutex>
#include <new>

namespace tidemark::allocator {
namespace {

constexpr std::uint64_t kFrameBytes = std::uint64_t{2} << 20;

const CudaStream& stream_of(StreamHandle stream) {
  return *reinterpret_cast<const CudaStream*>(static_cast<std::uint64_t>(stream));
}

}  // namespace

// An event can be recorded in streams of its own context only: it is made for the context in which it is recorded, and
// made anew where the next time is in another one.
struct CudaUpstream::Event {
  CUevent event = nullptr;
  CUcontext context = nullptr;
  Event* next = nullptr;
};
CudaUpstream::Event& CudaUpstream::event_of(EventHandle event) {
  return *reinterpret_cast<Event*>(static_cast<std::uint64_t>(event));
}

class CudaUpstream::Inside {
 public:
  Inside(const DriverFunctions& driver, CUcontext context) : driver_(driver) {
    CUcontext current = nullptr;
    if (context != nullptr && (driver_.get_current(&current) != CUDA_SUCCESS || current != context)) {
      failure_ = driver_.push_current(context);
      pushed_ = failure_ == CUDA_SUCCESS;
    }
    // Whatever is captured, calls of ours are no part of it, and must not end it.
    if (driver_.exchange_capture_mode != nullptr) driver_.exchange_capture_mode(&capture_mode_);
  }
  ~Inside() {
    if (driver_.exchange_capture_mode != nullptr) driver_.exchange_capture_mode(&capture_mode_);
    CUcontext popped = nullptr;
    if (pushed_) driver_.pop_current(&popped);
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

  template <class F, class... A>
  CUresult operator()(F function, A... arguments) const {
    if (failure_ != CUDA_SUCCESS) return failure_;
    return function == nullptr ? CUDA_ERROR_NOT_SUPPORTED : function(arguments...);
  }

 private:
  const DriverFunctions& driver_;
  CUstreamCaptureMode capture_mode_ = CU_STREAM_CAPTURE_MODE_RELAXED;
  CUresult failure_ = CUDA_SUCCESS;
  bool pushed_ = false;
};

CudaUpstream::CudaUpstream(const DriverFunctions& driver, CUcontext context, CUdevice device)
    : driver_(driver), context_(context), device_(device) {
  can_map_ = supports_mapping();
}

Status CudaUpstream::told(CUresult result) {
  switch (result) {
    case CUDA_SUCCESS: return Status::Ok;
    case CUDA_ERROR_NOT_READY: return Status::NotReady;
    case CUDA_ERROR_OUT_OF_MEMORY: last_error_.store(result, std::memory_order_relaxed); return Status::OutOfMemory;
    default: last_error_.store(result, std::memory_order_relaxed); return Status::Failed;
  }
}

CUmemAllocationProp CudaUpstream::properties() const {
  CUmemAllocationProp p{};
  p.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  p.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device_};
  return p;
}

// Frames are 2 MiB: a device with larger pages gets whole segments.
bool CudaUpstream::supports_mapping() const {
  for (bool const missing : {driver_.reserve == nullptr, driver_.release == nullptr, driver_.create == nullptr,
                             driver_.destroy == nullptr, driver_.map == nullptr, driver_.unmap == nullptr,
                             driver_.set_access == nullptr, driver_.granularity == nullptr})
    if (missing) return false;
  Inside const call(driver_, nullptr);
  int supported = 0;
  if (call(driver_.get_attribute, &supported, CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, device_) !=
          CUDA_SUCCESS ||
      supported == 0)
    return false;
  CUmemAllocationProp const p = properties();
  std::size_t bytes = 0;
  return call(driver_.granularity, &bytes, &p, CU_MEM_ALLOC_GRANULARITY_MINIMUM) == CUDA_SUCCESS && bytes != 0 &&
         kFrameBytes % bytes == 0;
}

Status CudaUpstream::reserve(std::uint64_t bytes, std::uint64_t* address) {
  CUdeviceptr at = 0;
  Status const status = told(Inside(driver_, nullptr)(driver_.reserve, &at, std::size_t{bytes},
                                                      std::size_t{kFrameBytes}, CUdeviceptr{0}, 0ull));
  *address = at;
  return status;
}
Status CudaUpstream::release(std::uint64_t address, std::uint64_t bytes) {
  return told(Inside(driver_, nullptr)(driver_.release, CUdeviceptr{address}, std::size_t{bytes}));
}

Status CudaUpstream::create(std::uint64_t bytes, PageHandle* handle) {
  CUmemAllocationProp const p = properties();
  CUmemGenericAllocationHandle made = 0;
  Status const status = told(Inside(driver_, nullptr)(driver_.create, &made, std::size_t{bytes}, &p, 0ull));
  *handle = static_cast<PageHandle>(made);
  return status;
}
Status CudaUpstream::destroy(PageHandle handle) {
  return told(Inside(driver_, nullptr)(driver_.destroy, static_cast<CUmemGenericAllocationHandle>(handle)));
}

Status CudaUpstream::map(std::uint64_t address, std::uint64_t bytes, PageHandle handle) {
  return told(Inside(driver_, nullptr)(driver_.map, CUdeviceptr{address}, std::size_t{bytes}, std::size_t{0},
                                       static_cast<CUmemGenericAllocationHandle>(handle), 0ull));
}
Status CudaUpstream::unmap(std::uint64_t address, std::uint64_t bytes) {
  return told(Inside(driver_, nullptr)(driver_.unmap, CUdeviceptr{address}, std::size_t{bytes}));
}
Status CudaUpstream::set_access(std::uint64_t address, std::uint64_t bytes) {
  std::array<CUmemAccessDesc, kMostDevices + 1> access;
  std::size_t count = 0;
  auto const add = [&](CUdevice device) {
    access[count++] = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device},
                       .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  };
  add(device_);
  std::uint32_t const readers = readers_.load(std::memory_order_acquire);
  for (CUdevice device = 0; device < CUdevice{kMostDevices}; ++device)
    if ((readers >> device & 1) != 0) add(device);
  return told(
      Inside(driver_, nullptr)(driver_.set_access, CUdeviceptr{address}, std::size_t{bytes}, access.data(), count));
}

bool CudaUpstream::add_reader(CUdevice device) {
  if (device < 0 || device >= CUdevice{kMostDevices}) return false;
  readers_.fetch_or(1u << device, std::memory_order_acq_rel);
  return true;
}
void CudaUpstream::remove_reader(CUdevice device) {
  if (device >= 0 && device < CUdevice{kMostDevices}) readers_.fetch_and(~(1u << device), std::memory_order_acq_rel);
}

Status CudaUpstream::allocate_block(std::uint64_t bytes, std::uint64_t* address) {
  CUdeviceptr at = 0;
  Status const status = told(Inside(driver_, context())(driver_.allocate, &at, std::size_t{bytes}));
  *address = at;
  return status;
}
Status CudaUpstream::free_block(std::uint64_t address) {
  if (context() == nullptr) return Status::Ok;  // it has ended with its context
  return told(Inside(driver_, context())(driver_.free, CUdeviceptr{address}));
}
Status CudaUpstream::memory(DeviceMemory* memory) {
  std::size_t free = 0, total = 0;
  Status const status = told(Inside(driver_, context())(driver_.memory_info, &free, &total));
  *memory = {.free_bytes = free, .total_bytes = total};
  return status;
}

Status CudaUpstream::create_event(EventHandle* event) {
  auto* const made = new (std::nothrow) Event;
  *event = static_cast<EventHandle>(reinterpret_cast<std::uint64_t>(made));
  if (made == nullptr) return Status::OutOfMemory;
  std::scoped_lock const guard(events_lock_);
  made->next = events_;
  events_ = made;
  return Status::Ok;
}
Status CudaUpstream::destroy_event(EventHandle event) {
  Event* const gone = &event_of(event);
  Status const status =
      gone->event == nullptr ? Status::Ok : told(Inside(driver_, gone->context)(driver_.destroy_event, gone->event));
  std::scoped_lock const guard(events_lock_);
  Event** at = &events_;
  while (*at != gone) at = &(*at)->next;
  *at = gone->next;
  delete gone;
  return status;
}
void CudaUpstream::forget_events_of(CUcontext context) {
  std::scoped_lock const guard(events_lock_);
  for (Event* e = events_; e != nullptr; e = e->next)
    if (e->context == context) {
      e->event = nullptr;
      e->context = nullptr;
    }
}
// A thread's own default stream cannot be named from another thread. Behind it stands the legacy stream, which waits
// for all of them.
Status CudaUpstream::record(EventHandle event, StreamHandle stream) {
  const CudaStream& to = stream_of(stream);
  Event& e = event_of(event);
  Inside const call(driver_, to.context);
  if (e.context != to.context) {
    if (e.event != nullptr) Inside(driver_, e.context)(driver_.destroy_event, e.event);
    e.context = nullptr;
    e.event = nullptr;
    Status const status = told(call(driver_.create_event, &e.event, unsigned{CU_EVENT_DISABLE_TIMING}));
    if (status != Status::Ok) return status;
    e.context = to.context;
  }
  return told(call(driver_.record, e.event, to.own_default ? nullptr : to.stream));
}
bool CudaUpstream::holds_up_others(StreamHandle stream) const {
  return stream_of(stream).own_default || stream_of(stream).stream == nullptr;
}
Status CudaUpstream::query(EventHandle event) {
  return told(Inside(driver_, event_of(event).context)(driver_.query, event_of(event).event));
}
Status CudaUpstream::wait(EventHandle event) {
  return told(Inside(driver_, event_of(event).context)(driver_.wait, event_of(event).event));
}
Status CudaUpstream::wait_in_stream(StreamHandle stream, EventHandle event) {
  const CudaStream& later = stream_of(stream);
  return told(Inside(driver_, later.context)(driver_.wait_in_stream, later.stream, event_of(event).event, 0u));
}
Status CudaUpstream::synchronize() {
  return told(Inside(driver_, context())(driver_.synchronize));
}

Status CudaUpstream::make_stream(StreamHandle* stream) {
  CUcontext const context = this->context();
  own_stream_ = {.context = context};
  *stream = handle_of(own_stream_);
  if (context == nullptr) return Status::Failed;
  return told(Inside(driver_, context)(driver_.create_stream, &own_stream_.stream, unsigned{CU_STREAM_NON_BLOCKING}));
}
// Of a thread's own default stream only the thread can say the name; the legacy one stands behind it and before it.
Status CudaUpstream::fill(const Fill& fill, StreamHandle stream) {
  const CudaStream& to = stream_of(stream);
  return told(Inside(driver_, to.context)(driver_.set_words, CUdeviceptr{fill.address}, unsigned{fill.word},
                                          std::size_t{fill.bytes / sizeof fill.word},
                                          to.own_default ? nullptr : to.stream));
}

}  // namespace tidemark::allocator
