// SPDX-License-Identifier: Apache-2.0
// A heap of equal units whose book-keeping lies outside the memory it manages: device memory is never touched.
//
// Two-level segregated free lists: allocate, free and the look-up of an interior unit are O(1) (a bounded number of
// words), with one live block or with a million. Units are numbered from 0; only regions that were added can be handed
// out; there are at most 2^30. Runs never merge across a multiple of `border` (0 = no border), so that a region can be
// taken back whole. Invariants: each unit of an added region is in exactly one run; two free neighbours inside a border
// are one run. Not thread-safe: the owner locks.
#pragma once
#include <array>
#include <cstdint>
#include <optional>

#include "base/reserved.h"

namespace tidemark::softgpu {

class UnitHeap {
 public:
  using Unit = std::uint32_t;
  struct Run {
    Unit first = 0;
    Unit count = 0;
  };

  UnitHeap() = default;
  UnitHeap(Unit capacity, Unit border);
  explicit operator bool() const { return static_cast<bool>(nodes_); }

  // [first, first + count) becomes free memory; it was in no region before.
  void add_region(Run region);
  // A region that is wholly free, as one run, leaves the heap.
  void remove_region(Run region);

  std::optional<Unit> allocate(Unit count);
  // The run that starts at `first` becomes free; the answer is the free run it is now part of.
  Run free(Unit first);
  // Cuts a used run in two used runs: [first, first + count) and the rest.
  void split(Unit first, Unit count);
  // The used run that holds `unit`.
  std::optional<Run> find(Unit unit) const;
  Unit capacity() const { return capacity_; }

 private:
  static constexpr int kSecondLog = 4;
  static constexpr int kSecond = 1 << kSecondLog;
  static constexpr int kFirst = 32 - kSecondLog;
  static constexpr Unit kNone = ~Unit{0};

  struct Node {
    Unit size_and_free;  // at a run's first unit: (count << 1) | free; 0 elsewhere
    Unit footer;         // at a free run's last unit: its first unit + 1; 0 elsewhere
    Unit next, prev;     // free list, at a free run's first unit
  };
  struct Bin {
    int first, second;
  };

  static Bin bin_of(Unit count);
  std::optional<Bin> bin_for(Unit count) const;
  void insert(Run run);
  void remove(Unit first);
  void mark(Unit first);
  void unmark(Unit first);
  bool at_border(Unit unit) const { return border_ != 0 && unit % border_ == 0; }
  bool is_free(Unit first) const { return (nodes_[first].size_and_free & 1) != 0; }
  Unit size(Unit first) const { return nodes_[first].size_and_free >> 1; }
  bool check_bins() const;

  Unit capacity_ = 0;
  Unit border_ = 0;
  ReservedArray<Node> nodes_;
  ReservedArray<std::uint64_t> starts_;   // a bit for the first unit of each run
  ReservedArray<std::uint64_t> summary_;  // a bit for each word of starts_ that is not 0
  std::uint32_t first_bitmap_ = 0;
  std::array<std::uint32_t, kFirst> second_bitmap_{};
  std::array<std::array<Unit, kSecond>, kFirst> heads_{};
};

}  // namespace tidemark::softgpu
