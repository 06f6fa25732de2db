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
  ++list->count;
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
    --list->count;
    granules_ -= granules;
  }
  return n;
}

std::vector<Record*> ExactCache::take_all() {
  std::vector<Record*> all;
  std::lock_guard const guard(lock_);
  lists_.for_each([&](std::uint64_t, const List& list) {
    for (std::uint32_t id = list.head; id != 0; id = records_.at(id).right) all.push_back(&records_.at(id));
    const_cast<List&>(list) = {};
  });
  // Sizes that never come again would make every walk longer.
  if (lists_.size() > kMostSizes) lists_.release();
  granules_ = 0;
  return all;
}

std::uint64_t ExactCache::bytes() const {
  std::lock_guard const guard(lock_);
  return granules_ * kGranuleBytes;
}

}  // namespace tidemark::allocator
