// SPDX-License-Identifier: Apache-2.0
// Every range of memory that the device knows, and the way from any address to its block.
//
// Blocks of the large windows (a device's plain memory, a pool's) hang on their window's own look-up; all others
// (pinned and registered host memory, managed memory, VMM mappings, symbols) stand in an ordered map.
// Not thread-safe: used under the engine's lock.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "softgpu/model/linear_memory.h"

namespace tidemark::softgpu {

enum class MemoryKind : std::uint8_t { Device, Pool, Managed, Pinned, Registered, Mapped, Symbol, Graph, Array };

struct Block {
  std::uintptr_t address = 0;
  std::uint64_t requested = 0;
  std::uint64_t rounded = 0;
  std::uint64_t id =
      0;  // unique in the process, new at each allocation: CUDA's buffer id, and the checker's generation
  MemoryKind kind = MemoryKind::Device;
  int device = -1;
  bool sync_memops = false;
  bool doomed = false;      // given to a stream-ordered free that has not happened yet
  bool borrowed = false;    // a variable of a kernel library: the memory is the library's, for every device and image
  unsigned flags = 0;       // as given to the allocating call; of a mapping: two bits of access for each device
  void* context = nullptr;  // that allocated it
  void* owner = nullptr;    // pool, VMM handle, array, graph: depends on the kind
  std::uint64_t resident = 0;  // managed: bytes charged to devices after prefetches

  // A variable of device code: its image's to free, not the program's. Other plain and managed memory has no owner.
  bool is_variable() const {
    return kind == MemoryKind::Symbol ||
           ((kind == MemoryKind::Device || kind == MemoryKind::Managed) && owner != nullptr);
  }
  bool is_host() const { return kind == MemoryKind::Pinned || kind == MemoryKind::Registered; }
};

// Something with a window of address space of its own, inside which it finds its blocks.
class BlockWindow {
 public:
  virtual ~BlockWindow() = default;
  virtual Block* find_block(std::uintptr_t address) = 0;
};

class BlockMap {
 public:
  // Makes a block of a window or of the map; the caller fills what it knows. `listed`: look it up in the ordered map.
  Block* create(Block block, bool listed);
  void destroy(Block* block, bool listed);
  void add_window(std::uintptr_t begin, std::uintptr_t end, BlockWindow* window);
  void remove_window(std::uintptr_t begin);

  // The block whose [address, address + requested) holds this address; rounding is not the program's.
  Block* find(std::uintptr_t address) const;
  // Whether the address is some window's, with or without a block there.
  bool in_window(std::uintptr_t address) const;
  // Whether any listed block overlaps the range.
  bool overlaps(std::uintptr_t address, std::uint64_t bytes) const;
  std::uint64_t next_id() { return ++last_id_; }
  // Every live block; f may destroy the block it is given.
  template <class F>
  void for_each(F f) {
    for (auto const& slab : slabs_)
      for (std::size_t i = 0; i < kBlocksPerSlab; ++i)
        if (slab[i].address != 0) f(&slab[i]);
  }

 private:
  static constexpr std::size_t kBlocksPerSlab = 1024;
  struct Window {
    std::uintptr_t begin, end;
    BlockWindow* window;
  };
  const Window* window_at(std::uintptr_t address) const;

  std::vector<Window> windows_;
  std::map<std::uintptr_t, Block*> listed_;
  std::vector<std::unique_ptr<Block[]>> slabs_;
  std::vector<Block*> spare_;
  std::uint64_t last_id_ = 0;
};

// A device's plain memory as a window.
class LinearWindow final : public BlockWindow {
 public:
  LinearWindow(LinearMemory& memory) : memory_(memory) {}
  Block* find_block(std::uintptr_t address) override {
    auto const range = memory_.find(address);
    return range ? static_cast<Block*>(memory_.tag(range->address)) : nullptr;
  }

 private:
  LinearMemory& memory_;
};

}  // namespace tidemark::softgpu
