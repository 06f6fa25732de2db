// SPDX-License-Identifier: Apache-2.0
// A trace that is kept at a size (docs/decisions/0010-ring.md). Chunks of events are used again, oldest first: their
// events become sums, and a checkpoint of all live blocks stands for what they did.
//
//   closed chunks, oldest first:   a b c d e f g h i j
//   checkpoints:                        1       2          two are complete; the older one is the base
//
// a, b and c were closed before checkpoint 1 began: they may be folded. d to j, and the chunks that threads are writing
// to, are the window: whole from checkpoint 1 on. When checkpoint 3 is complete the base becomes 2. An open chunk is
// never touched, however old it is.
//
// What the file holds makes sense between any two stores: a program may be killed at any instant.
//
// Any thread. The ring's lock is held while a chunk is folded and while a checkpoint is taken; the live blocks' own
// locks are taken under it, so nobody may ask for a chunk while holding one of those.
#pragma once
#include <cstdint>

#include "base/spin_lock.h"
#include "trace/format/ring.h"
#include "trace/write/file.h"
#include "trace/write/fold.h"
#include "trace/write/sum_log.h"

namespace tidemark::trace {

// Where a checkpoint's blocks are written to.
class CheckpointWriter {
 public:
  CheckpointWriter(File& file, std::uint64_t number) : file_(file), number_(number) {}
  // Space for about so many, before any lock is taken.
  void prepare(std::size_t blocks);
  void block(const Live& block);

 private:
  friend class Ring;
  template <class R>
  void put(const R& record);
  bool extend();

  File& file_;
  std::uint64_t number_;
  ChunkList chunks_;
  Chunk current_;
  Slot* at_ = nullptr;
  std::size_t spare_ = 0;
  std::uint64_t blocks_ = 0;
  bool failed_ = false;
};

// Who knows what is alive. For every block b and every listing, at some time s during it: b is listed if and only if it
// was allocated before s and freed after it, by the stamps of its records. Called with the ring's lock held.
class LiveBlocks {
 public:
  virtual void list(CheckpointWriter& to) = 0;

 protected:
  ~LiveBlocks() = default;
};

class Ring {
 public:
  struct Options {
    std::uint64_t chunks = 0;
    LiveBlocks* blocks = nullptr;
  };
  Ring(File& file, const Options& options);
  // False when the system gives no memory.
  bool start() { return fold_.start(); }

  // A chunk for events; `before` (if any) is closed. Nothing when there is no more space, and from then on.
  Chunk next(Chunk before);
  // The step that ran is over, and what was live then: `live_bytes`.
  void step_begins(std::uint64_t step, std::uint64_t live_bytes);

 private:
  struct Checkpoint {
    std::uint64_t number = 0;  // 0: none
    std::uint64_t closed = 0;  // chunks that were closed before it began
    ChunkList chunks;
  };
  std::size_t most_closed() const;
  bool due() const;
  void take_checkpoint();
  void move_base(Checkpoint& newest);
  bool fold_oldest();
  void drop(Checkpoint& checkpoint);

  File& file_;
  Options options_;
  SpinLock lock_;
  Fold fold_;
  SumLog sums_;
  ChunkList closed_;              // chunks of events, oldest first
  std::uint64_t all_closed_ = 0;  // ever
  std::size_t open_ = 0;
  std::size_t since_ = 0;  // chunks taken after the latest checkpoint
  std::uint64_t checkpoints_ = 0;
  Checkpoint base_, latest_;  // the base is the one before the latest
  bool stopped_ = false;
};

}  // namespace tidemark::trace
