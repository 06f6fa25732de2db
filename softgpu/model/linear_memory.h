// SPDX-License-Identifier: Apache-2.0
// The device's plain memory (cudaMalloc): where a block lies and what the device is charged for it.
//
// A device hands out physical memory in granules of 2 MiB. Blocks up to 1 MiB share granules, in steps of 512 bytes;
// larger ones own theirs. A granule is charged while anything lives in it: free memory moves in whole granules, as on
// a card. Address space is plentiful and costs nothing until touched, so only the ledger decides what fits.
// Not thread-safe: the device locks.
#pragma once
#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/reserved.h"
#include "base/result.h"
#include "softgpu/model/ledger.h"
#include "softgpu/model/unit_heap.h"

namespace tidemark::softgpu {

inline constexpr std::uint64_t kGranule = std::uint64_t{2} << 20;
inline constexpr std::uint64_t kUnit = 512;
inline constexpr std::uint64_t kSmallLimit = std::uint64_t{1} << 20;

class LinearMemory {
 public:
  static Result<std::unique_ptr<LinearMemory>> create(std::uint64_t capacity, Ledger& ledger);

  // Nothing when the device does not have it.
  std::optional<std::uintptr_t> allocate(std::uint64_t bytes);
  void free(std::uintptr_t address);
  struct Range {
    std::uintptr_t address;
    std::uint64_t bytes;  // rounded
  };
  // The block that holds this address.
  std::optional<Range> find(std::uintptr_t address) const;
  bool contains(std::uintptr_t address) const {
    return small_memory_.contains(address) || large_memory_.contains(address);
  }
  struct Span {
    std::uintptr_t begin, end;
  };
  // The address space that is this device's.
  std::array<Span, 2> windows() const {
    return {Span{small_memory_.begin(), small_memory_.end()}, Span{large_memory_.begin(), large_memory_.end()}};
  }
  // Something to hang on a block's start; nullptr where none was set.
  void*& tag(std::uintptr_t block);
  // Memory behind freed blocks goes back to the host once enough of it may have been touched.
  void note_touched() { touched_ = true; }

 private:
  LinearMemory() = default;
  std::optional<std::uintptr_t> allocate_small(std::uint64_t bytes);
  std::optional<std::uintptr_t> allocate_large(std::uint64_t bytes);
  bool grow_small();
  bool is_spare(std::uintptr_t slab) const;
  void discard_later(std::uintptr_t address, std::uint64_t bytes);

  Ledger* ledger_ = nullptr;
  Reserved small_memory_, large_memory_;
  UnitHeap small_, large_;
  ReservedArray<void*> small_tags_, large_tags_;
  std::vector<UnitHeap::Unit> spare_slabs_;  // given back; used again before new address space
  UnitHeap::Unit next_slab_ = 0;
  bool touched_ = false;
  std::uint64_t freed_since_discard_ = 0;
  std::vector<Range> freed_;
};

}  // namespace tidemark::softgpu
