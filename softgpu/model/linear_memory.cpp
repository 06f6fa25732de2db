// SPDX-License-Identifier: Apache-2.0
#include "softgpu/model/linear_memory.h"

#include <algorithm>

#include "base/bytes.h"

namespace tidemark::softgpu {
namespace {

constexpr UnitHeap::Unit kUnitsPerSlab = static_cast<UnitHeap::Unit>(kGranule / kUnit);
constexpr std::uint64_t kDiscardAfter = std::uint64_t{256} << 20;
// Room for fragmentation of the address space, which a card's memory management does not have.
constexpr std::uint64_t kAddressFactor = 4;

// Aligned to a granule inside a mapping that is one granule larger.
Reserved map_aligned(std::uint64_t bytes) {
  return Reserved::map(bytes + kGranule);
}

std::uintptr_t aligned_begin(const Reserved& memory) {
  return round_up(memory.begin(), kGranule);
}

}  // namespace

Result<std::unique_ptr<LinearMemory>> LinearMemory::create(std::uint64_t capacity, Ledger& ledger) {
  std::unique_ptr<LinearMemory> m(new LinearMemory);
  std::uint64_t const slabs = (capacity + kGranule - 1) / kGranule;
  m->ledger_ = &ledger;
  m->small_memory_ = map_aligned(slabs * kGranule);
  m->large_memory_ = map_aligned(slabs * kGranule * kAddressFactor);
  auto const small_units = static_cast<UnitHeap::Unit>(slabs * kUnitsPerSlab);
  auto const large_units = static_cast<UnitHeap::Unit>(slabs * kAddressFactor);
  m->small_ = UnitHeap(small_units, kUnitsPerSlab);
  m->large_ = UnitHeap(large_units, 0);
  m->small_tags_ = ReservedArray<void*>(small_units);
  m->large_tags_ = ReservedArray<void*>(large_units);
  if (!m->small_memory_ || !m->large_memory_ || !m->small_ || !m->large_ || !m->small_tags_ || !m->large_tags_)
    return Error{Errc::OutOfMemory, "no address space for a device of " + format_bytes({capacity}),
                 "raise 'ulimit -v', set vm.overcommit_memory to 0 or 1, or lower SOFTGPU_MEMORY"};
  m->large_.add_region({0, large_units});
  return m;
}

std::optional<std::uintptr_t> LinearMemory::allocate(std::uint64_t bytes) {
  return bytes <= kSmallLimit ? allocate_small(bytes) : allocate_large(bytes);
}

std::optional<std::uintptr_t> LinearMemory::allocate_small(std::uint64_t bytes) {
  auto const units = static_cast<UnitHeap::Unit>(std::max<std::uint64_t>(1, (bytes + kUnit - 1) / kUnit));
  auto first = small_.allocate(units);
  if (!first && grow_small()) first = small_.allocate(units);
  if (!first) return std::nullopt;
  return aligned_begin(small_memory_) + *first * kUnit;
}

std::optional<std::uintptr_t> LinearMemory::allocate_large(std::uint64_t bytes) {
  if (bytes > large_memory_.bytes()) return std::nullopt;
  std::uint64_t const charged = round_up(bytes, kGranule);
  if (!ledger_->charge(charged)) return std::nullopt;
  auto const first = large_.allocate(static_cast<UnitHeap::Unit>(charged / kGranule));
  if (!first) {
    ledger_->release(charged);
    return std::nullopt;
  }
  return aligned_begin(large_memory_) + *first * kGranule;
}

bool LinearMemory::grow_small() {
  if (spare_slabs_.empty() && (next_slab_ + std::uint64_t{1}) * kUnitsPerSlab > small_.capacity()) return false;
  if (!ledger_->charge(kGranule)) return false;
  UnitHeap::Unit slab = next_slab_;
  if (spare_slabs_.empty()) {
    ++next_slab_;
  } else {
    slab = spare_slabs_.back();
    spare_slabs_.pop_back();
  }
  small_.add_region({slab * kUnitsPerSlab, kUnitsPerSlab});
  return true;
}

void LinearMemory::free(std::uintptr_t address) {
  tag(address) = nullptr;
  if (small_memory_.contains(address)) {
    auto const unit = static_cast<UnitHeap::Unit>((address - aligned_begin(small_memory_)) / kUnit);
    UnitHeap::Run const run = small_.free(unit);
    if (run.count != kUnitsPerSlab) return;
    small_.remove_region(run);
    spare_slabs_.push_back(run.first / kUnitsPerSlab);
    ledger_->release(kGranule);
    discard_later(aligned_begin(small_memory_) + run.first * kUnit, kGranule);
    return;
  }
  auto const unit = static_cast<UnitHeap::Unit>((address - aligned_begin(large_memory_)) / kGranule);
  std::uint64_t const bytes = std::uint64_t{large_.find(unit)->count} * kGranule;
  large_.free(unit);
  ledger_->release(bytes);
  discard_later(address, bytes);
}

std::optional<LinearMemory::Range> LinearMemory::find(std::uintptr_t address) const {
  bool const small = small_memory_.contains(address);
  if (!small && !large_memory_.contains(address)) return std::nullopt;
  std::uint64_t const step = small ? kUnit : kGranule;
  std::uintptr_t const begin = aligned_begin(small ? small_memory_ : large_memory_);
  if (address < begin || (address - begin) / step >= (small ? small_ : large_).capacity()) return std::nullopt;
  auto const run = (small ? small_ : large_).find(static_cast<UnitHeap::Unit>((address - begin) / step));
  if (!run) return std::nullopt;
  return Range{begin + run->first * step, run->count * step};
}

void*& LinearMemory::tag(std::uintptr_t block) {
  return small_memory_.contains(block) ? small_tags_[(block - aligned_begin(small_memory_)) / kUnit]
                                       : large_tags_[(block - aligned_begin(large_memory_)) / kGranule];
}

bool LinearMemory::is_spare(std::uintptr_t slab) const {
  auto const index = static_cast<UnitHeap::Unit>((slab - aligned_begin(small_memory_)) / kGranule);
  return std::find(spare_slabs_.begin(), spare_slabs_.end(), index) != spare_slabs_.end();
}

// One system call per free would cost more than the free: ranges are collected, and what is still free then is dropped.
void LinearMemory::discard_later(std::uintptr_t address, std::uint64_t bytes) {
  if (!touched_) return;
  freed_.push_back({address, bytes});
  freed_since_discard_ += bytes;
  if (freed_since_discard_ < kDiscardAfter) return;
  for (Range const& range : freed_) {
    bool const small = small_memory_.contains(range.address);
    const Reserved& memory = small ? small_memory_ : large_memory_;
    for (std::uintptr_t at = range.address; at < range.address + range.bytes; at += kGranule)
      if (small ? is_spare(at) : !find(at)) memory.discard(at - memory.begin(), kGranule);
  }
  freed_.clear();
  freed_since_discard_ = 0;
}

}  // namespace tidemark::softgpu
