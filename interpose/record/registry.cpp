// SPDX-License-Identifier: Apache-2.0
#include "interpose/record/registry.h"

namespace tidemark::interpose {

bool Registry::insert(std::uint64_t address, const Owned& block) {
  Shard& s = shard(trace::space_of(block.block_class), address);
  std::scoped_lock const guard(s.lock);
  Owned* const place = s.blocks.insert(address);
  if (place == nullptr) return false;
  *place = block;
  return true;
}

std::optional<Owned> Registry::take(trace::Space space, std::uint64_t address) {
  Shard& s = shard(space, address);
  std::scoped_lock const guard(s.lock);
  Owned const* const found = s.blocks.find(address);
  if (found == nullptr) return std::nullopt;
  Owned const block = *found;
  s.blocks.erase(address);
  return block;
}

std::optional<Owned> Registry::find(trace::Space space, std::uint64_t address) {
  Shard& s = shard(space, address);
  std::scoped_lock const guard(s.lock);
  Owned const* const found = s.blocks.find(address);
  return found == nullptr ? std::nullopt : std::optional(*found);
}

bool Registry::set_kind(trace::Space space, std::uint64_t address, trace::Kind kind) {
  Shard& s = shard(space, address);
  std::scoped_lock const guard(s.lock);
  Owned* const found = s.blocks.find(address);
  if (found != nullptr) found->kind = kind;
  return found != nullptr;
}

}  // namespace tidemark::interpose
