// SPDX-License-Identifier: Apache-2.0
#include "softgpu/model/unit_heap.h"

#include <bit>

#include "base/invariant.h"

namespace tidemark::softgpu {

UnitHeap::UnitHeap(Unit capacity, Unit border)
    : capacity_(capacity),
      border_(border),
      nodes_(std::size_t{capacity} + 1),
      starts_(capacity / 64 + 1),
      summary_(capacity / 4096 + 1) {
  for (auto& row : heads_) row.fill(kNone);
}

UnitHeap::Bin UnitHeap::bin_of(Unit count) {
  if (count < kSecond) return {0, static_cast<int>(count)};
  int const log = std::bit_width(count) - 1;
  return {log - kSecondLog + 1, static_cast<int>((count >> (log - kSecondLog)) & (kSecond - 1))};
}

// The smallest bin in which every run is large enough.
std::optional<UnitHeap::Bin> UnitHeap::bin_for(Unit count) const {
  if (count >= kSecond) {
    Unit const step = Unit{1} << (std::bit_width(count) - 1 - kSecondLog);
    if (count > kNone - step) return std::nullopt;
    count += step - 1;
  }
  Bin bin = bin_of(count);
  std::uint32_t const seconds = second_bitmap_[bin.first] & (~std::uint32_t{0} << bin.second);
  if (seconds != 0) return Bin{bin.first, std::countr_zero(seconds)};
  if (bin.first + 1 >= kFirst) return std::nullopt;
  std::uint32_t const firsts = first_bitmap_ & (~std::uint32_t{0} << (bin.first + 1));
  if (firsts == 0) return std::nullopt;
  int const first = std::countr_zero(firsts);
  return Bin{first, std::countr_zero(second_bitmap_[first])};
}

void UnitHeap::mark(Unit first) {
  starts_[first / 64] |= std::uint64_t{1} << (first % 64);
  summary_[first / 4096] |= std::uint64_t{1} << (first / 64 % 64);
}

void UnitHeap::unmark(Unit first) {
  std::uint64_t& word = starts_[first / 64];
  word &= ~(std::uint64_t{1} << (first % 64));
  if (word == 0) summary_[first / 4096] &= ~(std::uint64_t{1} << (first / 64 % 64));
}

void UnitHeap::insert(Run run) {
  Bin const bin = bin_of(run.count);
  Unit& head = heads_[bin.first][bin.second];
  nodes_[run.first].size_and_free = run.count << 1 | 1;
  nodes_[run.first].next = head;
  nodes_[run.first].prev = kNone;
  nodes_[run.first + run.count - 1].footer = run.first + 1;
  if (head != kNone) nodes_[head].prev = run.first;
  head = run.first;
  second_bitmap_[bin.first] |= 1u << bin.second;
  first_bitmap_ |= 1u << bin.first;
  mark(run.first);
}

void UnitHeap::remove(Unit first) {
  Node& node = nodes_[first];
  Unit const count = size(first);
  Bin const bin = bin_of(count);
  if (node.next != kNone) nodes_[node.next].prev = node.prev;
  if (node.prev != kNone) {
    nodes_[node.prev].next = node.next;
  } else {
    heads_[bin.first][bin.second] = node.next;
    if (node.next == kNone) {
      second_bitmap_[bin.first] &= ~(1u << bin.second);
      if (second_bitmap_[bin.first] == 0) first_bitmap_ &= ~(1u << bin.first);
    }
  }
  nodes_[first + count - 1].footer = 0;
  node.size_and_free = 0;
  unmark(first);
}

void UnitHeap::add_region(Run region) {
  TIDEMARK_INVARIANT(region.count > 0 && region.first + region.count <= capacity_);
  // A footer of 0 before the region and a size of 0 behind it keep neighbours apart until they are added.
  nodes_[region.first].size_and_free = region.count << 1;
  mark(region.first);
  free(region.first);
}

void UnitHeap::remove_region(Run region) {
  TIDEMARK_INVARIANT(is_free(region.first) && size(region.first) == region.count);
  remove(region.first);
}

std::optional<UnitHeap::Unit> UnitHeap::allocate(Unit count) {
  auto const bin = bin_for(count);
  if (!bin) return std::nullopt;
  Unit const first = heads_[bin->first][bin->second];
  Unit const have = size(first);
  remove(first);
  if (have > count) insert({first + count, have - count});
  nodes_[first].size_and_free = count << 1;
  mark(first);
  TIDEMARK_INVARIANT(have >= count && check_bins());
  return first;
}

UnitHeap::Run UnitHeap::free(Unit first) {
  Run run{first, size(first)};
  TIDEMARK_INVARIANT(run.count > 0 && !is_free(first));
  nodes_[first].size_and_free = 0;
  unmark(first);
  Unit const after = first + run.count;
  if (after < capacity_ && !at_border(after) && is_free(after)) {
    run.count += size(after);
    remove(after);
  }
  if (first > 0 && !at_border(first) && nodes_[first - 1].footer != 0) {
    Unit const before = nodes_[first - 1].footer - 1;
    run.count += size(before);
    run.first = before;
    remove(before);
  }
  insert(run);
  return run;
}

void UnitHeap::split(Unit first, Unit count) {
  Unit const have = size(first);
  TIDEMARK_INVARIANT(count > 0 && count < have && !is_free(first));
  nodes_[first].size_and_free = count << 1;
  nodes_[first + count].size_and_free = (have - count) << 1;
  mark(first + count);
}

std::optional<UnitHeap::Run> UnitHeap::find(Unit unit) const {
  if (unit >= capacity_) return std::nullopt;
  std::size_t word = unit / 64;
  std::uint64_t bits = starts_[word] & (~std::uint64_t{0} >> (63 - unit % 64));
  if (bits == 0) {
    std::size_t block = word / 64;
    // Words before this one, in its own summary word first.
    std::uint64_t words = word % 64 == 0 ? 0 : summary_[block] & (~std::uint64_t{0} >> (64 - word % 64));
    while (words == 0) {
      if (block == 0) return std::nullopt;
      words = summary_[--block];
    }
    word = block * 64 + static_cast<std::size_t>(63 - std::countl_zero(words));
    bits = starts_[word];
  }
  Unit const first = static_cast<Unit>(word * 64) + static_cast<Unit>(63 - std::countl_zero(bits));
  Run const run{first, size(first)};
  if (is_free(first) || unit - first >= run.count) return std::nullopt;
  return run;
}

bool UnitHeap::check_bins() const {
  for (int first = 0; first < kFirst; ++first) {
    if (((first_bitmap_ >> first) & 1) != (second_bitmap_[first] != 0)) return false;
    for (int second = 0; second < kSecond; ++second)
      if (((second_bitmap_[first] >> second) & 1) != (heads_[first][second] != kNone)) return false;
  }
  return true;
}

}  // namespace tidemark::softgpu
