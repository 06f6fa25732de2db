// SPDX-License-Identifier: Apache-2.0
// The allocator's upstream over a CUDA driver: the memory of one context.
//
// A thread may call with any context current, or none, and in the middle of a capture: each call makes its context
// current for itself, lets a capture of this thread go on unharmed, and leaves everything as it was.
#pragma once
#include <atomic>
#include <cstdint>

#include "allocator/core/upstream.h"
#include "allocator/cuda/functions.h"

namespace tidemark::allocator {

// The default stream of whichever thread is asked to wait: each thread has its own. Recorded by any thread.
inline constexpr StreamHandle kOwnDefaultStream{2};

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

  // The driver's own word for the last call that failed in this context: what a program is told where there is no
  // better answer.
  CUresult last_error() const { return last_error_.load(std::memory_order_relaxed); }

 private:
  // The context is current, and no capture of this thread minds, while it lives.
  class Inside;
  Status told(CUresult result);
  bool supports_mapping() const;
  CUmemAllocationProp properties() const;

  DriverFunctions driver_;
  CUcontext context_;
  CUdevice device_;
  bool can_map_ = false;
  std::atomic<CUresult> last_error_{CUDA_SUCCESS};
};

}  // namespace tidemark::allocator
