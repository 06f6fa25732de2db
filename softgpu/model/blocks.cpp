// SPDX-License-Identifier: Apache-2.0
#include "softgpu/model/blocks.h"

#include <algorithm>

namespace tidemark::softgpu {
Block* BlockMap::create(Block block, bool listed) {
  if (spare_.empty()) {
    slabs_.push_back(std::make_unique<Block[]>(kBlocksPerSlab));
    for (std::size_t i = kBlocksPerSlab; i-- > 0;) spare_.push_back(&slabs_.back()[i]);
  }
  Block* const made = spare_.back();
  spare_.pop_back();
  *made = block;
  made->id = next_id();
  if (listed) listed_.emplace(made->address, made);
  return made;
}

void BlockMap::destroy(Block* block, bool listed) {
  if (listed) listed_.erase(block->address);
  *block = Block{};
  spare_.push_back(block);
}

void BlockMap::add_window(std::uintptr_t begin, std::uintptr_t end, BlockWindow* window) {
  auto const at = std::lower_bound(windows_.begin(), windows_.end(), begin,
                                   [](const Window& w, std::uintptr_t a) { return w.begin < a; });
  windows_.insert(at, {begin, end, window});
}

void BlockMap::remove_window(std::uintptr_t begin) {
  std::erase_if(windows_, [begin](const Window& w) { return w.begin == begin; });
}

const BlockMap::Window* BlockMap::window_at(std::uintptr_t address) const {
  auto const window = std::upper_bound(windows_.begin(), windows_.end(), address,
                                       [](std::uintptr_t a, const Window& w) { return a < w.end; });
  return window != windows_.end() && address >= window->begin ? &*window : nullptr;
}

bool BlockMap::in_window(std::uintptr_t address) const {
  return window_at(address) != nullptr;
}

Block* BlockMap::find(std::uintptr_t address) const {
  Block* found = nullptr;
  if (const Window* const window = window_at(address)) {
    found = window->window->find_block(address);
  } else {
    auto it = listed_.upper_bound(address);
    if (it == listed_.begin()) return nullptr;
    found = std::prev(it)->second;
  }
  return found != nullptr && address - found->address < found->requested ? found : nullptr;
}

bool BlockMap::overlaps(std::uintptr_t address, std::uint64_t bytes) const {
  auto const next = listed_.lower_bound(address);
  if (next != listed_.end() && next->first < address + bytes) return true;
  return next != listed_.begin() && address < std::prev(next)->first + std::prev(next)->second->requested;
}

}  // namespace tidemark::softgpu
