// SPDX-License-Identifier: Apache-2.0
#include "softgpu/driver/graph_heap.h"

#include <algorithm>

#include "base/bytes.h"

namespace tidemark::softgpu {
namespace {

// Several times the device, for graphs that live side by side and share physical memory; 2^30 units are 512 GiB.
constexpr std::uint64_t kDevices = 4;
constexpr std::uint64_t kLeast = std::uint64_t{16} << 30;
constexpr std::uint64_t kMost = std::uint64_t{384} << 30;
constexpr std::uint64_t kDiscardFrom = std::uint64_t{1} << 20;

}  // namespace

std::shared_ptr<GraphHeap> GraphHeap::create(int device, std::uint64_t capacity, BlockMap& blocks) {
  std::shared_ptr<GraphHeap> heap(new GraphHeap);
  std::uint64_t const bytes = std::min(kMost, std::max(kLeast, capacity * kDevices));
  auto const units = static_cast<UnitHeap::Unit>(bytes / kUnit);
  heap->device_ = device;
  heap->memory_ = Reserved::map(bytes + kGranule);
  heap->heap_ = UnitHeap(units, 0);
  heap->tags_ = ReservedArray<Block*>(units);
  if (!heap->memory_ || !heap->heap_ || !heap->tags_) return nullptr;
  heap->heap_.add_region({0, units});
  heap->blocks_ = &blocks;
  blocks.add_window(heap->memory_.begin(), heap->memory_.end(), heap.get());
  return heap;
}

GraphHeap::~GraphHeap() {
  if (blocks_ != nullptr) blocks_->remove_window(memory_.begin());
}

std::uintptr_t GraphHeap::begin() const {
  return round_up(memory_.begin(), kGranule);
}

Block* GraphHeap::reserve(std::uint64_t bytes) {
  if (bytes == 0 || bytes > memory_.bytes()) return nullptr;
  auto const count = static_cast<UnitHeap::Unit>((bytes + kUnit - 1) / kUnit);
  auto const first = heap_.allocate(count);
  if (!first) return nullptr;
  Block* const block = blocks_->create({.address = begin() + *first * kUnit,
                                        .requested = bytes,
                                        .rounded = count * kUnit,
                                        .kind = MemoryKind::Graph,
                                        .device = device_},
                                       false);
  tags_[*first] = block;
  return block;
}

void GraphHeap::release(Block* block) {
  auto const first = static_cast<UnitHeap::Unit>((block->address - begin()) / kUnit);
  discard(*block);
  tags_[first] = nullptr;
  heap_.free(first);
  blocks_->destroy(block, false);
}

void GraphHeap::discard(const Block& block) const {
  if (block.rounded >= kDiscardFrom) memory_.discard(block.address - memory_.begin(), block.rounded);
}

Block* GraphHeap::find_block(std::uintptr_t address) {
  if (address < begin()) return nullptr;
  auto const run = heap_.find(static_cast<UnitHeap::Unit>((address - begin()) / kUnit));
  return run ? tags_[run->first] : nullptr;
}

}  // namespace tidemark::softgpu
