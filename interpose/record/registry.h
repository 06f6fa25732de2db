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
#include "trace/format/layout.h"
#include "trace/write/clock.h"

namespace tidemark::interpose {

struct Owned {
  std::uint64_t ticks = 0;  // when it was handed out
  std::uint64_t size_bytes = 0;
  std::uint64_t context = 0;  // of CUDA, whose end frees the block; 0: it outlives all of them
  std::uint64_t parent = 0;   // the block that it is a view of
  std::uint64_t step = trace::kNoStep;
  std::uint32_t path = 0;  // the layer
  std::uint32_t stack = 0;
  std::uint32_t name = 0;  // given by a tag
  std::uint32_t stream = 0;
  trace::Class block_class = trace::Class::Device;
  std::uint8_t device = 0;
  trace::Phase phase = trace::Phase::Other;
  trace::Kind kind = trace::Kind::Other;
  bool is_handle = false;       // what stands for its address is a number of the driver's
  std::uint8_t generation = 0;  // which owner of its address, where the allocator served it; 0: it is the driver's own
};

class Registry {
 public:
  constexpr Registry() = default;

  // Stamps the block and puts it in; false when the system gives no memory. The stamp is taken under the address's
  // lock, as take()'s is: whoever looks at all blocks in between sees a block if and only if its stamp is the earlier
  // one. Where a block of this address was already, it comes back in `before`: its end passed us by, or is just being
  // told by another thread.
  bool insert(std::uint64_t address, Owned& block, std::optional<Owned>& before, const trace::Clock& clock);
  // With the stamp that it has. When that was; 0 when the system gives no memory.
  std::uint64_t put_back(std::uint64_t address, const Owned& block, const trace::Clock& clock);
  // Takes the block out, and the time at which that was; nothing when it is not known.
  struct Taken {
    Owned block;
    std::uint64_t ticks = 0;
  };
  std::optional<Taken> take(trace::Space space, std::uint64_t address, const trace::Clock& clock);
  std::optional<Owned> find(trace::Space space, std::uint64_t address);
  // The block as it was before; nothing when it is not known.
  std::optional<Owned> set_kind(trace::Space space, std::uint64_t address, trace::Kind kind, std::uint32_t name);
  // Calls f(address, block) for all (of one space); the locks are held one after the other, and f may not call back.
  template <class F>
  void for_each(F f) {
    for (auto& shards : spaces_) for_each_of(shards, f);
  }
  template <class F>
  void for_each(trace::Space space, F f) {
    for_each_of(spaces_[static_cast<std::size_t>(space)], f);
  }
  // Takes a block out if it is still the one that was seen there. When that was; 0: it is another one, or none.
  std::uint64_t take_if(std::uint64_t address, const Owned& seen, const trace::Clock& clock);
  std::size_t size();

 private:
  struct alignas(64) Shard {
    SpinLock lock;
    AddressMap<Owned> blocks;
  };
  static constexpr std::size_t kShards = 16;
  using Shards = std::array<Shard, kShards>;
  template <class F>
  static void for_each_of(Shards& shards, F& f) {
    for (Shard& shard : shards) {
      std::scoped_lock const guard(shard.lock);
      shard.blocks.for_each(f);
    }
  }
  Shard& shard(trace::Space space, std::uint64_t address) {
    return spaces_[static_cast<std::size_t>(space)][address * 0x9e3779b97f4a7c15 >> 60];
  }

  std::array<Shards, trace::kSpaceCount> spaces_;
};

}  // namespace tidemark::interpose
