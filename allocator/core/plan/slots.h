// SPDX-License-Identifier: Apache-2.0
// What is occupied in the arena of a plan. Whatever a plan says and whatever its user does, no two blocks that are
// taken share a byte: a wrong plan wastes memory, it never corrupts it.
//
// The places that plans may hand out are known beforehand, so the arena is cut at their borders into cells; a block is
// a run of cells and taking one tests and sets bits. One thread at a time. Invariant: the set bits are exactly the
// cells of the blocks taken and not released.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace tidemark::plan {

struct Extent {
  std::uint64_t offset = 0;
  std::uint64_t size_bytes = 0;
  std::uint64_t end() const { return offset + size_bytes; }
  bool operator==(const Extent&) const = default;
};

class PlanSlots {
 public:
  // Exactly these places may be taken from now on. Blocks that are taken stay, wherever they are.
  void allow(std::span<const Extent> places);

  // A place as a run of cells, for who takes it often. Good until the next allow().
  struct Cells {
    std::uint32_t first = 0;
    std::uint32_t last = 0;  // half-open
  };
  std::optional<Cells> cells_of(const Extent& place) const;

  // False: it would overlap a block that is taken, is empty, or does not begin and end where places do.
  bool take(const Extent& place);
  bool take_cells(Cells cells) {
    if (test(cells.first, cells.last)) return false;
    set(cells.first, cells.last, true);
    ends_[cells.first] = cells.last;
    taken_bytes_ += borders_[cells.last] - borders_[cells.first];
    ++taken_blocks_;
    return true;
  }
  // False: no block begins there.
  bool release(std::uint64_t offset);
  // A run of cells that was taken as such.
  void release_cells(Cells cells) {
    set(cells.first, cells.last, false);
    ends_[cells.first] = 0;
    taken_bytes_ -= borders_[cells.last] - borders_[cells.first];
    --taken_blocks_;
  }

  std::uint64_t taken_bytes() const { return taken_bytes_; }
  std::uint64_t taken_blocks() const { return taken_blocks_; }
  std::vector<Extent> taken() const;
  std::uint64_t taken_end() const {  // of the highest block
    auto const blocks = taken();
    return blocks.empty() ? 0 : blocks.back().end();
  }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  void index_borders();
  std::uint32_t cell_at(std::uint64_t offset) const;
  // Bits of one word that belong to cells [first, last).
  static std::uint64_t mask(std::uint32_t word, std::uint32_t first, std::uint32_t last) {
    std::uint64_t m = ~std::uint64_t{0};
    if (word == first / 64) m &= ~std::uint64_t{0} << first % 64;
    if (word == (last - 1) / 64) m &= ~std::uint64_t{0} >> (63 - (last - 1) % 64);
    return m;
  }
  bool test(std::uint32_t first, std::uint32_t last) const {
    for (std::uint32_t w = first / 64; w <= (last - 1) / 64; ++w)
      if ((bits_[w] & mask(w, first, last)) != 0) return true;
    return false;
  }
  void set(std::uint32_t first, std::uint32_t last, bool value) {
    for (std::uint32_t w = first / 64; w <= (last - 1) / 64; ++w)
      bits_[w] = value ? bits_[w] | mask(w, first, last) : bits_[w] & ~mask(w, first, last);
  }

  std::vector<std::uint64_t> borders_;  // cell i is [borders_[i], borders_[i + 1])
  std::vector<std::uint32_t> near_;     // by offset >> shift_: the first border there or later
  unsigned shift_ = 0;
  std::vector<std::uint64_t> bits_;
  std::vector<std::uint32_t> ends_;  // by first cell of a taken block: the cell after its last; else 0
  std::uint64_t taken_bytes_ = 0, taken_blocks_ = 0;
};

}  // namespace tidemark::plan
