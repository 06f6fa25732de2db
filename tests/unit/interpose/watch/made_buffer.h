// SPDX-License-Identifier: Apache-2.0
// Buffers of records made by hand, in the structs of any version of the headers, and an iterator over them.
#pragma once
#include <cupti.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

#include "interpose/watch/cupti_records.h"

namespace tidemark::interpose {

class MadeBuffer {
 public:
  template <class Record>
  MadeBuffer& add(const Record& record) {
    sizes_[bytes_.size()] = sizeof record;
    auto const* const raw = reinterpret_cast<const std::uint8_t*>(&record);
    bytes_.insert(bytes_.end(), raw, raw + sizeof record);
    return *this;
  }
  MadeBuffer& cut(std::size_t bytes) {
    bytes_.resize(bytes_.size() - bytes);
    return *this;
  }
  std::span<std::uint8_t> bytes() { return bytes_; }

  // As cuptiActivityGetNextRecord behaves.
  auto next() const {
    return [this](std::uint8_t* buffer, std::size_t valid, CUpti_Activity** record) {
      std::size_t at = 0;
      if (*record != nullptr) {
        auto const begin = static_cast<std::size_t>(reinterpret_cast<std::uint8_t*>(*record) - buffer);
        at = begin + sizes_.at(begin);
      }
      if (at >= valid) return CUPTI_ERROR_MAX_LIMIT_REACHED;
      *record = reinterpret_cast<CUpti_Activity*>(buffer + at);
      return CUPTI_SUCCESS;
    };
  }

 private:
  std::vector<std::uint8_t> bytes_;
  std::map<std::size_t, std::size_t> sizes_;
};

template <class Record>
Record allocation_of(std::uint64_t address, std::uint64_t bytes, std::uint32_t device = 0) {
  Record r{};
  r.kind = CUPTI_ACTIVITY_KIND_MEMORY2;
  r.memoryOperationType = CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION;
  r.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  r.address = address;
  r.bytes = bytes;
  r.deviceId = device;
  r.processId = 77;
  r.timestamp = 1000;
  r.correlationId = 5;
  return r;
}

template <class Record>
Record kernel_of(std::uint32_t correlation, std::uint64_t start, std::uint64_t end) {
  Record r{};
  r.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  r.correlationId = correlation;
  r.start = start;
  r.end = end;
  r.deviceId = 3;
  r.streamId = 14;
  r.name = "kernel";
  return r;
}

inline CUpti_ActivityAPI call_of(std::uint32_t correlation, std::uint32_t id = CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel) {
  CUpti_ActivityAPI r{};
  r.kind = CUPTI_ACTIVITY_KIND_DRIVER;
  r.cbid = id;
  r.correlationId = correlation;
  return r;
}

inline CUpti_ActivityExternalCorrelation external_of(std::uint32_t correlation, std::uint64_t id,
                                                     CUpti_ExternalCorrelationKind kind) {
  CUpti_ActivityExternalCorrelation r{};
  r.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
  r.externalKind = kind;
  r.externalId = id;
  r.correlationId = correlation;
  return r;
}

}  // namespace tidemark::interpose
