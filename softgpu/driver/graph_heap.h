// SPDX-License-Identifier: Apache-2.0
// Address space for the memory of graphs. An allocation node has its addresses from its making to the end of all that
// can use them, whether or not physical memory stands behind: that is GraphBacking's part. No two nodes share
// addresses, so that work which uses memory after its free node is seen by the checker. Used under the engine's lock.
#pragma once
#include "softgpu/model/blocks.h"

namespace tidemark::softgpu {

class GraphHeap final : public BlockWindow {
 public:
  // nullptr: no address space.
  static std::shared_ptr<GraphHeap> create(int device, std::uint64_t capacity, BlockMap& blocks);
  ~GraphHeap() override;

  // nullptr: the addresses are used up.
  Block* reserve(std::uint64_t bytes);
  void release(Block* block);
  // The contents go; large blocks only, since it costs more than it saves otherwise.
  void discard(const Block& block) const;
  Block* find_block(std::uintptr_t address) override;

 private:
  GraphHeap() = default;
  std::uintptr_t begin() const;

  int device_ = 0;
  BlockMap* blocks_ = nullptr;
  Reserved memory_;
  UnitHeap heap_;
  ReservedArray<Block*> tags_;
};

}  // namespace tidemark::softgpu
