// SPDX-License-Identifier: Apache-2.0
#include "allocator/core/pending_frees.h"

#include <algorithm>
#include <mutex>

namespace tidemark::allocator {

void PendingFrees::add(Record& block) {
  block.state.store(State::Pending, std::memory_order_relaxed);
  bool full = false;
  {
    std::lock_guard const guard(lock_);
    open_.blocks.push_back(&block);
    pending_granules_ += block.granules;
    full = open_.blocks.size() >= kBatch;
  }
  if (full) close_batch();
}

void PendingFrees::close_batch() {
  Batch batch;
  {
    std::lock_guard const guard(lock_);
    if (open_.blocks.empty()) return;
    std::swap(batch, open_);
  }
  // All frees in the batch happened before this: events recorded now stand behind every use.
  if (!streams_.mark_busy(batch.marks)) batch.synchronizations = streams_.synchronizations() + 1;
  std::lock_guard const guard(lock_);
  if (!batch.marks.empty()) waited_for_ += batch.blocks.size();
  closed_.push_back(std::move(batch));
}

bool PendingFrees::is_done(const Batch& batch) const {
  return streams_.synchronizations() >= batch.synchronizations &&
         std::all_of(batch.marks.begin(), batch.marks.end(), [&](const Mark& mark) { return streams_.passed(mark); });
}

std::vector<Record*> PendingFrees::collect() {
  std::vector<Record*> ready;
  std::lock_guard const guard(lock_);
  // Batches need not end in order: a stream that hangs holds up only what it was busy for.
  for (auto batch = closed_.begin(); batch != closed_.end();) {
    if (!is_done(*batch)) {
      ++batch;
      continue;
    }
    ready.insert(ready.end(), batch->blocks.begin(), batch->blocks.end());
    batch = closed_.erase(batch);
  }
  for (Record* const block : ready) {
    pending_granules_ -= block->granules;
    block->stamp = 0;
    block->state.store(State::Cached, std::memory_order_relaxed);
  }
  return ready;
}

std::vector<Mark> PendingFrees::oldest() const {
  std::lock_guard const guard(lock_);
  std::vector<Mark> marks;
  for (const Batch& batch : closed_) {
    for (const Mark& mark : batch.marks)
      if (!streams_.passed(mark)) marks.push_back(mark);
    if (!marks.empty()) break;
  }
  return marks;
}

std::uint64_t PendingFrees::pending_bytes() const {
  std::lock_guard const guard(lock_);
  return pending_granules_ * kGranuleBytes;
}

std::uint64_t PendingFrees::blocks_waited_for() const {
  std::lock_guard const guard(lock_);
  return waited_for_;
}

}  // namespace tidemark::allocator
