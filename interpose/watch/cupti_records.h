// SPDX-License-Identifier: Apache-2.0
// CUPTI's buffers of activity records, read with care: a buffer may hold any bytes and still gives a count of what was
// not understood, nothing worse.
//
// How long a record is, only the CUPTI that wrote it knows: its own iterator goes from one to the next. What stands at
// a record's beginning has been the same since CUDA 12.0; later versions append. Where the iterator leads is checked.
#pragma once
#include <cupti.h>

#include <cstdint>
#include <cstring>
#include <span>

namespace tidemark::interpose {

// The common beginnings.
struct MemoryRecord {
  static constexpr bool is(std::uint32_t kind) { return kind == CUPTI_ACTIVITY_KIND_MEMORY2; }
  std::uint32_t kind = 0;
  std::uint32_t operation = 0;    // CUpti_ActivityMemoryOperationType
  std::uint32_t memory_kind = 0;  // CUpti_ActivityMemoryKind
  std::uint32_t correlation = 0;
  std::uint64_t address = 0;
  std::uint64_t size_bytes = 0;
  std::uint64_t time_ns = 0;
  std::uint64_t caller = 0;
  std::uint32_t process = 0;
  std::uint32_t device = 0;
  std::uint32_t context = 0;
  std::uint32_t stream = 0;
};
static_assert(sizeof(MemoryRecord) == 64);

struct KernelRecord {
  static constexpr bool is(std::uint32_t kind) {
    return kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL || kind == CUPTI_ACTIVITY_KIND_KERNEL;
  }
  std::uint32_t kind = 0;
  std::uint32_t configuration[3] = {};
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
  std::uint64_t completed_ns = 0;
  std::uint32_t device = 0;
  std::uint32_t context = 0;
  std::uint32_t stream = 0;
  std::uint32_t shape[10] = {};
  std::uint32_t correlation = 0;
  std::uint64_t grid = 0;
  std::uint64_t name = 0;  // an address in this process; nobody has looked whether it can be read
};
static_assert(sizeof(KernelRecord) == 112);

struct CallRecord {
  static constexpr bool is(std::uint32_t kind) {
    return kind == CUPTI_ACTIVITY_KIND_DRIVER || kind == CUPTI_ACTIVITY_KIND_RUNTIME;
  }
  std::uint32_t kind = 0;
  std::uint32_t call = 0;  // a callback id
  std::uint64_t start_ns = 0;
  std::uint64_t end_ns = 0;
  std::uint32_t process = 0;
  std::uint32_t thread = 0;
  std::uint32_t correlation = 0;
  std::uint32_t result = 0;
};
static_assert(sizeof(CallRecord) == 40);

struct ExternalRecord {
  static constexpr bool is(std::uint32_t kind) { return kind == CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION; }
  std::uint32_t kind = 0;
  std::uint32_t external_kind = 0;
  std::uint64_t id = 0;
  std::uint32_t correlation = 0;
  std::uint32_t reserved = 0;
};
static_assert(sizeof(ExternalRecord) == 24);

struct Walked {
  std::uint64_t records = 0;
  std::uint64_t odd = 0;  // cut off, or of a kind that nobody asked for
  bool broken = false;    // the iterator gave up, or led astray: what lies behind is not read
};

namespace detail {

template <class Record, class Sink>
bool deliver(std::uint32_t kind, std::span<const std::uint8_t> bytes, Sink& sink) {
  if (!Record::is(kind) || bytes.size() < sizeof(Record)) return false;
  Record record;
  std::memcpy(&record, bytes.data(), sizeof record);
  sink.on(record);
  return true;
}

}  // namespace detail

// Calls sink.on(record) for each. `next` is cuptiActivityGetNextRecord.
template <class Next, class Sink>
Walked walk_records(std::span<std::uint8_t> buffer, Next next, Sink& sink) {
  Walked walked;
  std::uint8_t* const end = buffer.data() + buffer.size();
  CUpti_Activity* record = nullptr;
  // A record ends where the next one begins.
  auto const read = [&](const std::uint8_t* begin, const std::uint8_t* until) {
    std::span const bytes(begin, static_cast<std::size_t>(until - begin));
    std::uint32_t kind = 0;
    if (bytes.size() >= sizeof kind) std::memcpy(&kind, begin, sizeof kind);
    ++walked.records;
    if (!detail::deliver<MemoryRecord>(kind, bytes, sink) && !detail::deliver<KernelRecord>(kind, bytes, sink) &&
        !detail::deliver<CallRecord>(kind, bytes, sink) && !detail::deliver<ExternalRecord>(kind, bytes, sink))
      ++walked.odd;
  };
  std::uint8_t* at = nullptr;
  for (;;) {
    CUptiResult const result = next(buffer.data(), buffer.size(), &record);
    auto* const found = reinterpret_cast<std::uint8_t*>(record);
    bool const inside = found >= buffer.data() && found < end && (at == nullptr || found > at);
    bool const more = result == CUPTI_SUCCESS && inside;
    if (at != nullptr) read(at, more ? found : end);
    if (!more) {
      walked.broken = result != CUPTI_ERROR_MAX_LIMIT_REACHED;
      return walked;
    }
    at = found;
  }
}

}  // namespace tidemark::interpose
