// SPDX-License-Identifier: Apache-2.0
// From a pointer to its record, without a lock, for any pointer at all: ours, inside of ours, or nobody's.
//
// One cell per granule of the small zone, one per MiB of the large zone: two blocks of 1 MiB or more cannot begin in
// the same aligned MiB. A cell is a record's number and, while no block begins there, the count of owners that it had.
// Where the driver cannot map, blocks lie anywhere, and a sharded hash stands in for the subtraction of the base.
// publish and withdraw: under the arena's lock. find: anybody.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>

#include "allocator/core/record.h"
#include "base/address_map.h"
#include "base/reserved.h"
#include "base/spin_lock.h"

namespace tidemark::allocator {

class PointerTable {
 public:
  struct Extent {
    std::uint64_t base;  // 0: blocks lie anywhere
    Granules small_end;  // the small zone is [0, small_end), the large one [small_end, end)
    Granules end;
  };
  PointerTable() = default;
  PointerTable(const PointerTable&) = delete;
  PointerTable& operator=(const PointerTable&) = delete;
  ~PointerTable();
  bool start(RecordTable& records, Extent extent);

  bool publish(Record& block);  // its address is set; false: the system has no memory for the hash
  void withdraw(Record& block);
  // For records that take turns at one offset of mapped memory, under a lock of their own. turn_to: this one is found
  // from now on. turn_from: it is not found any more, whoever was.
  void turn_to(Record& block) {
    Cell& cell = const_cast<Cell&>(cell_of(block.offset));
    std::uint32_t const now = cell.load(std::memory_order_relaxed);
    std::uint32_t const id = records_->id(block);
    if (now == id) return;
    bool const found = now != 0 && now <= kIdMask;
    block.generation = found ? records_->at(now).generation : static_cast<std::uint8_t>(now >> kGenerationShift);
    cell.store(id, std::memory_order_release);
  }
  void turn_from(Record& block) {
    Cell& cell = const_cast<Cell&>(cell_of(block.offset));
    if (cell.load(std::memory_order_relaxed) == records_->id(block))
      cell.store(std::uint32_t{block.generation} << kGenerationShift, std::memory_order_relaxed);
    block.address.store(0, std::memory_order_relaxed);
  }
  // A block of the driver's own: it lies anywhere in every mode.
  bool publish_elsewhere(const Record& block);
  void withdraw_elsewhere(const Record& block);

  // The record whose block begins at this address; null: there is none. What the block's state is, is for the caller.
  Record* find(std::uint64_t address) const {
    std::uint64_t const at = address - base_;
    if (at >= span_bytes_) [[unlikely]]
      return find_elsewhere(address);
    Record& r =
        records_->at(cell_of(static_cast<Granules>(at / kGranuleBytes)).load(std::memory_order_acquire) & kIdMask);
    return r.address.load(std::memory_order_relaxed) == address ? &r : nullptr;
  }
  // The last block that begins at or before an offset, and not before `begin`. Under the arena's lock.
  Record* last_before(Granules offset, Granules begin) const;
  // Whether an address lies in the reservation, whoever has it.
  bool contains(std::uint64_t address) const { return address - base_ < span_bytes_; }

 private:
  static constexpr std::uint32_t kIdMask = RecordTable::kCapacity - 1;
  static constexpr std::uint32_t kGenerationShift = 24;
  static constexpr Granules kCellGranules = kSmallGranules;
  using Cell = std::atomic<std::uint32_t>;

  const Cell& cell_of(Granules offset) const {
    return offset < small_end_ ? small_[offset] : large_[(offset - small_end_) / kCellGranules];
  }
  Record* find_elsewhere(std::uint64_t address) const;

  struct Shard {
    SpinLock lock;
    AddressMap<std::uint32_t> ids;
  };
  static std::size_t shard_of(std::uint64_t address) { return (address >> 9) * 0x9e3779b97f4a7c15 >> 60; }

  RecordTable* records_ = nullptr;
  std::uint64_t base_ = 0;
  std::uint64_t span_bytes_ = 0;
  Granules small_end_ = 0;
  ReservedArray<Cell> small_;
  ReservedArray<Cell> large_;
  mutable std::array<Shard, 16> shards_;
};

}  // namespace tidemark::allocator
