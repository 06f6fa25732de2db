// SPDX-License-Identifier: Apache-2.0
// A driver for the allocator's tests and benches: it holds no memory, but checks every rule of upstream.h, has a
// capacity, counts calls and what they would cost, and fails when it was told to. Streams are always idle here;
// SimulatedDevice has real ones. Thread-safe.
#pragma once
#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "allocator/core/upstream.h"

namespace tidemark::tests {

enum class Call : std::uint8_t {
  Reserve,
  Create,
  Destroy,
  Map,
  Unmap,
  SetAccess,
  Allocate,
  Free,
  Record,
  Wait,
  Fill,
  Count
};

struct FakeOptions {
  std::uint64_t capacity_bytes = 1ull << 30;
  bool can_map = true;
  std::array<std::uint64_t, static_cast<std::size_t>(Call::Count)> latency_ns{};
};

class FakeUpstream : public allocator::Upstream {
 public:
  using Status = allocator::Status;
  using PageHandle = allocator::PageHandle;
  using EventHandle = allocator::EventHandle;
  using StreamHandle = allocator::StreamHandle;

  explicit FakeUpstream(const FakeOptions& options = {}) : options_(options) {}

  // The n-th call of a kind from now on (0: the next) answers with this.
  void fail(Call call, std::uint64_t after, Status status);
  std::uint64_t calls(Call call) const;
  std::uint64_t spent_ns() const;
  std::uint64_t used_bytes() const;
  void set_capacity(std::uint64_t bytes);
  // Rules that were broken; empty is good.
  std::vector<std::string> violations() const;
  // Whether a program could touch every byte: mapped with access, or in a block of the driver's.
  bool accessible(std::uint64_t address, std::uint64_t bytes) const;
  // Where the bytes of an address are, whatever shows them: (handle or block, offset). {0, 0}: nowhere.
  std::pair<std::uint64_t, std::uint64_t> place(std::uint64_t address) const;

  bool can_map() const override { return options_.can_map; }
  Status reserve(std::uint64_t bytes, std::uint64_t* address) override;
  Status release(std::uint64_t address, std::uint64_t bytes) override;
  Status create(std::uint64_t bytes, PageHandle* handle) override;
  Status destroy(PageHandle handle) override;
  Status map(std::uint64_t address, std::uint64_t bytes, PageHandle handle) override;
  Status unmap(std::uint64_t address, std::uint64_t bytes) override;
  Status set_access(std::uint64_t address, std::uint64_t bytes) override;
  Status allocate_block(std::uint64_t bytes, std::uint64_t* address) override;
  Status free_block(std::uint64_t address) override;
  Status memory(allocator::DeviceMemory* memory) override;
  Status create_event(EventHandle* event) override;
  Status destroy_event(EventHandle event) override;
  Status record(EventHandle event, StreamHandle stream) override;
  Status query(EventHandle event) override;
  Status wait(EventHandle event) override;
  Status wait_in_stream(StreamHandle stream, EventHandle event) override;
  Status synchronize() override;
  Status make_stream(StreamHandle* stream) override;
  Status fill(const allocator::Fill& fill, StreamHandle stream) override;

 protected:
  void violation(std::string what);  // with the lock held
  virtual void before_unmap(std::uint64_t, std::uint64_t) {}
  mutable std::recursive_mutex mutex_;

 private:
  struct Mapping {
    std::uint64_t bytes = 0;
    std::uint64_t handle = 0;
    bool access = false;
  };
  struct Handle {
    std::uint64_t bytes = 0;
    int mappings = 0;
  };
  struct Fault {
    Call call;
    std::uint64_t at;
    Status status;
  };
  Status counted(Call call);
  const std::pair<const std::uint64_t, Mapping>* mapping_at(std::uint64_t address) const;

  FakeOptions options_;
  std::array<std::uint64_t, static_cast<std::size_t>(Call::Count)> calls_{};
  std::uint64_t spent_ns_ = 0;
  std::uint64_t used_bytes_ = 0;
  std::uint64_t next_address_ = 0x7000'0000'0000;
  std::uint64_t next_handle_ = 1;
  std::vector<Fault> faults_;
  std::vector<std::string> violations_;
  std::map<std::uint64_t, std::uint64_t> reserved_;
  std::map<std::uint64_t, std::uint64_t> blocks_;
  std::map<std::uint64_t, Mapping> mappings_;
  std::map<std::uint64_t, Handle> handles_;
};

}  // namespace tidemark::tests
