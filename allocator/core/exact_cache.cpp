// SPDX-License-Identifier: Apache-2.0
#include "allocator/core/exact_cache.h"

namespace tidemark::allocator {

namespace {
constexpr std::size_t kMostSizes = 4096;
}

bool ExactCache::push(Record& block) {
  List* const list = lists_.insert(block.granules);
  if (list == nullptr) return false;
  block.right = list->head;
  list->head = records_.id(block);
  if (!list->listed) sizes_.push_back(block.granules);
  list->listed = true;
  granules_ += block.granules;
  return true;
}

std::size_t ExactCache::pop(Granules granules, std::span<Record*> blocks) {
  std::lock_guard const guard(lock_);
  List* const list = lists_.find(granules);
  if (list == nullptr) return 0;
  std::size_t n = 0;
  for (; n < blocks.size() && list->head != 0; ++n) {
    blocks[n] = &records_.at(list->head);
    list->head = blocks[n]->right;
    granules_ -= granules;
  }
  return n;
}

std::vector<Record*> ExactCache::take_all() {
  std::vector<Record*> all;
  std::lock_guard const guard(lock_);
  for (Granules const granules : sizes_) {
    List& list = *lists_.find(granules);
    for (std::uint32_t id = list.head; id != 0; id = records_.at(id).right) all.push_back(&records_.at(id));
    list = {};
  }
  sizes_.clear();
  // Sizes that never come again would make the table ever larger.
  if (lists_.size() > kMostSizes) lists_.release();
  granules_ = 0;
  return all;
}

std::uint64_t ExactCache::bytes() const {
  std::lock_guard const guard(lock_);
  return granules_ * kGranuleBytes;
}

}  // namespace tidemark::allocator
