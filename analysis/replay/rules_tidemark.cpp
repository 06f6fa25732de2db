// SPDX-License-Identifier: Apache-2.0
// The allocator itself, over a driver that gives whatever is asked and only counts.
#include "allocator/core/allocator.h"
#include "analysis/replay/replay.h"

namespace tidemark::analysis {

namespace {

using allocator::Status;

class CountingDriver : public allocator::Upstream {
 public:
  bool can_map() const override { return true; }
  Status reserve(std::uint64_t bytes, std::uint64_t* address) override {
    *address = next_address_;
    next_address_ += bytes;
    return Status::Ok;
  }
  Status create(std::uint64_t /*bytes*/, allocator::PageHandle* handle) override {
    *handle = allocator::PageHandle{++handles_};
    return Status::Ok;
  }
  Status allocate_block(std::uint64_t bytes, std::uint64_t* address) override { return reserve(bytes, address); }
  Status memory(allocator::DeviceMemory* memory) override {
    *memory = {.free_bytes = ~0ull >> 1, .total_bytes = ~0ull >> 1};
    return Status::Ok;
  }
  Status release(std::uint64_t, std::uint64_t) override { return Status::Ok; }
  Status destroy(allocator::PageHandle) override { return Status::Ok; }
  Status map(std::uint64_t, std::uint64_t, allocator::PageHandle) override { return Status::Ok; }
  Status unmap(std::uint64_t, std::uint64_t) override { return Status::Ok; }
  Status set_access(std::uint64_t, std::uint64_t) override { return Status::Ok; }
  Status free_block(std::uint64_t) override { return Status::Ok; }
  Status create_event(allocator::EventHandle*) override { return Status::Ok; }
  Status destroy_event(allocator::EventHandle) override { return Status::Ok; }
  Status record(allocator::EventHandle, allocator::StreamHandle) override { return Status::Ok; }
  Status query(allocator::EventHandle) override { return Status::Ok; }
  Status wait(allocator::EventHandle) override { return Status::Ok; }
  Status wait_in_stream(allocator::StreamHandle, allocator::EventHandle) override { return Status::Ok; }
  Status synchronize() override { return Status::Ok; }

 private:
  std::uint64_t next_address_ = 0x7000'0000'0000;
  std::uint64_t handles_ = 0;
};

class TidemarkRules : public Rules {
 public:
  TidemarkRules(std::uint64_t peak_live_bytes, SearchTime search)
      : allocator_(allocator::Allocator::make(driver_, {.capacity_bytes = 2 * peak_live_bytes + (1ull << 30),
                                                        .plan_search_seconds = search.seconds,
                                                        .plan_search_looks = search.looks,
                                                        .plan_in_foreground = true})) {}
  std::uint64_t allocate(std::uint64_t bytes) override {
    std::uint64_t address = 0;
    return allocator_ && allocator_->allocate({.bytes = bytes}, &address) == Status::Ok ? address : 0;
  }
  void free(std::uint64_t block) override { allocator_->free(block); }
  std::uint64_t reserved_bytes() const override {
    return allocator_->arena().pool().reserved_frames() * allocator::kFrameBytes;
  }
  std::uint64_t driver_calls() const override { return allocator_->arena().pool().calls().total(); }

 private:
  CountingDriver driver_;
  std::unique_ptr<allocator::Allocator> allocator_;
};

}  // namespace

std::unique_ptr<Rules> tidemark_rules(std::uint64_t peak_live_bytes, SearchTime search) {
  return std::make_unique<TidemarkRules>(peak_live_bytes, search);
}

}  // namespace tidemark::analysis
