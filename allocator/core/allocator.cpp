// SPDX-License-Identifier: Apache-2.0
#include "allocator/core/allocator.h"

#include <bit>
#include <mutex>
#include <span>

#include "base/invariant.h"

namespace tidemark::allocator {

namespace {
// Blocks that one visit to a cache brings along, or takes there: half a magazine.
constexpr std::size_t kHalf = Magazine::kBlocks / 2;

ArenaOptions arena_options(const Options& o) {
  return {.capacity_bytes = o.limit_bytes != 0 ? std::min(o.limit_bytes, o.capacity_bytes) : o.capacity_bytes,
          .stitch = o.stitch,
          .larger_pieces_from_bytes = o.larger_pieces_from_bytes};
}
}  // namespace

Allocator::Allocator(Upstream& upstream, const Options& options)
    : options_(options),
      arena_(upstream, arena_options(options)),
      streams_(upstream),
      pending_(streams_),
      caches_(Streams::kMost) {
  if (options.limit_bytes != 0) limit_frames_ = options.limit_bytes / kFrameBytes;
  std::uint64_t const most = arena_options(options).capacity_bytes;
  std::uint64_t allowance = most / 1000 * options.magazine_permille;
  if (options.cache_cap_bytes != Options::kNoCap) {
    // Magazines are out of sight: their share is taken off beforehand.
    allowance = std::min(allowance, options.cache_cap_bytes / 4);
    cap_bytes_ = options.cache_cap_bytes - allowance;
  }
  shared_.allowance_granules = static_cast<std::int64_t>(allowance / kGranuleBytes);
  round_mask_ = static_cast<Granules>(options.round_bytes / kGranuleBytes - 1);
  TIDEMARK_INVARIANT(std::has_single_bit(options.round_bytes) && options.round_bytes >= kGranuleBytes);
  if (options.poison) {
    options_.plan = false;
    mode_.store(kFill, std::memory_order_relaxed);
  }
}

ExactCache& Allocator::cache(DomainId domain) {
  std::atomic<ExactCache*>& slot = caches_[static_cast<std::size_t>(domain)];
  if (ExactCache* const made = slot.load(std::memory_order_acquire)) return *made;
  std::lock_guard const guard(caches_lock_);
  if (slot.load(std::memory_order_relaxed) == nullptr)
    slot.store(new ExactCache(arena_.records()), std::memory_order_release);
  return *slot.load(std::memory_order_relaxed);
}

void Allocator::count_behind(const Record& block, bool allocation) {
  std::lock_guard const guard(counts_lock_);
  if (allocation)
    count_allocation(behind_, block);
  else
    count_free(behind_, block);
}

Status Allocator::allocate_behind(const Request& request, std::uint64_t* address) {
  if (request.bytes == 0) return Status::OutOfMemory;  // what an empty request means is the caller's to say
  attach_thread();
  if ((mode_.load(std::memory_order_acquire) & kPlan) != 0 && allocate_planned(request, address)) return Status::Ok;
  Record* block = nullptr;
  if (request.whole || !options_.sub_allocate) {
    if (Status const s = arena_.take_whole(request.bytes, &block); s != Status::Ok) return s;
  } else {
    DomainId const domain = effective(request.domain, mode_.load(std::memory_order_acquire));
    block = search({.domain = domain, .granules = granules_of(request.bytes), .lifetime = request.lifetime});
    if (block == nullptr) return Status::OutOfMemory;
  }
  block->capture = 0;
  if ((mode_.load(std::memory_order_relaxed) & kCapture) != 0) join_capture(*block);
  hand_out(*block, request.bytes);
  count_behind(*block, true);
  *address = block->address.load(std::memory_order_relaxed);
  keep_to_cap();
  return Status::Ok;
}

Record* Allocator::pop_cached(DomainId domain, Granules granules) {
  std::array<Record*, 1 + kHalf> blocks{};
  std::size_t const n = cache(domain).pop(granules, blocks);
  if (n == 0) return nullptr;
  if (n > 1) refill(domain, granules, std::span(blocks).subspan(1, n - 1));
  return blocks[0];
}

void Allocator::refill(DomainId domain, Granules granules, std::span<Record*> blocks) {
  ThreadCache* const thread = own_cache();
  std::uint64_t const key = Magazine::key_of(domain, granules);
  while (!blocks.empty() && thread != nullptr && thread->enter()) {
    // A size that had no magazine gets one when it is freed; here only what is there is filled.
    bool const room = thread->grant(granules) && thread->push(key, *blocks.back());
    thread->leave();
    if (!room) break;
    blocks = blocks.first(blocks.size() - 1);
  }
  for (Record* const block : blocks) put_in_cache(*block);
}

void Allocator::put_in_cache(Record& block) {
  ExactCache& c = cache(block.domain);
  {
    std::lock_guard const guard(c.lock());
    if (c.push(block)) return;
  }
  arena_.release(block, block.domain, block.stamp);
}

Freed Allocator::free_whole(Record& block) {
  Granules const granules = block.granules;
  std::uint32_t const slack_bytes = block.slack_bytes;
  if (arena_.drop_whole(block) != Status::Ok) return Freed::Refused;
  std::lock_guard const guard(counts_lock_);
  count_free(behind_, granules, slack_bytes);
  return Freed::Yes;
}

Freed Allocator::free_behind(Record& block, DomainId domain) {
  if (block.whole) return free_whole(block);
  count_behind(block, false);
  attach_thread();
  // Before it is anybody's: then it could be recorded again already.
  if ((mode_.load(std::memory_order_acquire) & kRecord) != 0) record_free(block);
  if ((mode_.load(std::memory_order_acquire) & kCapture) != 0 || block.capture != 0) {
    hold(block, domain);
    return Freed::Yes;
  }
  keep(block, domain);
  keep_to_cap();
  return Freed::Yes;
}

// Magazines and caches hold what their domain may use at once. Which domain that is, is decided where a change of the
// mode waits for us: inside a section, or under the cache's lock.
void Allocator::keep(Record& block, DomainId domain) {
  block.state.store(State::Cached, std::memory_order_relaxed);
  if (options_.poison) domain = fill(block, domain);
  if (block.planned) {
    free_planned(block, domain);
    return;
  }
  ThreadCache* const thread = own_cache();
  std::array<Record*, Magazine::kBlocks + kHalf> spilled{};
  std::size_t spilled_count = 0;
  auto const spill = [&](Magazine& m, std::uint32_t n) {
    for (std::uint32_t i = 0; i < n; ++i) spilled[spilled_count++] = m.blocks[i];
    std::copy(m.blocks.begin() + n, m.blocks.begin() + m.count, m.blocks.begin());
    m.count -= n;
    thread->took_out(std::uint64_t{n} * m.granules());
  };
  bool kept = false;
  if (thread != nullptr && thread->enter()) {
    std::uint32_t const mode = mode_.load(std::memory_order_relaxed);
    if ((mode & kCapture) == 0 && ((mode & kMulti) == 0 || domain != DomainId::Shared)) {
      DomainId const owner = effective(domain, mode);
      block.stamp = owner == DomainId::Shared ? stamp_single(thread->latest_stamp) : streams_.stamp(owner);
      block.domain = owner;
      std::uint64_t const key = Magazine::key_of(owner, block.granules);
      Magazine* const m = thread->make(key, [&](Magazine& old) { spill(old, old.count); });
      if (m->count == Magazine::kBlocks) spill(*m, kHalf);
      kept = thread->grant(block.granules) && thread->push(key, block);
    }
    thread->leave();
  }
  for (std::size_t i = 0; i < spilled_count; ++i) put_in_cache(*spilled[i]);
  if (kept) return;
  if (domain == DomainId::Shared || (mode_.load(std::memory_order_acquire) & kMulti) == 0) {
    free_shared_or_wait(block);
    return;
  }
  block.domain = domain;
  block.stamp = streams_.stamp(domain);
  put_in_cache(block);
}

void Allocator::free_shared_or_wait(Record& block) {
  block.domain = DomainId::Shared;
  {
    ExactCache& shared = cache(DomainId::Shared);
    std::lock_guard const guard(shared.lock());
    if ((mode_.load(std::memory_order_acquire) & kMulti) == 0) {
      block.stamp = stamp_single(shared_stamp_);
      if (shared.push(block)) return;
    }
  }
  pending_.add(block);
}

bool Allocator::describe(std::uint64_t address, Block* block) const {
  return is_live(arena_.find(address), block);
}

bool Allocator::describe_around(std::uint64_t address, Block* block) const {
  return describe(address, block) || is_live(arena_.holding(address), block);
}

bool Allocator::is_live(const Record* r, Block* block) {
  if (r == nullptr || r->state.load(std::memory_order_acquire) != State::Live) return false;
  *block = {.address = r->address.load(std::memory_order_relaxed),
            .requested_bytes = to_bytes(r->granules) - r->slack_bytes,
            .rounded_bytes = to_bytes(r->granules),
            .generation = r->generation};
  return true;
}

Status Allocator::renew_access() {
  return arena_.renew_access();
}

std::string Allocator::check() const {
  if (std::string broken = arena_.check(); !broken.empty()) return broken;
  std::uint64_t live = 0;
  arena_.for_each([&](const Record& r) {
    if (r.state.load(std::memory_order_relaxed) == State::Live) live += to_bytes(r.granules);
  });
  std::uint64_t const counted = statistics().live_bytes - arena_.use().whole_bytes;
  return live == counted ? "" : "live is " + std::to_string(live) + " and was counted as " + std::to_string(counted);
}

}  // namespace tidemark::allocator
