// SPDX-License-Identifier: Apache-2.0
#include "allocator/core/pointer_table.h"

#include <mutex>

namespace tidemark::allocator {

PointerTable::~PointerTable() {
  for (Shard& shard : shards_) shard.ids.release();
}

bool PointerTable::start(RecordTable& records, Extent extent) {
  records_ = &records;
  base_ = extent.base;
  span_bytes_ = extent.base == 0 ? 0 : to_bytes(extent.end);
  small_end_ = extent.small_end;
  small_ = ReservedArray<Cell>(extent.small_end);
  large_ = ReservedArray<Cell>((extent.end - extent.small_end) / kCellGranules + 1);
  return small_ && large_;
}

bool PointerTable::publish(Record& block) {
  Cell& cell = const_cast<Cell&>(cell_of(block.offset));
  block.generation = static_cast<std::uint8_t>(cell.load(std::memory_order_relaxed) >> kGenerationShift);
  cell.store(records_->id(block), std::memory_order_release);
  return span_bytes_ != 0 || publish_elsewhere(block);
}

void PointerTable::withdraw(Record& block) {
  Cell& cell = const_cast<Cell&>(cell_of(block.offset));
  cell.store(std::uint32_t{block.generation} << kGenerationShift, std::memory_order_relaxed);
  if (span_bytes_ == 0) withdraw_elsewhere(block);
  block.address.store(0, std::memory_order_relaxed);
}

// Goes back cell by cell: 2048 of them at most among small blocks, one for each MiB among large ones.
Record* PointerTable::last_before(Granules offset, Granules begin) const {
  Granules const step = offset < small_end_ ? 1 : kCellGranules;
  Granules const farthest = offset < small_end_ && offset - begin > kSmallGranules ? offset - kSmallGranules : begin;
  for (Granules at = offset;; at -= step) {
    std::uint32_t const id = cell_of(at).load(std::memory_order_relaxed) & kIdMask;
    if (id != 0 && records_->at(id).offset <= offset) return &records_->at(id);
    if (at < farthest + step) return nullptr;
  }
}

bool PointerTable::publish_elsewhere(const Record& block) {
  std::uint64_t const address = block.address.load(std::memory_order_relaxed);
  Shard& shard = shards_[shard_of(address)];
  std::lock_guard const guard(shard.lock);
  std::uint32_t* const id = shard.ids.insert(address);
  if (id != nullptr) *id = records_->id(block);
  return id != nullptr;
}

void PointerTable::withdraw_elsewhere(const Record& block) {
  std::uint64_t const address = block.address.load(std::memory_order_relaxed);
  Shard& shard = shards_[shard_of(address)];
  std::lock_guard const guard(shard.lock);
  shard.ids.erase(address);
}

Record* PointerTable::find_elsewhere(std::uint64_t address) const {
  if (address == 0) return nullptr;
  Shard& shard = shards_[shard_of(address)];
  std::lock_guard const guard(shard.lock);
  const std::uint32_t* const id = shard.ids.find(address);
  return id == nullptr ? nullptr : &records_->at(*id);
}

}  // namespace tidemark::allocator
