// SPDX-License-Identifier: Apache-2.0
// The allocator's upstream over a CUDA driver: the memory of one context.
//
// A thread may call with any context current, or none, and in the middle of a capture: each call makes its context
// current for itself, lets a capture of this thread go on unharmed, and leaves everything as it was. Mapped memory
// belongs to no context: its calls work without one, also when the context has ended.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>

#include "allocator/core/upstream.h"
#include "allocator/cuda/functions.h"
#include "base/spin_lock.h"

namespace tidemark::allocator {

// A stream that memory of a context may be used in: of that context, or of another one that can reach it. Its owner
// keeps it as long as an allocator knows it.
struct CudaStream {
  CUcontext context = nullptr;
  CUstream stream = nullptr;
  bool own_default = false;  // a thread's own default stream: only that thread can name it
};
inline StreamHandle handle_of(const CudaStream& stream) {
  return static_cast<StreamHandle>(reinterpret_cast<std::uint64_t>(&stream));
}

class CudaUpstream final : public Upstream {
 public:
  CudaUpstream(const DriverFunctions& driver, CUcontext context, CUdevice device);

  bool can_map() const override { return can_map_; }
  Status reserve(std::uint64_t bytes, std::uint64_t* address) override;
  Status release(std::uint64_t address, std::uint64_t bytes) override;
  Status create(std::uint64_t bytes, PageHandle* handle) override;
  Status destroy(PageHandle handle) override;
  Status map(std::uint64_t address, std::uint64_t bytes, PageHandle handle) override;
  Status unmap(std::uint64_t address, std::uint64_t bytes) override;
  Status set_access(std::uint64_t address, std::uint64_t bytes) override;
  Status allocate_block(std::uint64_t bytes, std::uint64_t* address) override;
  Status free_block(std::uint64_t address) override;
  Status memory(DeviceMemory* memory) override;
  Status create_event(EventHandle* event) override;
  Status destroy_event(EventHandle event) override;
  Status record(EventHandle event, StreamHandle stream) override;
  Status query(EventHandle event) override;
  Status wait(EventHandle event) override;
  Status wait_in_stream(StreamHandle stream, EventHandle event) override;
  Status synchronize() override;
  bool holds_up_others(StreamHandle stream) const override;  // the legacy stream, and those behind which it stands
  Status make_stream(StreamHandle* stream) override;
  Status fill(const Fill& fill, StreamHandle stream) override;

  // The driver's own word for the last call that failed in this context: what a program is told where there is no
  // better answer.
  CUresult last_error() const { return last_error_.load(std::memory_order_relaxed); }

  // Another device that may use this memory: counts for what is mapped from now on. For what is there already the
  // caller asks for set_access again. False: there are too many.
  bool add_reader(CUdevice device);
  void remove_reader(CUdevice device);
  // From now on the memory is that of another context of the same device: the one before has ended.
  void move_to(CUcontext context) { context_.store(context, std::memory_order_release); }
  // A context has ended, and its events with it.
  void forget_events_of(CUcontext context);
  CUcontext context() const { return context_.load(std::memory_order_acquire); }

 private:
  // While it lives, the context is current (null: whichever is) and no capture of this thread minds.
  class Inside;
  Status told(CUresult result);
  bool supports_mapping() const;
  CUmemAllocationProp properties() const;

  static constexpr std::size_t kMostDevices = 32;
  DriverFunctions driver_;
  std::atomic<CUcontext> context_;
  CUdevice device_;
  std::atomic<std::uint32_t> readers_{0};  // by device number
  struct Event;
  static Event& event_of(EventHandle event);
  SpinLock events_lock_;
  Event* events_ = nullptr;  // all that were made
  CudaStream own_stream_;    // of the allocator's own; ends with its context
  bool can_map_ = false;
  std::atomic<CUresult> last_error_{CUDA_SUCCESS};
};

}  // namespace tidemark::allocator
