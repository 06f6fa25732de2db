// SPDX-License-Identifier: Apache-2.0
// Holes by size: two levels of bitmaps find the class (32 per power of two), and inside a class holes are ordered by
// (size, address) in a treap, so that the best fit with the lowest address is exact however many holes a class has.
// Not thread-safe: the arena locks.
#pragma once
#include <array>
#include <cstdint>

#include "allocator/core/record.h"

namespace tidemark::allocator {

class SizeIndex {
 public:
  explicit SizeIndex(RecordTable& records) : records_(&records) {}

  void insert(Record& hole);
  void erase(Record& hole);
  // The smallest hole of at least so many granules; among equals the lowest address. Null: none.
  Record* best(Granules granules) const;
  Record* largest() const;
  std::uint64_t total_granules() const { return total_; }
  std::uint32_t count() const { return count_; }

  // Calls f(Record&) for every hole of at least so many granules, smallest first. f must not change the index.
  template <class F>
  void for_each(Granules at_least, F f) const {
    Class const first = class_of(at_least);
    for (std::uint32_t row = first.row; row < kRows; ++row)
      for (std::uint32_t column = 0; column < kColumns; ++column)
        if (row > first.row || column >= first.column) walk(roots_[row][column], at_least, f);
  }

 private:
  static constexpr std::uint32_t kRows = 28;
  static constexpr std::uint32_t kColumns = 32;
  struct Class {
    std::uint32_t row;
    std::uint32_t column;
  };
  // Sizes below 64 granules have a class each; from there on a class is 1/32 of its power of two wide.
  static Class class_of(Granules granules);

  bool is_before(const Record& a, const Record& b) const {
    return a.granules != b.granules ? a.granules < b.granules : a.offset < b.offset;
  }
  static std::uint32_t priority(std::uint32_t id) { return id * 0x9e3779b1u; }
  std::uint32_t join(std::uint32_t a, std::uint32_t b);
  void split(std::uint32_t tree, const Record& at, std::uint32_t& low, std::uint32_t& high);
  std::uint32_t without(std::uint32_t tree, const Record& hole);
  Record* lowest(std::uint32_t tree) const;

  template <class F>
  void walk(std::uint32_t tree, Granules at_least, F& f) const {
    if (tree == 0) return;
    Record& r = records_->at(tree);
    walk(r.left, at_least, f);
    if (r.granules >= at_least) f(r);
    walk(r.right, at_least, f);
  }

  RecordTable* records_;
  std::uint32_t rows_ = 0;                      // bit: the row has a hole
  std::array<std::uint32_t, kRows> columns_{};  // bit: the class has a hole
  std::array<std::array<std::uint32_t, kColumns>, kRows> roots_{};
  std::uint64_t total_ = 0;
  std::uint32_t count_ = 0;
};

}  // namespace tidemark::allocator
