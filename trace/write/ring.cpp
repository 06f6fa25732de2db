// SPDX-License-Identifier: Apache-2.0
#include "trace/write/ring.h"

#include <algorithm>
#include <mutex>

namespace tidemark::trace {
namespace {

constexpr std::size_t kFewestClosed = 8;
constexpr std::size_t kFewestSums = 4;
constexpr std::size_t kBlocksPerChunk = kChunkSlots / kSlots<Live>;

}  // namespace

bool CheckpointWriter::extend() {
  Chunk const chunk = file_.claim();
  if (!chunk) return false;
  file_.publish(chunk, {.kind = ChunkKind::Checkpoint, .part_of = number_});
  chunks_.push(file_.places(), chunk.index);
  ++spare_;
  return true;
}

void CheckpointWriter::prepare(std::size_t blocks) {
  for (std::size_t chunks = blocks / kBlocksPerChunk + 1; spare_ < chunks && extend();) {
  }
}

template <class R>
void CheckpointWriter::put(const R& record) {
  if (failed_) return;
  if (!current_ || static_cast<std::size_t>(current_.end() - at_) < kSlots<R>) {
    failed_ = spare_ == 0 && !extend();
    if (failed_) return;
    current_ = current_ ? file_.places().after(current_) : chunks_.front(file_.places());
    at_ = current_.begin();
    --spare_;
  }
  std::memcpy(static_cast<void*>(at_), &record, sizeof record);
  at_ += kSlots<R>;
}

// No reader looks here before the checkpoint is complete: any order of stores will do.
void CheckpointWriter::block(const Live& block) {
  put(block);
  ++blocks_;
}

Ring::Ring(File& file, const Options& options)
    : file_(file), options_(options), sums_(file, std::max<std::size_t>(kFewestSums, options.chunks / 8)) {}

// How many closed chunks there may be: what the rest leaves of the ring's size, but always enough that a checkpoint is
// small beside the events between two of them.
std::size_t Ring::most_closed() const {
  std::size_t const checkpoint = std::max<std::size_t>(latest_.chunks.size(), 1);
  std::size_t const others = 1 + file_.shared_chunks() + sums_.share() + 3 * checkpoint + open_;
  std::size_t const left = options_.chunks > others ? options_.chunks - others : 0;
  return std::max({left, kFewestClosed, 4 * checkpoint});
}

bool Ring::due() const {
  return since_ >= most_closed() / 2;
}

Chunk Ring::next(Chunk before) {
  {
    std::scoped_lock const guard(lock_);
    if (before) {
      closed_.push(file_.places(), before.index);
      ++all_closed_;
      --open_;
    }
    if (stopped_) return {};
    if (due()) take_checkpoint();
    // One for the chunk that is asked for, and another while there are too many.
    for (int i = 0; i < 2 && closed_.size() + static_cast<std::size_t>(i == 0) > most_closed(); ++i)
      if (!fold_oldest()) break;
    ++open_;
    ++since_;
  }
  Chunk chunk = file_.claim();
  if (chunk) return chunk;
  std::scoped_lock const guard(lock_);
  // The disk is full: the ring is as large as it got.
  options_.chunks = std::min(options_.chunks, file_.header().chunks);
  if (fold_oldest()) chunk = file_.claim();
  if (!chunk) {
    stopped_ = true;
    --open_;
  }
  return chunk;
}

bool Ring::fold_oldest() {
  std::uint64_t const closed_before = all_closed_ - closed_.size();
  if (closed_.size() == 0 || closed_before >= base_.closed) return false;
  Chunk const oldest = closed_.front(file_.places());
  fold_.read(*oldest.header, oldest.begin(), oldest.end());
  if (!sums_.add(fold_, oldest)) return false;
  closed_.pop(file_.places());
  file_.discard(oldest);
  return true;
}

void Ring::take_checkpoint() {
  since_ = 0;
  CheckpointWriter writer(file_, ++checkpoints_);
  Checkpoint fresh{.number = writer.number_, .closed = all_closed_};
  // Events in chunks that are closed by now were stamped before this.
  std::uint64_t const begin = file_.clock().now_ordered();
  std::uint64_t const step = std::atomic_ref(file_.header().ring.step).load(std::memory_order_relaxed);
  options_.blocks->list(writer);
  writer.put(CheckpointHead{.number = writer.number_,
                            .begin_ticks = begin,
                            .end_ticks = file_.clock().now_ordered(),
                            .step = step,
                            .blocks = writer.blocks_});
  fresh.chunks = writer.chunks_;
  // Without space for it the next one is tried after as many chunks again.
  if (writer.failed_) return drop(fresh);
  move_base(fresh);
}

// The base is the one before the latest, so that the window is never shorter than half of what fits.
void Ring::move_base(Checkpoint& newest) {
  Checkpoint before = base_;
  if (latest_.number != 0) {
    std::atomic_ref(file_.header().ring.base).store(latest_.number, std::memory_order_release);
    base_ = latest_;
    drop(before);
  }
  latest_ = newest;
}

void Ring::drop(Checkpoint& checkpoint) {
  while (Chunk const chunk = checkpoint.chunks.pop(file_.places())) file_.discard(chunk);
}

void Ring::follow_step(const std::atomic<std::uint64_t>& current) {
  RingState& state = file_.header().ring;
  std::scoped_lock const guard(lock_);
  // Threads come late with what they saw earlier: what counts is what holds now.
  std::uint64_t const step = current.load(std::memory_order_relaxed);
  if (step == kNoStep || (state.step_begin_ticks != 0 && state.step == step)) return;
  std::uint64_t const live_bytes = std::atomic_ref(file_.header().totals.live_bytes).load(std::memory_order_relaxed);
  std::uint64_t const now = file_.clock().now();
  std::atomic_ref peak(state.step_peak_live_bytes);
  if (state.step_begin_ticks != 0)
    sums_.add(StepSum{.first = state.step,
                      .last = state.step,
                      .begin_ticks = state.step_begin_ticks,
                      .end_ticks = now,
                      .peak_live_bytes = peak.load(std::memory_order_relaxed),
                      .end_live_bytes = live_bytes});
  std::atomic_ref begin(state.step_begin_ticks);
  begin.store(0, std::memory_order_release);  // what stands here is nobody's while it changes
  std::atomic_ref(state.step).store(step, std::memory_order_release);
  peak.store(live_bytes, std::memory_order_release);
  begin.store(now, std::memory_order_release);
}

}  // namespace tidemark::trace
