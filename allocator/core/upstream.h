// SPDX-License-Identifier: Apache-2.0
// What the allocator asks of a driver. allocator/cuda implements it over a table of driver functions, tests as a device
// that checks every rule.
//
// The allocator holds no lock of its own during these calls, and calls from several threads. None may throw.
// The rules of mapped memory: a handle is mapped whole, at offset 0 of itself; unmap covers whole mappings; a fresh
// mapping has no access until set_access; the same handle may be mapped more than once. Only complete work may have
// used a range that is unmapped.
#pragma once
#include <cstdint>

namespace tidemark::allocator {

enum class Status : std::uint8_t { Ok, OutOfMemory, NotReady, Failed };

enum class PageHandle : std::uint64_t {};
enum class EventHandle : std::uint64_t {};
enum class StreamHandle : std::uint64_t {};

struct DeviceMemory {
  std::uint64_t free_bytes = 0;
  std::uint64_t total_bytes = 0;
};

struct Fill {
  std::uint64_t address = 0;
  std::uint64_t bytes = 0;  // whole words
  std::uint32_t word = 0;
};

class Upstream {
 public:
  virtual ~Upstream() = default;

  // Without it only allocate_block and free_block are called.
  virtual bool can_map() const = 0;
  virtual Status reserve(std::uint64_t bytes, std::uint64_t* address) = 0;
  virtual Status release(std::uint64_t address, std::uint64_t bytes) = 0;
  virtual Status create(std::uint64_t bytes, PageHandle* handle) = 0;
  virtual Status destroy(PageHandle handle) = 0;
  virtual Status map(std::uint64_t address, std::uint64_t bytes, PageHandle handle) = 0;
  virtual Status unmap(std::uint64_t address, std::uint64_t bytes) = 0;
  virtual Status set_access(std::uint64_t address, std::uint64_t bytes) = 0;

  // Whole blocks of the driver.
  virtual Status allocate_block(std::uint64_t bytes, std::uint64_t* address) = 0;
  virtual Status free_block(std::uint64_t address) = 0;
  virtual Status memory(DeviceMemory* memory) = 0;

  virtual Status create_event(EventHandle* event) = 0;
  virtual Status destroy_event(EventHandle event) = 0;
  virtual Status record(EventHandle event, StreamHandle stream) = 0;
  virtual Status query(EventHandle event) = 0;                                // Ok: done; NotReady: not yet
  virtual Status wait(EventHandle event) = 0;                                 // this thread waits
  virtual Status wait_in_stream(StreamHandle stream, EventHandle event) = 0;  // the stream's later work waits
  // Whether an event can be recorded in a stream only so that others' later work waits for it.
  virtual bool holds_up_others(StreamHandle /*stream*/) const { return false; }
  virtual Status synchronize() = 0;  // everything queued on the device is done

  // For memory that is filled when it is freed: a stream of the allocator's own, which waits for no other and which
  // nobody else uses; and words of a pattern, as work of a stream. A driver without them fills nothing.
  virtual Status make_stream(StreamHandle* /*stream*/) { return Status::Failed; }
  virtual Status fill(const Fill& /*fill*/, StreamHandle /*stream*/) { return Status::Failed; }
};

}  // namespace tidemark::allocator
