// SPDX-License-Identifier: Apache-2.0
// One thread's way into the trace: a record is a few stores into the thread's own chunk, nothing else. The slow path (a
// new chunk) happens once in four thousand records.
//
// A lane is used by one thread at a time; a lane whose thread has ended may be resumed by another. A signal handler
// that interrupts the lane's own thread inside a call is noticed: its event is counted as lost, never half-written.
// Invariant: every slot at and behind `at_` of the current chunk is zero.
#pragma once
#include <atomic>
#include <cstdint>

#include "trace/format/cache.h"
#include "trace/format/ring.h"
#include "trace/write/file.h"

namespace tidemark::trace {

// A block as the recorder sees it.
struct Block {
  std::uint64_t address = 0;
  std::uint64_t size_bytes = 0;
  Class block_class = Class::Device;
  std::uint8_t generation = 0;
  std::uint64_t parent = 0;
};

class Lane {
 public:
  constexpr Lane() = default;

  // Before the first record, and when another thread goes on with this lane.
  void start(File& file, std::uint32_t thread);

  void alloc(const Block& block) { alloc_at(block, file_->clock().now()); }
  void free(const Block& block) { free_at(block, file_->clock().now()); }
  // With a stamp taken earlier: observed frees are stamped before the real call, recorded once it has succeeded.
  void alloc_at(const Block& block, std::uint64_t ticks);
  void free_at(const Block& block, std::uint64_t ticks);
  void label(std::uint64_t address, Kind kind, std::uint32_t name);
  // In place of a label in a ring; and, there too, a block whose free failed.
  void relabel(const Relabel& relabel);
  void still_live_at(const Live& block, std::uint64_t ticks);
  void device_use(const DeviceUse& use);
  void failure(const Failure& failure);
  void cache_use(const CacheUse& use, const CacheCounts& counts);
  void pin(const Pin& pin);
  void late_free(const LateFree& free);
  void kernel_at(const Kernel& kernel, std::uint64_t start_ticks);

  // The layer open from now on. Leaving one is written only when something follows: layer after layer costs one record
  // each.
  void enter(std::uint32_t path) { enter_at(path, file_->clock().now()); }
  void leave(std::uint32_t path_outside) { leave_at(path_outside, file_->clock().now()); }
  void enter_at(std::uint32_t path, std::uint64_t ticks);
  void leave_at(std::uint32_t path_outside, std::uint64_t ticks);
  void phase(Phase phase);
  void step(std::uint64_t step);
  void stream(std::uint32_t id);
  void stack(std::uint32_t id);
  void device(std::uint8_t id);

  const Context& context() const { return context_; }
  // The layer that is open, also where that is not written yet.
  std::uint32_t scope() const { return left_ticks_ != 0 ? outside_ : context_.scope; }

 private:
  // Marks the lane as busy; false inside an interrupted call.
  class Busy;
  template <class R>
  void timed(R record, std::uint64_t ticks);
  template <class R, class Field>
  void change(Field& field, std::uint32_t id);
  template <class R>
  void put(const R& record);
  template <class R>
  void put_timed(R record, std::uint64_t ticks);
  bool room(std::size_t slots);
  bool next_chunk();
  void flush_scope();
  void write_scope(std::uint32_t path, std::uint64_t ticks);

  Slot* at_ = nullptr;
  Slot* end_ = nullptr;
  Chunk chunk_;
  std::uint64_t base_ticks_ = 0;
  File* file_ = nullptr;
  Context context_;
  std::uint32_t outside_ = 0;     // the layer that is open since `left_ticks_`, not yet written
  std::uint64_t left_ticks_ = 0;  // 0: nothing to write
  std::atomic<bool> busy_{false};
};

}  // namespace tidemark::trace
