// SPDX-License-Identifier: Apache-2.0
#include "interpose/record/registry.h"

namespace tidemark::interpose {

bool Registry::insert(std::uint64_t address, Owned& block, std::optional<Owned>& before, const trace::Clock& clock) {
  Shard& s = shard(trace::space_of(block.block_class), address);
  std::scoped_lock const guard(s.lock);
  std::size_t const count = s.blocks.size();
  Owned* const place = s.blocks.insert(address);
  if (place == nullptr) return false;
  if (s.blocks.size() == count) [[unlikely]]
    before = *place;
  block.ticks = clock.now_ordered();
  *place = block;
  return true;
}

std::uint64_t Registry::put_back(std::uint64_t address, const Owned& block, const trace::Clock& clock) {
  Shard& s = shard(trace::space_of(block.block_class), address);
  std::scoped_lock const guard(s.lock);
  Owned* const place = s.blocks.insert(address);
  if (place == nullptr) return 0;
  *place = block;
  return clock.now_ordered();
}

std::optional<Registry::Taken> Registry::take(trace::Space space, std::uint64_t address, const trace::Clock& clock) {
  Shard& s = shard(space, address);
  std::scoped_lock const guard(s.lock);
  Owned const* const found = s.blocks.find(address);
  if (found == nullptr) return std::nullopt;
  Taken const taken{*found, clock.now_ordered()};
  s.blocks.erase(address);
  return taken;
}

std::uint64_t Registry::take_if(std::uint64_t address, const Owned& seen, const trace::Clock& clock) {
  Shard& s = shard(trace::space_of(seen.block_class), address);
  std::scoped_lock const guard(s.lock);
  Owned const* const found = s.blocks.find(address);
  if (found == nullptr || found->ticks != seen.ticks) return 0;
  s.blocks.erase(address);
  return clock.now_ordered();
}

std::size_t Registry::size() {
  std::size_t count = 0;
  for (Shards& shards : spaces_)
    for (Shard& s : shards) {
      std::scoped_lock const guard(s.lock);
      count += s.blocks.size();
    }
  return count;
}

std::optional<Owned> Registry::find(trace::Space space, std::uint64_t address) {
  Shard& s = shard(space, address);
  std::scoped_lock const guard(s.lock);
  Owned const* const found = s.blocks.find(address);
  return found == nullptr ? std::nullopt : std::optional(*found);
}

std::optional<Owned> Registry::set_kind(trace::Space space, std::uint64_t address, trace::Kind kind,
                                        std::uint32_t name) {
  Shard& s = shard(space, address);
  std::scoped_lock const guard(s.lock);
  Owned* const found = s.blocks.find(address);
  if (found == nullptr) return std::nullopt;
  Owned const before = *found;
  found->kind = kind;
  if (name != 0) found->name = name;
  return before;
}

}  // namespace tidemark::interpose
