// SPDX-License-Identifier: Apache-2.0
// The blocks that are alive, with their owners: what a free needs to know of its block, and what a post-mortem lists.
//
// Any thread; each address has one of a few locks. Memory comes from the system, not from the program's heap.
// Addresses and handles of different kinds may be equal numbers (a mapping begins where its reservation begins), so
// blocks of different spaces live side by side.
#pragma once
#include <array>
#include <cstdint>
#include <mutex>
#include <optional>

#include "base/address_map.h"
#include "base/spin_lock.h"
#include "trace/format/words.h"

namespace tidemark::interpose {

struct Owned {
  std::uint64_t size_bytes = 0;
  std::uint64_t context = 0;  // of CUDA, whose end frees the block; 0: it outlives all of them
  std::uint64_t parent = 0;   // the block that it is a view of
  std::uint32_t path = 0;     // the layer
  trace::Class block_class = trace::Class::Device;
  std::uint8_t device = 0;
  trace::Phase phase = trace::Phase::Other;
  trace::Kind kind = trace::Kind::Other;
};

class Registry {
 public:
  constexpr Registry() = default;

  // False when the system gives no memory.
  bool insert(std::uint64_t address, const Owned& block);
  // Takes the block out; nothing when it is not known.
  std::optional<Owned> take(trace::Space space, std::uint64_t address);
  std::optional<Owned> find(trace::Space space, std::uint64_t address);
  bool set_kind(trace::Space space, std::uint64_t address, trace::Kind kind);
  // Calls f(address, block) for all; the locks are held one after the other, and f may not call back.
  template <class F>
  void for_each(F f) {
    for (auto& shards : spaces_)
      for (Shard& shard : shards) {
        std::scoped_lock const guard(shard.lock);
        shard.blocks.for_each(f);
      }
  }
  // Takes out every block for which f(address, block) is true; the same rule.
  template <class F>
  void remove_if(F f) {
    for (auto& shards : spaces_)
      for (Shard& shard : shards) {
        std::scoped_lock const guard(shard.lock);
        shard.blocks.remove_if(f);
      }
  }

 private:
  struct alignas(64) Shard {
    SpinLock lock;
    AddressMap<Owned> blocks;
  };
  static constexpr std::size_t kShards = 16;
  Shard& shard(trace::Space space, std::uint64_t address) {
    return spaces_[static_cast<std::size_t>(space)][address * 0x9e3779b97f4a7c15 >> 60];
  }

  std::array<std::array<Shard, kShards>, trace::kSpaceCount> spaces_;
};

}  // namespace tidemark::interpose
