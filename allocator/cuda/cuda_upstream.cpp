// SPDX-License-Identifier: Apache-2.0
#include "allocator/cuda/cuda_upstream.h"

namespace tidemark::allocator {
namespace {

constexpr std::uint64_t kFrameBytes = std::uint64_t{2} << 20;

CUstream stream_of(StreamHandle stream) {
  return reinterpret_cast<CUstream>(static_cast<std::uint64_t>(stream));
}
CUevent event_of(EventHandle event) {
  return reinterpret_cast<CUevent>(static_cast<std::uint64_t>(event));
}

}  // namespace

class CudaUpstream::Inside {
 public:
  explicit Inside(const CudaUpstream& upstream) : driver_(upstream.driver_) {
    CUcontext current = nullptr;
    if (driver_.get_current(&current) != CUDA_SUCCESS || current != upstream.context_) {
      failure_ = driver_.push_current(upstream.context_);
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
  Inside const call(*this);
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
  Status const status =
      told(Inside(*this)(driver_.reserve, &at, std::size_t{bytes}, std::size_t{kFrameBytes}, CUdeviceptr{0}, 0ull));
  *address = at;
  return status;
}
Status CudaUpstream::release(std::uint64_t address, std::uint64_t bytes) {
  return told(Inside(*this)(driver_.release, CUdeviceptr{address}, std::size_t{bytes}));
}

Status CudaUpstream::create(std::uint64_t bytes, PageHandle* handle) {
  CUmemAllocationProp const p = properties();
  CUmemGenericAllocationHandle made = 0;
  Status const status = told(Inside(*this)(driver_.create, &made, std::size_t{bytes}, &p, 0ull));
  *handle = static_cast<PageHandle>(made);
  return status;
}
Status CudaUpstream::destroy(PageHandle handle) {
  return told(Inside(*this)(driver_.destroy, static_cast<CUmemGenericAllocationHandle>(handle)));
}

Status CudaUpstream::map(std::uint64_t address, std::uint64_t bytes, PageHandle handle) {
  return told(Inside(*this)(driver_.map, CUdeviceptr{address}, std::size_t{bytes}, std::size_t{0},
                            static_cast<CUmemGenericAllocationHandle>(handle), 0ull));
}
Status CudaUpstream::unmap(std::uint64_t address, std::uint64_t bytes) {
  return told(Inside(*this)(driver_.unmap, CUdeviceptr{address}, std::size_t{bytes}));
}
Status CudaUpstream::set_access(std::uint64_t address, std::uint64_t bytes) {
  CUmemAccessDesc const access{.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device_},
                               .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  return told(Inside(*this)(driver_.set_access, CUdeviceptr{address}, std::size_t{bytes}, &access, std::size_t{1}));
}

Status CudaUpstream::allocate_block(std::uint64_t bytes, std::uint64_t* address) {
  CUdeviceptr at = 0;
  Status const status = told(Inside(*this)(driver_.allocate, &at, std::size_t{bytes}));
  *address = at;
  return status;
}
Status CudaUpstream::free_block(std::uint64_t address) {
  return told(Inside(*this)(driver_.free, CUdeviceptr{address}));
}
Status CudaUpstream::memory(DeviceMemory* memory) {
  std::size_t free = 0, total = 0;
  Status const status = told(Inside(*this)(driver_.memory_info, &free, &total));
  *memory = {.free_bytes = free, .total_bytes = total};
  return status;
}

Status CudaUpstream::create_event(EventHandle* event) {
  CUevent made = nullptr;
  Status const status = told(Inside(*this)(driver_.create_event, &made, unsigned{CU_EVENT_DISABLE_TIMING}));
  *event = static_cast<EventHandle>(reinterpret_cast<std::uint64_t>(made));
  return status;
}
Status CudaUpstream::destroy_event(EventHandle event) {
  return told(Inside(*this)(driver_.destroy_event, event_of(event)));
}
// A thread's own default stream cannot be named from another thread. Behind it stands the legacy stream, which waits
// for all of them.
Status CudaUpstream::record(EventHandle event, StreamHandle stream) {
  CUstream const to = stream == kOwnDefaultStream ? nullptr : stream_of(stream);
  return told(Inside(*this)(driver_.record, event_of(event), to));
}
Status CudaUpstream::query(EventHandle event) {
  return told(Inside(*this)(driver_.query, event_of(event)));
}
Status CudaUpstream::wait(EventHandle event) {
  return told(Inside(*this)(driver_.wait, event_of(event)));
}
Status CudaUpstream::wait_in_stream(StreamHandle stream, EventHandle event) {
  return told(Inside(*this)(driver_.wait_in_stream, stream_of(stream), event_of(event), 0u));
}
Status CudaUpstream::synchronize() {
  return told(Inside(*this)(driver_.synchronize));
}

}  // namespace tidemark::allocator
