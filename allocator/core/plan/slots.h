// SPDX-License-Identifier: Apache-2.0
// What is occupied in the arena of a plan. Whatever a plan says and whatever its user does, no two blocks that are
// taken share a byte: a wrong plan wastes memory, it never corrupts it.
//
// The places that plans may hand out are known beforehand, so the arena is cut at their borders into cells; a block is
// a run of cells and taking one tests and sets bits. One thread at a time. Invariant: the set bits are exactly the
// cells of the blocks taken and not released.
#pragma once
#include <cstdint>
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

  // False: it would overlap a block that is taken, is empty, or does not begin and end where places do.
  bool take(const Extent& place);
  // False: no block begins there.
  bool release(std::uint64_t offset);

  std::uint64_t taken_bytes() const { return taken_bytes_; }
  std::uint64_t taken_blocks() const { return taken_blocks_; }
  std::vector<Extent> taken() const;

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  void index_borders();
  std::uint32_t cell_at(std::uint64_t offset) const;
  bool test(std::uint32_t first, std::uint32_t last) const;
  void set(std::uint32_t first, std::uint32_t last, bool value);

  std::vector<std::uint64_t> borders_;  // cell i is [borders_[i], borders_[i + 1])
  std::vector<std::uint32_t> near_;     // by offset >> shift_: the first border there or later
  unsigned shift_ = 0;
  std::vector<std::uint64_t> bits_;
  std::vector<std::uint32_t> ends_;  // by first cell of a taken block: the cell after its last; else 0
  std::uint64_t taken_bytes_ = 0, taken_blocks_ = 0;
};

}  // namespace tidemark::plan
