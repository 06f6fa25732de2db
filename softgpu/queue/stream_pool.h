// SPDX-License-Identifier: Apache-2.0
// A pool of stream-ordered memory (cudaMallocAsync).
//
// The pool owns a window of address space and charges the device for the 2 MiB granules it has mapped: `reserved`. A
// block freed on a stream waits as "pending" until the free has happened there; before that it can serve an allocation
// whose stream is certain to come later: the same stream, a stream that waited for it (follow-event-dependencies), one
// that is made to wait (internal dependencies, only when the device has no more), or any once the free is done
// (opportunistic). Address space is plentiful: unused granules move to where a block needs them. At a synchronisation,
// what is unused beyond the release threshold goes back to the device. Invariants: used <= reserved; each mapped
// granule is charged exactly once. Used under the engine's lock.
#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "base/result.h"
#include "softgpu/model/blocks.h"
#include "softgpu/model/ledger.h"
#include "softgpu/model/unit_heap.h"
#include "softgpu/queue/engine.h"

namespace tidemark::softgpu {

struct PoolCounter {
  std::uint64_t current = 0;
  std::uint64_t high = 0;
  void set(std::uint64_t value) {
    current = value;
    if (value > high) high = value;
  }
};

class StreamPool final : public BlockWindow {
 public:
  struct Options {
    int device = 0;
    std::uint64_t window_bytes = 0;  // most that it may hold of the device; rounded up to granules
    bool touched = true;             // whether memory may have been written (execute mode): unmapped pages are dropped
  };
  static Result<std::unique_ptr<StreamPool>> create(const Options& options, Ledger& ledger, BlockMap& blocks,
                                                    Engine& engine);
  ~StreamPool() override;

  // Nothing when the device does not have it. The allocation's item has to wait for `waits` too.
  Block* allocate(std::uint64_t bytes, const Stream& stream, std::vector<Ref<Ticket>>& waits);
  // The program gives the block back; it is free once `freed` is executed.
  void free(Block* block, Ref<Ticket> freed);
  // The host has synchronised with something: finished frees are settled, memory beyond the threshold is released.
  void settle();
  void trim(std::uint64_t keep_bytes);
  std::uintptr_t address() const { return begin(); }
  // No block is allocated, and every free has happened.
  bool is_empty() const { return used.current == 0 && pending_.empty(); }
  Block* find_block(std::uintptr_t address) override;

  std::uint64_t release_threshold = 0;
  bool reuse_follow_events = true;
  bool reuse_opportunistic = true;
  bool reuse_internal = true;
  PoolCounter reserved, used;

 private:
  struct Pending {
    UnitHeap::Unit first, count;
    Ref<Ticket> freed;
  };
  StreamPool() = default;
  std::uintptr_t begin() const;
  Block* make_block(UnitHeap::Run run, std::uint64_t bytes);
  std::optional<UnitHeap::Unit> take_pending(UnitHeap::Unit count, const Stream& stream,
                                             std::vector<Ref<Ticket>>* waits);
  std::optional<UnitHeap::Unit> take_fresh(UnitHeap::Unit count);
  bool map_range(UnitHeap::Run run);
  bool map_granules(std::size_t first, std::size_t last);
  std::size_t missing(std::size_t first, std::size_t last) const;
  bool take_idle(std::size_t first, std::size_t last);
  void count_granules(UnitHeap::Run run, int change);
  void settle_finished();
  void unmap(std::size_t granule);

  Options options_;
  Ledger* ledger_ = nullptr;
  BlockMap* blocks_ = nullptr;
  Engine* engine_ = nullptr;
  Reserved memory_;
  UnitHeap heap_;
  ReservedArray<Block*> tags_;
  std::vector<std::uint16_t> runs_in_granule_;  // live and pending runs that touch it
  std::vector<bool> mapped_;
  std::size_t mapped_end_ = 0;     // none is mapped from here on
  std::size_t idle_granules_ = 0;  // mapped, and touched by no run
  std::vector<Pending> pending_;
};

}  // namespace tidemark::softgpu
