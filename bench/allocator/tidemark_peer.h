// SPDX-License-Identifier: Apache-2.0
// Ours: the allocator over the software device's driver, or over a driver that does nothing, and either with each call
// recorded in a trace.
#pragma once
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "allocator/core/allocator.h"
#include "allocator/cuda/cuda_upstream.h"
#include "bench/allocator/device.h"
#include "tests/support/fake_upstream.h"
#include "trace/write/lane.h"

namespace tidemark::bench {

inline allocator::DriverFunctions driver_functions() {
  return {.get_current = cuCtxGetCurrent,
          .push_current = cuCtxPushCurrent,
          .pop_current = cuCtxPopCurrent,
          .synchronize = [] { return cuCtxSynchronize(); },
          .get_attribute = cuDeviceGetAttribute,
          .memory_info = cuMemGetInfo,
          .allocate = cuMemAlloc,
          .free = cuMemFree,
          .reserve = cuMemAddressReserve,
          .release = cuMemAddressFree,
          .create = cuMemCreate,
          .destroy = cuMemRelease,
          .map = cuMemMap,
          .unmap = cuMemUnmap,
          .set_access = cuMemSetAccess,
          .granularity = cuMemGetAllocationGranularity,
          .create_event = cuEventCreate,
          .destroy_event = cuEventDestroy,
          .record = cuEventRecord,
          .query = cuEventQuery,
          .wait = cuEventSynchronize,
          .wait_in_stream = cuStreamWaitEvent,
          .exchange_capture_mode = cuThreadExchangeStreamCaptureMode};
}

class TidemarkPeer {
 public:
  explicit TidemarkPeer(Device& device, const allocator::Options& options = {})
      : TidemarkPeer(device, options,
                     std::make_unique<allocator::CudaUpstream>(driver_functions(), device.context(), 0)) {}
  TidemarkPeer(Device& device, allocator::Options options, std::unique_ptr<allocator::Upstream> driver)
      : device_(device), driver_(std::move(driver)) {
    options.capacity_bytes = device.capacity_bytes();
    allocator_ = allocator::Allocator::make(*driver_, options);
    for (unsigned s = 0; s < device.streams(); ++s)
      domains_.push_back(allocator_->add_stream(
          allocator::StreamHandle{reinterpret_cast<std::uint64_t>(static_cast<void*>(device.stream(s)))}));
  }
  std::uint64_t allocate(std::uint64_t bytes, Caller who) {
    std::uint64_t address = 0;
    allocator_->allocate({.bytes = bytes, .domain = domains_[who.stream]}, &address);
    return address;
  }
  void free(std::uint64_t address, Caller who) { allocator_->free_in(address, domains_[who.stream]); }
  void free_used(std::uint64_t address, Caller /*who*/, std::uint32_t /*others*/) { allocator_->free(address); }
  void submit(std::uint64_t address, Caller who) {
    allocator_->before_submission(domains_[who.stream]);
    device_.submit(who.stream, address);
    allocator_->after_submission(domains_[who.stream]);
  }
  void put_before(unsigned earlier, unsigned later) {
    for (unsigned const s : {earlier, later}) allocator_->before_submission(domains_[s]);
    device_.put_before(earlier, later);
    for (unsigned const s : {earlier, later}) allocator_->after_submission(domains_[s]);
  }
  // What the interposer does when another library's call runs out.
  bool give_back(std::uint64_t bytes) { return allocator_->give_back(bytes) != 0; }
  std::uint64_t reserved_bytes() const { return device_.reserved_bytes(); }
  allocator::Statistics statistics() const { return allocator_->statistics(); }

 protected:
  Device& device_;
  std::unique_ptr<allocator::Upstream> driver_;
  std::unique_ptr<allocator::Allocator> allocator_;
  std::vector<allocator::DomainId> domains_;
};

class TidemarkAlonePeer : public TidemarkPeer {
 public:
  explicit TidemarkAlonePeer(Device& device)
      : TidemarkPeer(
            device, {},
            std::make_unique<tests::FakeUpstream>(tests::FakeOptions{.capacity_bytes = device.capacity_bytes()})) {}
  // The stream is known to be in use: nothing reaches a device.
  void submit(std::uint64_t /*address*/, Caller who) {
    allocator_->before_submission(domains_[who.stream]);
    allocator_->after_submission(domains_[who.stream]);
  }
};

// As cudaMalloc and cudaFree are served: the next user is unknown, so a free waits for every stream that is busy.
class TidemarkSharedPeer : public TidemarkPeer {
 public:
  using TidemarkPeer::TidemarkPeer;
  std::uint64_t allocate(std::uint64_t bytes, Caller /*who*/) {
    std::uint64_t address = 0;
    allocator_->allocate({.bytes = bytes}, &address);
    return address;
  }
  void free(std::uint64_t address, Caller /*who*/) { allocator_->free(address); }
};

// As in a recorded program: each call leaves a record in its thread's chunk of a trace.
class TidemarkRecordedPeer : public TidemarkPeer {
 public:
  static constexpr unsigned kMostThreads = 8;
  explicit TidemarkRecordedPeer(Device& device) : TidemarkPeer(device), lanes_(kMostThreads) {
    auto const made = file_.create({.path = path_, .clock = trace::Clock::pick()});
    if (!made.ok()) {
      std::fprintf(stderr, "error: %s\n", made.error().what.c_str());
      std::exit(1);
    }
    for (unsigned t = 0; t < kMostThreads; ++t) lanes_[t].start(file_, t + 1);
  }
  TidemarkRecordedPeer(const TidemarkRecordedPeer&) = delete;
  TidemarkRecordedPeer& operator=(const TidemarkRecordedPeer&) = delete;
  ~TidemarkRecordedPeer() { unlink(path_.c_str()); }
  std::uint64_t allocate(std::uint64_t bytes, Caller who) {
    std::uint64_t const address = TidemarkPeer::allocate(bytes, who);
    lanes_[who.thread].alloc({.address = address, .size_bytes = bytes});
    return address;
  }
  void free(std::uint64_t address, Caller who) {
    lanes_[who.thread].free({.address = address});
    TidemarkPeer::free(address, who);
  }

 private:
  std::string path_ =
      std::filesystem::temp_directory_path() / ("bench_allocator-" + std::to_string(getpid()) + ".tide");
  trace::File& file_ = *new trace::File;  // mapped until the end
  std::vector<trace::Lane> lanes_;
};

}  // namespace tidemark::bench
