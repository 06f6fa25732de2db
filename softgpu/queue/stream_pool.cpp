// SPDX-License-Identifier: Apache-2.0
#include "softgpu/queue/stream_pool.h"

#include <algorithm>

#include "base/bytes.h"
#include "base/invariant.h"

namespace tidemark::softgpu {
namespace {

// Pools grow in steps of 32 MiB, as observed from outside on cards; less when the device is nearly full.
constexpr std::size_t kGranulesPerStep = (std::uint64_t{32} << 20) / kGranule;
constexpr UnitHeap::Unit kUnitsPerGranule = static_cast<UnitHeap::Unit>(kGranule / kUnit);

// As for plain memory: room for fragmentation of the address space. A heap has at most 2^30 units.
constexpr std::uint64_t kAddressFactor = 4;
constexpr std::uint64_t kMostGranules = (std::uint64_t{1} << 30) / kUnitsPerGranule;

struct GranuleSpan {
  std::size_t first, last;  // half-open
};

GranuleSpan granules_of(UnitHeap::Run run) {
  return {run.first / kUnitsPerGranule, (run.first + run.count - 1) / kUnitsPerGranule + 1};
}

}  // namespace

Result<std::unique_ptr<StreamPool>> StreamPool::create(const Options& options, Ledger& ledger, BlockMap& blocks,
                                                       Engine& engine) {
  std::unique_ptr<StreamPool> pool(new StreamPool);
  std::uint64_t const most = std::min((options.window_bytes - 1) / kGranule + 1, kMostGranules);
  std::size_t const granules = std::min(most * kAddressFactor + kGranulesPerStep, kMostGranules);
  auto const units = static_cast<UnitHeap::Unit>(granules * kUnitsPerGranule);
  pool->options_ = options;
  pool->options_.window_bytes = most * kGranule;
  pool->ledger_ = &ledger;
  pool->blocks_ = &blocks;
  pool->engine_ = &engine;
  pool->memory_ = Reserved::map((granules + 1) * kGranule);
  pool->heap_ = UnitHeap(units, 0);
  pool->tags_ = ReservedArray<Block*>(units);
  if (!pool->memory_ || !pool->heap_ || !pool->tags_)
    return Error{Errc::OutOfMemory, "no address space for a memory pool", "raise 'ulimit -v' or lower SOFTGPU_MEMORY"};
  pool->runs_in_granule_.resize(granules);
  pool->mapped_.resize(granules);
  pool->heap_.add_region({0, units});
  blocks.add_window(pool->memory_.begin(), pool->memory_.end(), pool.get());
  return pool;
}

StreamPool::~StreamPool() {
  if (!memory_) return;
  blocks_->remove_window(memory_.begin());
  ledger_->release(reserved.current);
}

std::uintptr_t StreamPool::begin() const {
  return round_up(memory_.begin(), kGranule);
}

Block* StreamPool::find_block(std::uintptr_t address) {
  if (address < begin()) return nullptr;
  auto const run = heap_.find(static_cast<UnitHeap::Unit>((address - begin()) / kUnit));
  return run ? tags_[run->first] : nullptr;
}

Block* StreamPool::allocate(std::uint64_t bytes, const Stream& stream, std::vector<Ref<Ticket>>& waits) {
  if (bytes > memory_.bytes()) return nullptr;
  if (reuse_opportunistic) settle_finished();
  auto const units = static_cast<UnitHeap::Unit>(std::max<std::uint64_t>(1, (bytes + kUnit - 1) / kUnit));
  auto first = take_pending(units, stream, nullptr);
  if (!first) first = take_fresh(units);
  if (!first && reuse_internal) first = take_pending(units, stream, &waits);
  return first ? make_block({*first, units}, bytes) : nullptr;
}

Block* StreamPool::make_block(UnitHeap::Run run, std::uint64_t bytes) {
  Block block;
  block.address = begin() + run.first * kUnit;
  block.requested = bytes;
  block.rounded = run.count * kUnit;
  block.kind = MemoryKind::Pool;
  block.device = options_.device;
  Block* const made = blocks_->create(block, false);
  tags_[run.first] = made;
  used.set(used.current + made->rounded);
  return made;
}

// The smallest pending run that is large enough and whose free is ordered before the stream; with `waits`, any, and the
// allocation then waits for the free.
std::optional<UnitHeap::Unit> StreamPool::take_pending(UnitHeap::Unit count, const Stream& stream,
                                                       std::vector<Ref<Ticket>>* waits) {
  Pending* best = nullptr;
  for (Pending& p : pending_) {
    if (p.count < count || (best != nullptr && best->count <= p.count)) continue;
    bool const ordered =
        p.freed->stream_id == stream.id || (reuse_follow_events && Engine::ordered_before(*p.freed, stream));
    if (ordered || waits != nullptr) best = &p;
  }
  if (best == nullptr) return std::nullopt;
  UnitHeap::Unit const first = best->first;
  if (waits != nullptr) waits->push_back(best->freed);
  if (best->count > count) {
    heap_.split(first, count);
    // The piece that stays pending touches its granules as a run of its own.
    count_granules({first, best->count}, -1);
    count_granules({first, count}, +1);
    count_granules({first + count, best->count - count}, +1);
    best->first += count;
    best->count -= count;
  } else {
    *best = std::move(pending_.back());
    pending_.pop_back();
  }
  return first;
}

std::optional<UnitHeap::Unit> StreamPool::take_fresh(UnitHeap::Unit count) {
  auto const first = heap_.allocate(count);
  if (!first) return std::nullopt;
  if (!map_range({*first, count})) {
    heap_.free(*first);
    return std::nullopt;
  }
  count_granules({*first, count}, +1);
  return first;
}

bool StreamPool::map_range(UnitHeap::Run run) {
  GranuleSpan const exact = granules_of(run);
  GranuleSpan const step{exact.first / kGranulesPerStep * kGranulesPerStep,
                         std::min(mapped_.size(), round_up(exact.last, kGranulesPerStep))};
  return map_granules(step.first, step.last) || map_granules(exact.first, exact.last) ||
         (take_idle(exact.first, exact.last) && map_granules(exact.first, exact.last));
}

std::size_t StreamPool::missing(std::size_t first, std::size_t last) const {
  return static_cast<std::size_t>(std::count(mapped_.begin() + static_cast<std::ptrdiff_t>(first),
                                             mapped_.begin() + static_cast<std::ptrdiff_t>(last), false));
}

bool StreamPool::map_granules(std::size_t first, std::size_t last) {
  std::uint64_t const bytes = missing(first, last) * kGranule;
  if (bytes == 0) return true;
  if (bytes > options_.window_bytes - reserved.current || !ledger_->charge(bytes)) return false;
  std::fill(mapped_.begin() + static_cast<std::ptrdiff_t>(first), mapped_.begin() + static_cast<std::ptrdiff_t>(last),
            true);
  mapped_end_ = std::max(mapped_end_, last);
  idle_granules_ += bytes / kGranule;
  reserved.set(reserved.current + bytes);
  return true;
}

// The device has no more, but elsewhere the pool holds granules that nothing uses: as many go back as [first, last)
// lacks. False, and nothing changed, when that would not be enough.
bool StreamPool::take_idle(std::size_t first, std::size_t last) {
  Ledger::Usage const usage = ledger_->usage();
  std::uint64_t const room =
      std::min(usage.capacity_bytes - usage.used_bytes, options_.window_bytes - reserved.current) / kGranule;
  std::uint64_t const needed = missing(first, last);
  if (needed <= room) return true;
  std::uint64_t lacking = needed - room;
  std::uint64_t idle = idle_granules_;
  for (std::size_t g = first; g < last; ++g)
    if (mapped_[g] && runs_in_granule_[g] == 0) --idle;
  if (idle < lacking) return false;
  for (std::size_t g = mapped_end_; g-- > 0 && lacking != 0;) {
    if ((g >= first && g < last) || !mapped_[g] || runs_in_granule_[g] != 0) continue;
    unmap(g);
    --lacking;
  }
  return true;
}

void StreamPool::count_granules(UnitHeap::Run run, int change) {
  GranuleSpan const span = granules_of(run);
  for (std::size_t g = span.first; g < span.last; ++g) {
    bool const was_idle = runs_in_granule_[g] == 0;
    runs_in_granule_[g] = static_cast<std::uint16_t>(runs_in_granule_[g] + change);
    if (was_idle) --idle_granules_;
    if (runs_in_granule_[g] == 0) ++idle_granules_;
  }
}

void StreamPool::free(Block* block, Ref<Ticket> freed) {
  auto const first = static_cast<UnitHeap::Unit>((block->address - begin()) / kUnit);
  pending_.push_back({first, static_cast<UnitHeap::Unit>(block->rounded / kUnit), std::move(freed)});
  used.set(used.current - block->rounded);
  tags_[first] = nullptr;
  blocks_->destroy(block, false);
  TIDEMARK_INVARIANT(used.current <= reserved.current);
}

void StreamPool::settle_finished() {
  std::erase_if(pending_, [this](const Pending& p) {
    if (!engine_->done(*p.freed)) return false;
    count_granules({p.first, p.count}, -1);
    heap_.free(p.first);
    return true;
  });
}

void StreamPool::settle() {
  trim(release_threshold);
}

void StreamPool::trim(std::uint64_t keep_bytes) {
  if (!pending_.empty()) settle_finished();
  // Whole granules, and never below what is to be kept.
  std::uint64_t spare = reserved.current > keep_bytes ? (reserved.current - keep_bytes) / kGranule : 0;
  for (std::size_t g = mapped_end_; g-- > 0 && idle_granules_ != 0 && spare != 0;) {
    if (!mapped_[g] || runs_in_granule_[g] != 0) continue;
    unmap(g);
    --spare;
  }
  while (mapped_end_ > 0 && !mapped_[mapped_end_ - 1]) --mapped_end_;
}

void StreamPool::unmap(std::size_t granule) {
  mapped_[granule] = false;
  --idle_granules_;
  ledger_->release(kGranule);
  reserved.set(reserved.current - kGranule);
  if (options_.touched) memory_.discard(begin() - memory_.begin() + granule * kGranule, kGranule);
}

}  // namespace tidemark::softgpu
