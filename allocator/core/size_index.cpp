// SPDX-License-Identifier: Apache-2.0
#include "allocator/core/size_index.h"

#include <bit>

#include "base/invariant.h"

namespace tidemark::allocator {

SizeIndex::Class SizeIndex::class_of(Granules granules) {
  if (granules < kColumns) return {0, granules};
  auto const log = static_cast<std::uint32_t>(std::bit_width(granules) - 1);
  return {log - 4, granules >> (log - 5) & (kColumns - 1)};
}

// All of a stands before all of b.
std::uint32_t SizeIndex::join(std::uint32_t a, std::uint32_t b) {
  if (a == 0) return b;
  if (b == 0) return a;
  if (priority(a) > priority(b)) {
    records_->at(a).right = join(records_->at(a).right, b);
    return a;
  }
  records_->at(b).left = join(a, records_->at(b).left);
  return b;
}

void SizeIndex::split(std::uint32_t tree, const Record& at, std::uint32_t& low, std::uint32_t& high) {
  if (tree == 0) {
    low = high = 0;
    return;
  }
  Record& r = records_->at(tree);
  if (is_before(r, at)) {
    split(r.right, at, r.right, high);
    low = tree;
  } else {
    split(r.left, at, low, r.left);
    high = tree;
  }
}

std::uint32_t SizeIndex::without(std::uint32_t tree, const Record& hole) {
  TIDEMARK_INVARIANT(tree != 0);
  Record& r = records_->at(tree);
  if (&r == &hole) return join(r.left, r.right);
  if (is_before(hole, r))
    r.left = without(r.left, hole);
  else
    r.right = without(r.right, hole);
  return tree;
}

Record* SizeIndex::lowest(std::uint32_t tree) const {
  if (tree == 0) return nullptr;
  while (records_->at(tree).left != 0) tree = records_->at(tree).left;
  return &records_->at(tree);
}

void SizeIndex::insert(Record& hole) {
  auto const [row, column] = class_of(hole.granules);
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  split(roots_[row][column], hole, low, high);
  hole.left = hole.right = 0;
  roots_[row][column] = join(join(low, records_->id(hole)), high);
  columns_[row] |= 1u << column;
  rows_ |= 1u << row;
  total_ += hole.granules;
  ++count_;
}

void SizeIndex::erase(Record& hole) {
  auto const [row, column] = class_of(hole.granules);
  roots_[row][column] = without(roots_[row][column], hole);
  if (roots_[row][column] == 0) columns_[row] &= ~(1u << column);
  if (columns_[row] == 0) rows_ &= ~(1u << row);
  total_ -= hole.granules;
  --count_;
}

Record* SizeIndex::best(Granules granules) const {
  auto const [row, column] = class_of(granules);
  Record* found = nullptr;
  for (std::uint32_t tree = roots_[row][column]; tree != 0;) {
    Record& r = records_->at(tree);
    if (r.granules >= granules) found = &r;
    tree = r.granules >= granules ? r.left : r.right;
  }
  if (found != nullptr) return found;
  // The first class behind: in this row, else in the next row that has any.
  std::uint32_t const here = column + 1 < kColumns ? columns_[row] & (~0u << (column + 1)) : 0;
  if (here != 0) return lowest(roots_[row][static_cast<std::uint32_t>(std::countr_zero(here))]);
  std::uint32_t const rows = row + 1 < kRows ? rows_ & (~0u << (row + 1)) : 0;
  if (rows == 0) return nullptr;
  auto const next = static_cast<std::uint32_t>(std::countr_zero(rows));
  return lowest(roots_[next][static_cast<std::uint32_t>(std::countr_zero(columns_[next]))]);
}

Record* SizeIndex::largest() const {
  if (rows_ == 0) return nullptr;
  auto const row = static_cast<std::uint32_t>(std::bit_width(rows_) - 1);
  std::uint32_t tree = roots_[row][static_cast<std::uint32_t>(std::bit_width(columns_[row]) - 1)];
  while (records_->at(tree).right != 0) tree = records_->at(tree).right;
  return &records_->at(tree);
}

}  // namespace tidemark::allocator
