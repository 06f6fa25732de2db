// SPDX-License-Identifier: Apache-2.0
// Sparse arrays: tiles of physical blocks are mapped into them, in the order of a stream. A tile keeps its block alive
// until it is unmapped (which names the tile alone, not the block), mapped anew, or its array ends.
#include <mutex>
#include <new>

#include "base/address_map.h"
#include "base/reserved.h"
#include "base/spin_lock.h"
#include "interpose/hooks/hook.h"
#include "interpose/hooks/physical.h"

namespace tidemark::interpose {
namespace {

struct Tile {
  std::uint64_t array = 0, block = 0;
};
constinit AddressMap<Tile> tiles;
constinit SpinLock lock;

std::uint64_t array_of(const CUarrayMapInfo& info) {
  return info.resourceType == CU_RESOURCE_TYPE_ARRAY ? reinterpret_cast<std::uint64_t>(info.resource.array)
                                                     : reinterpret_cast<std::uint64_t>(info.resource.mipmap);
}

// A tile by its array and its place there; never 0. That two places have one key takes millions of tiles.
std::uint64_t key_of(const CUarrayMapInfo& info) {
  std::uint64_t key = array_of(info);
  auto const mix = [&](std::uint64_t word) { key = (key ^ word) * 0x9e3779b97f4a7c15 ^ key >> 29; };
  mix(static_cast<std::uint64_t>(info.subresourceType));
  if (info.subresourceType == CU_ARRAY_SPARSE_SUBRESOURCE_TYPE_SPARSE_LEVEL) {
    auto const& at = info.subresource.sparseLevel;
    for (unsigned int const word : {at.level, at.layer, at.offsetX, at.offsetY, at.offsetZ}) mix(word);
  } else {
    mix(info.subresource.miptail.layer);
    mix(info.subresource.miptail.offset);
  }
  return key == 0 ? 1 : key;
}

// The block that was mapped there, 0 for none, after another (or 0) is.
std::uint64_t exchange(const CUarrayMapInfo& info, std::uint64_t block) {
  std::uint64_t const key = key_of(info);
  std::scoped_lock const guard(lock);
  Tile* const found = tiles.find(key);
  std::uint64_t const before = found == nullptr ? 0 : found->block;
  if (block == 0) {
    tiles.erase(key);
  } else if (Tile* const place = tiles.insert(key)) {
    *place = {.array = array_of(info), .block = block};
  }
  return before;
}

// Tiles on their way to another block, each with the one that it lets go. No destructor: it lives across the real call.
class Remapping {
 public:
  void begin(const CUarrayMapInfo* list, unsigned int count) {
    dropped_ = reinterpret_cast<Dropped*>(Reserved::map((std::size_t{count} + 1) * sizeof(Dropped)).release());
    if (dropped_ == nullptr) return recorder().count_loss(trace::Loss::Failed);
    list_ = list;
    count_ = count;
    for (unsigned int i = 0; i < count; ++i) {
      std::uint64_t const block = block_of(list[i]);
      if (block != 0) add_hold(block, Holder::Mapping);
      std::uint64_t const before = exchange(list[i], block);
      new (&dropped_[i]) Dropped(before != 0 ? drop_hold(before, Holder::Mapping) : Dropped{.block = before});
    }
  }
  // In the other direction where it failed: a tile may be named more than once.
  void end(bool well) {
    for (unsigned int i = 0; well && i < count_; ++i) let_go(dropped_[i]);
    for (unsigned int i = count_; !well && i > 0; --i) undo(list_[i - 1], dropped_[i - 1]);
    Reserved const memory =
        Reserved::adopt(reinterpret_cast<std::byte*>(dropped_), (std::size_t{count_} + 1) * sizeof(Dropped));
  }

 private:
  static std::uint64_t block_of(const CUarrayMapInfo& info) {
    return info.memOperationType == CU_MEM_OPERATION_TYPE_MAP ? info.memHandle.memHandle : 0;
  }
  static void undo(const CUarrayMapInfo& info, const Dropped& dropped) {
    restore_hold(dropped);
    exchange(info, dropped.block);
    if (std::uint64_t const block = block_of(info)) let_go(drop_hold(block, Holder::Mapping));
  }

  const CUarrayMapInfo* list_ = nullptr;
  Dropped* dropped_ = nullptr;
  unsigned int count_ = 0;
};

template <class Real>
CUresult map_tiles(const CUarrayMapInfo* list, unsigned int count, Real real) {
  if (list == nullptr || !ready()) return real();
  Remapping tiles_now;
  shield([&] { tiles_now.begin(list, count); });
  CUresult const result = real();
  shield([&] { tiles_now.end(result == CUDA_SUCCESS); });
  return result;
}

}  // namespace

void unmap_tiles(std::uint64_t array) {
  for (;;) {
    std::uint64_t key = 0, block = 0;
    {
      std::scoped_lock const guard(lock);
      if (tiles.size() == 0) return;
      tiles.for_each([&](std::uint64_t at, const Tile& tile) {
        if (tile.array == array) key = at, block = tile.block;
      });
      if (key == 0) return;
      tiles.erase(key);
    }
    let_go(drop_hold(block, Holder::Mapping));
  }
}

}  // namespace tidemark::interpose

using namespace tidemark::interpose;

TIDEMARK_HOOK(cuMemMapArrayAsync)(CUarrayMapInfo* list, unsigned int count, CUstream stream) {
  return map_tiles(list, count, [&] { return call(&Driver::cuMemMapArrayAsync, list, count, stream); });
}
TIDEMARK_HOOK(cuMemMapArrayAsync_ptsz)(CUarrayMapInfo* list, unsigned int count, CUstream stream) {
  return map_tiles(list, count, [&] { return call(&Driver::cuMemMapArrayAsync_ptsz, list, count, stream); });
}
