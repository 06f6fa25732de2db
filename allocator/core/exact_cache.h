// SPDX-License-Identifier: Apache-2.0
// A domain's free blocks by exact size, last in first out. Thread-safe: one lock per cache.
// Every block in it is Cached and belongs to the cache; its links chain the blocks of a size.
#pragma once
#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

#include "allocator/core/futex_lock.h"
#include "allocator/core/record.h"
#include "base/address_map.h"

namespace tidemark::allocator {

class ExactCache {
 public:
  explicit ExactCache(RecordTable& records) : records_(records) {}
  ExactCache(const ExactCache&) = delete;
  ExactCache& operator=(const ExactCache&) = delete;
  ~ExactCache() { lists_.release(); }

  FutexLock& lock() { return lock_; }
  // Under lock(): the mode that makes a block free may have to be read in the same section.
  bool push(Record& block);  // false: the system has no memory for the table
  // Up to `blocks.size()` blocks of a size, the last ones freed; how many there were.
  std::size_t pop(Granules granules, std::span<Record*> blocks);
  // Everything, and the cache is empty.
  std::vector<Record*> take_all();
  std::uint64_t bytes() const;

 private:
  struct List {
    std::uint32_t head = 0;
    bool listed = false;  // in sizes_
  };
  RecordTable& records_;
  mutable FutexLock lock_;
  AddressMap<List> lists_;
  std::vector<Granules> sizes_;  // that had a block since everything was taken
  std::uint64_t granules_ = 0;
};

}  // namespace tidemark::allocator
