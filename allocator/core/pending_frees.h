// SPDX-License-Identifier: Apache-2.0
// Free blocks of the cudaMalloc family that some stream may still use. They are collected in batches; closing a batch
// records one event per busy stream, however many blocks are in it. Blocks come out when every stream has passed.
// Thread-safe; no lock is held while the driver is called.
#pragma once
#include <cstdint>
#include <deque>
#include <vector>

#include "allocator/core/futex_lock.h"
#include "allocator/core/record.h"
#include "allocator/core/streams.h"

namespace tidemark::allocator {

class PendingFrees {
 public:
  static constexpr std::uint32_t kBatch = 32;

  explicit PendingFrees(Streams& streams) : streams_(streams) {}

  // The block is this thread's and becomes Pending.
  void add(Record& block);
  void close_batch();
  // What the oldest closed batch still waits for; none: there is no such batch.
  std::vector<Mark> oldest() const;
  // Blocks of batches that all streams have passed; they are the caller's, Cached, with stamp 0.
  std::vector<Record*> collect();
  std::uint64_t pending_bytes() const;
  std::uint64_t blocks_waited_for() const;  // ever

 private:
  struct Batch {
    std::vector<Record*> blocks;
    std::vector<Mark> marks;
    std::uint64_t synchronizations = 0;  // at least so many, where a stream could not be marked
  };
  bool is_done(const Batch& batch) const;

  Streams& streams_;
  mutable FutexLock lock_;
  Batch open_;
  std::deque<Batch> closed_;
  std::uint64_t pending_granules_ = 0;
  std::uint64_t waited_for_ = 0;
};

}  // namespace tidemark::allocator
