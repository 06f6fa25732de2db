// SPDX-License-Identifier: Apache-2.0
// How much is kept and in which state: memory goes back to the driver over a cap or when somebody asks for it, and is
// filled when it is freed where that is wished for.
#include <mutex>

#include "allocator/core/allocator.h"

namespace tidemark::allocator {

std::uint64_t Allocator::give_back_passed(std::uint64_t bytes, bool close_batch) {
  harvest(close_batch);
  empty_magazines();
  merge_everything();
  std::uint64_t const passed = streams_.passed(sole_.load(std::memory_order_acquire));
  std::uint64_t given = arena_.trim(bytes, {.sole_passed = passed});
  if (given < bytes) {
    end_leases(false);
    merge_everything();
    given += arena_.trim(bytes - given, {.sole_passed = passed, .rob_plan = true});
  }
  given_back_bytes_.fetch_add(given, std::memory_order_relaxed);
  return given;
}

// Frees in a stream's order record no event of their own: one behind all of them tells how far each stream is.
std::uint64_t Allocator::give_back_idle(std::uint64_t bytes) {
  if ((mode_.load(std::memory_order_acquire) & kCapture) != 0) return 0;
  streams_.for_each([&](DomainId stream) {
    Mark end;
    if (!streams_.is_retired(stream) && may_mark(stream)) streams_.mark(stream, &end);
  });
  streams_.poll();
  return give_back_passed(bytes, may_wait());
}

// Work that hangs on the host must not make other streams hang with it. While there is one stream there are no others.
bool Allocator::may_mark(DomainId stream) const {
  return may_wait() || (mode_.load(std::memory_order_acquire) & kMulti) == 0 || !streams_.holds_up_others(stream);
}

std::uint64_t Allocator::cached_bytes() const {
  std::uint64_t const taken = arena_.taken_bytes();
  return taken - std::min(taken, live_sums().granules * kGranuleBytes);
}

// Cached memory above the cap goes back as soon as it is seen, as far as it is in whole frames that no stream uses any
// more. What could not go is looked at again when there is a frame's worth more of it, and now and then: blocks around
// it may have gone.
void Allocator::keep_to_cap() {
  if (cap_bytes_ == Options::kNoCap) [[likely]]
    return;
  constexpr std::uint64_t kNowAndThen = 64;
  std::uint64_t const cached = cached_bytes();
  if (cached <= cap_bytes_) {
    trim_above_.store(0, std::memory_order_relaxed);
    return;
  }
  bool const due = cached > trim_above_.load(std::memory_order_relaxed) ||
                   over_cap_.fetch_add(1, std::memory_order_relaxed) % kNowAndThen == 0;
  if (!due || is_trimming_.exchange(true, std::memory_order_acquire)) return;
  give_back_idle(cached - cap_bytes_);
  trim_above_.store(cached_bytes() + kFrameBytes, std::memory_order_relaxed);
  is_trimming_.store(false, std::memory_order_release);
}

// Behind all work that may use the block. Where a stream's order is known that is the stream itself; else a stream of
// the allocator's own that waits for all that are busy. The answer is the order in which the block is free then.
DomainId Allocator::fill(Record& block, DomainId domain) {
  bool const multi = (mode_.load(std::memory_order_acquire) & kMulti) != 0;
  DomainId const stream = multi ? domain : sole_.load(std::memory_order_acquire);
  if (stream != DomainId::Shared && !streams_.is_retired(stream)) {
    submit_fill(block, stream);
    return domain;
  }
  DomainId const own = own_stream();
  if (own == DomainId::Shared) return domain;
  if (!streams_.is_used(own)) use_first_time(own);
  return order_own_stream(own) && submit_fill(block, own) ? own : domain;
}

bool Allocator::order_own_stream(DomainId own) {
  std::vector<Mark> marks;
  if (!streams_.mark_busy(marks)) return false;
  for (const Mark& mark : marks)
    if (mark.stream != own && streams_.put_behind(mark, own) != Status::Ok) return false;
  return true;
}

bool Allocator::submit_fill(const Record& block, DomainId stream) {
  Fill const fill{
      .address = block.address.load(std::memory_order_relaxed), .bytes = to_bytes(block.granules), .word = kPoison};
  before_submission(stream);
  bool const well = arena_.pool().upstream().fill(fill, streams_.handle(stream)) == Status::Ok;
  after_submission(stream);
  if (well) filled_bytes_.fetch_add(fill.bytes, std::memory_order_relaxed);
  return well;
}

DomainId Allocator::own_stream() {
  if (DomainId const made = own_stream_.load(std::memory_order_acquire); made != DomainId::Shared) return made;
  std::lock_guard const guard(own_stream_lock_);
  if (own_stream_.load(std::memory_order_relaxed) == DomainId::Shared) {
    StreamHandle handle{};
    if (arena_.pool().upstream().make_stream(&handle) == Status::Ok)
      own_stream_.store(streams_.add(handle), std::memory_order_release);
  }
  return own_stream_.load(std::memory_order_relaxed);
}

void Allocator::own_stream_is_gone() {
  DomainId const own = own_stream_.exchange(DomainId::Shared, std::memory_order_acq_rel);
  if (own != DomainId::Shared) stream_is_gone(own);
}

}  // namespace tidemark::allocator
