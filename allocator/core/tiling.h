// SPDX-License-Identifier: Apache-2.0
// Address space [begin, end) as a list of records without gap or overlap. Not thread-safe: the arena locks.
// Invariants: each record's end is the next one's offset; no record is empty.
#pragma once
#include <cstdint>
#include <map>

#include "allocator/core/record.h"

namespace tidemark::allocator {

class Tiling {
 public:
  explicit Tiling(RecordTable& records) : records_(&records) {}

  // One Unmapped record over everything; null when there is no record.
  Record* start(Granules begin, Granules end);
  Granules begin() const { return begin_; }
  Granules end() const { return end_; }
  Record* first() const { return &records_->at(first_); }
  Record* before(const Record& r) const { return r.before == 0 ? nullptr : &records_->at(r.before); }
  Record* after(const Record& r) const { return r.after == 0 ? nullptr : &records_->at(r.after); }

  // r keeps its first `granules`; the rest becomes a record of the same state, domain, stamp and age, which is
  // returned.
  Record* split(Record& r, Granules granules);
  // r grows over the record behind it, which goes.
  void absorb_after(Record& r);

  // `block`, which was in no tiling, stands where r stood, and r goes. Both have the same extent.
  void replace(Record& r, Record& block);

  // Keeps a map by offset from now on, for at(): before the first split.
  void map_offsets();
  Record* at(Granules offset) const;  // the record that holds the offset

  bool covers_everything() const;  // the invariants, for check()

 private:
  RecordTable* records_;
  Granules begin_ = 0;
  Granules end_ = 0;
  std::uint32_t first_ = 0;
  bool mapped_ = false;
  std::map<Granules, std::uint32_t> by_offset_;
};

}  // namespace tidemark::allocator
