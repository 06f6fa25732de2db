// SPDX-License-Identifier: Apache-2.0
// What the events of a chunk come to: sums of its allocations, and the few events that are worth keeping whole. The
// order of chunks does not matter, nor whether a block's free is in the same one.
//
// Not thread-safe: the ring's lock is around it. Memory comes from the system once.
#pragma once
#include <array>
#include <cstdint>
#include <span>

#include "trace/format/summing.h"
#include "trace/write/row_table.h"

namespace tidemark::trace {

struct StepRow {
  StepSum sum;
  std::uint64_t group = 0;  // the key

  std::uint64_t hash() const {
    std::uint64_t const h = group * 0x9e3779b97f4a7c15;
    return h ^ h >> 32;
  }
  bool same(const StepRow& other) const { return group == other.group; }
};

// An event and what it leaves to its context.
template <class R>
struct Kept {
  std::uint64_t ticks = 0;
  Context context;
  R record;
};

class Fold {
 public:
  static constexpr std::size_t kMostFailures = 64;
  // For each device and source the latest word is kept.
  static constexpr std::size_t kUses = 64 * 2;
  static std::size_t place_of(const DeviceUse& r) { return (r.device * 2 + r.source % 2) % kUses; }

  // False when the system gives no memory.
  bool start();
  // Forgets what it read before.
  void read(const ChunkHeader& head, const Slot* begin, const Slot* end);

  std::span<SumRow> sums() { return sums_.rows(); }
  std::span<StepRow> steps() { return steps_.rows(); }
  std::span<const Kept<Failure>> failures() const { return {failures_.data(), failure_count_}; }
  // Those that were never set have ticks 0.
  std::span<const Kept<DeviceUse>> uses() const { return uses_; }

  // For Summing.
  void sum(const SumRow& row);
  StepSum& step(std::uint64_t number);
  void failure(const Context& context, std::uint64_t ticks, const Failure& r);
  void device_use(std::uint64_t ticks, const DeviceUse& r);

 private:
  RowTable<SumRow> sums_;
  RowTable<StepRow> steps_;
  SumRow* latest_ = nullptr;  // events in a row mostly have one key
  StepRow* latest_step_ = nullptr;
  std::array<Kept<Failure>, kMostFailures> failures_{};
  std::size_t failure_count_ = 0;
  std::array<Kept<DeviceUse>, kUses> uses_{};
};

}  // namespace tidemark::trace
