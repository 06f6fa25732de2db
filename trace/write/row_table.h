// SPDX-License-Identifier: Apache-2.0
// Rows that are found by a key and kept side by side, in memory of the system's own. Not thread-safe.
//
// `Row` says what its key is: row.hash() and row.same(other). The number of rows is fixed when the table is made.
#pragma once
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>

#include "base/reserved.h"

namespace tidemark::trace {

template <class Row>
class RowTable {
  static_assert(std::is_trivially_copyable_v<Row>);

 public:
  RowTable() = default;
  // Empty (false) when the system gives no memory.
  explicit RowTable(std::size_t rows) {
    entries_ = 16;
    while (entries_ < 2 * rows) entries_ *= 2;
    rows_ = Reserved::map((rows + 1) * sizeof(Row));
    index_ = Reserved::map(entries_ * sizeof(std::uint32_t));
    if (rows_ && index_) most_ = rows;
  }
  explicit operator bool() const { return index_.data() != nullptr && rows_.data() != nullptr; }

  std::span<Row> rows() { return {row(0), count_}; }
  std::size_t size() const { return count_; }

  // The row with this one's key: it itself, put in, where there was none (then `second` is true). A row beyond what
  // the table was made for is not kept.
  std::pair<Row*, bool> find_or_add(const Row& wanted) {
    auto* const index = reinterpret_cast<std::uint32_t*>(index_.data());
    std::size_t at = wanted.hash() & (entries_ - 1);
    for (; index[at] != 0; at = (at + 1) & (entries_ - 1))
      if (row(index[at] - 1)->same(wanted)) return {row(index[at] - 1), false};
    Row* const added = row(count_);
    *added = wanted;
    if (count_ < most_) index[at] = static_cast<std::uint32_t>(++count_);
    return {added, true};
  }

  void clear() {
    if (count_ != 0) std::memset(index_.data(), 0, entries_ * sizeof(std::uint32_t));
    count_ = 0;
  }

 private:
  Row* row(std::size_t i) { return reinterpret_cast<Row*>(rows_.data()) + i; }

  Reserved rows_, index_;
  std::size_t entries_ = 0, most_ = 0, count_ = 0;
};

}  // namespace tidemark::trace
