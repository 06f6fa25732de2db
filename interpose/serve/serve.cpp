// SPDX-License-Identifier: Apache-2.0
#include "interpose/serve/serve.h"

#include <time.h>

#include <algorithm>
#include <array>

#include "base/quietly.h"
#include "interpose/order/ranges.h"
#include "interpose/process/process.h"
#include "interpose/real/primary.h"
#include "interpose/record/devices.h"
#include "interpose/record/recorder.h"
#include "interpose/serve/cache.h"
#include "interpose/serve/captures.h"
#include "interpose/serve/checker.h"
#include "interpose/serve/mode.h"
#include "interpose/serve/streams.h"
#include "interpose/serve/usage.h"
#include "interpose/serve/uses.h"

namespace tidemark::interpose::serve {
namespace {

using allocator::DomainId;
using allocator::Freed;
using allocator::Status;

void raise(std::atomic<std::uint64_t>& most, std::uint64_t to) {
  for (std::uint64_t now = most.load(std::memory_order_relaxed); now < to;)
    if (most.compare_exchange_weak(now, to, std::memory_order_relaxed)) return;
}

// A block may take thousands of pieces of the device: what it has given is asked once, before the block is recorded.
Status take_block(Cache& cache, const allocator::Request& request, std::uint64_t* address) {
  Thread& thread = this_thread();
  thread.samples_later = true;
  Status const status = cache.allocator->allocate(request, address);
  thread.samples_later = false;
  if (thread.sample_due) [[unlikely]] {
    thread.sample_due = false;
    devices().sample(cache.device);
  }
  return status;
}

bool allocate_in(Cache& cache, CUdeviceptr* out, std::size_t bytes, KnownStream* stream) {
  std::uint64_t address = 0;
  DomainId const domain = stream == nullptr ? DomainId::Shared : domain_of(*stream, cache);
  if (take_block(cache, {.bytes = bytes, .domain = domain}, &address) != Status::Ok) return false;
  allocator::Allocator::Block block;
  cache.allocator->describe(address, &block);
  tell_checker_served(cache, address, bytes, stream);
  if (follows_uses()) block_begins(address);
  if (stream != nullptr) {
    std::uint64_t const now = cache.ordered_bytes.fetch_add(block.rounded_bytes) + block.rounded_bytes;
    raise(cache.most_ordered_bytes, now);
    raise(cache.most_reserved_bytes, now);
  }
  recorder().allocated({.address = address,
                        .size_bytes = bytes,
                        .block_class = stream == nullptr ? trace::Class::Device : trace::Class::Pool,
                        .device = cache.device,
                        .context = stream == nullptr ? cache.context.load(std::memory_order_relaxed) : 0,
                        .stream = stream == nullptr ? 0 : reinterpret_cast<std::uint64_t>(stream->cuda.stream),
                        .generation = block.generation});
  *out = address;
  note_use(cache);
  return true;
}

// The cache that may serve a call of this thread; null: the driver is to.
Cache* may_serve() {
  if (this_thread().not_served || capturing()) return nullptr;
  Cache* const cache = cache_here();
  return cache != nullptr && is_well(*cache) ? cache : nullptr;
}

// The driver's own free waits for its context. A program can tell where it looks at memory that both see.
bool must_wait() {
  FreeChoice const choice = options().free;
  return choice == FreeChoice::Strict || (choice == FreeChoice::Auto && recorder().host_visible_blocks() != 0);
}

// What the driver says to a free in the middle of a capture, where it is unsafe: the same as to an allocation. That
// there is no memory for the question is no answer to it.
CUresult ask_whether_safe() {
  CUdeviceptr probe = 0;
  CUresult const result = call(&Driver::cuMemAlloc_v2, &probe, std::size_t{1});
  if (result == CUDA_SUCCESS) call(&Driver::cuMemFree_v2, probe);
  return result == CUDA_ERROR_OUT_OF_MEMORY ? CUDA_SUCCESS : result;
}

// What a context with an error that stays says to a free.
CUresult ask_the_sick(Cache& cache) {
  CUresult result = CUDA_SUCCESS;
  with_context(reinterpret_cast<CUcontext>(cache.context.load(std::memory_order_acquire)),
               [&] { result = call(&Driver::cuCtxSynchronize); });
  return result;
}

bool is_ordered(std::uint64_t address) {
  auto const owned = recorder().registry().find(trace::Space::Memory, address);
  return owned && owned->block_class == trace::Class::Pool;
}

// Before a free that is in no stream's order: what stands against it.
CUresult reason_against_free(Cache& cache, std::uint64_t address) {
  if (capturing())
    if (CUresult const unsafe = ask_whether_safe(); unsafe != CUDA_SUCCESS) return unsafe;
  if (cache.sick.load(std::memory_order_relaxed)) [[unlikely]]
    if (CUresult const error = ask_the_sick(cache); error != CUDA_SUCCESS) return error;
  if (!must_wait() || is_ordered(address)) return CUDA_SUCCESS;
  CUresult const error = wait_for_work_of(cache);
  saw_result(error);
  return is_sticky(error) ? error : CUDA_SUCCESS;
}

CUresult free_in(Cache& cache, CUdeviceptr address, KnownStream* stream) {
  allocator::Allocator::Block block;
  if (!cache.allocator->describe(address, &block)) return CUDA_ERROR_INVALID_VALUE;
  if (stream == nullptr)
    if (CUresult const against = reason_against_free(cache, address); against != CUDA_SUCCESS) return against;
  Leaving const leaving = recording() ? recorder().leave(trace::Space::Memory, address) : Leaving{};
  tell_checker_freed(cache, address, block.requested_bytes, stream);
  if (follows_uses()) block_ends(cache, address, block.requested_bytes, stream);
  DomainId const domain = stream == nullptr ? DomainId::Shared : domain_of(*stream, cache);
  // Of two threads that free the same block, the one that is told so need not be the one that records it.
  Freed const freed = cache.allocator->free_in(address, domain);
  if (freed == Freed::Refused) {
    recorder().stayed(leaving);
    return cache.upstream.last_error();
  }
  if (leaving.known) {
    if (leaving.block.block_class == trace::Class::Pool) cache.ordered_bytes.fetch_sub(block.rounded_bytes);
    recorder().left(leaving, stream == nullptr ? 0 : reinterpret_cast<std::uint64_t>(stream->cuda.stream));
  }
  note_use(cache);
  return freed == Freed::Yes ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// Blocks that a signal handler freed while its thread was in here, where nothing can be done for it: they wait for the
// next call of any thread.
constinit std::array<std::atomic<std::uint64_t>, 64> parked{};
constinit std::atomic<std::uint32_t> parked_count{0};

bool park(CUdeviceptr block) {
  Cache* const cache = owner_of(block);
  allocator::Allocator::Block about;
  if (cache == nullptr || !cache->allocator->describe(block, &about)) return false;
  for (auto& place : parked) {
    std::uint64_t nobody = 0;
    if (!place.compare_exchange_strong(nobody, block)) continue;
    parked_count.fetch_add(1);
    return true;
  }
  return false;
}
void free_parked() {
  for (auto& place : parked) {
    std::uint64_t const block = place.exchange(0);
    if (block == 0) continue;
    parked_count.fetch_sub(1);
    if (Cache* const cache = owner_of(block)) free_in(*cache, block, nullptr);
  }
}

enum class Answer : std::uint8_t { No, Yes, Reentered };
template <class F>
Answer answered(F f) {
  bool done = false;
  bool const entered = shield([&] {
    Quietly const quietly;
    confirm_submission();
    heed_unseen();
    if (parked_count.load(std::memory_order_relaxed) != 0) [[unlikely]]
      free_parked();
    done = f();
  });
  return !entered ? Answer::Reentered : done ? Answer::Yes : Answer::No;
}

}  // namespace

bool is_current() {
  if (!has_caches()) return false;
  Thread& thread = this_thread();
  if (thread.here.epoch != detail::epoch.load(std::memory_order_acquire)) [[unlikely]]
    shield([] { here(); });
  return thread.here.cache != nullptr && !thread.inside;
}

bool allocate(CUdeviceptr* out, std::size_t bytes) {
  if (out == nullptr || bytes == 0 || !ready() || !serving()) return false;
  return answered([&] {
           Cache* const cache = may_serve();
           return cache != nullptr && allocate_in(*cache, out, bytes, nullptr);
         }) == Answer::Yes;
}

bool allocate_ordered(CUdeviceptr* out, std::size_t bytes, const order::Stream& stream) {
  if (out == nullptr || bytes == 0 || !ready() || !serving()) return false;
  return answered([&] {
           Cache* const cache = may_serve();
           KnownStream* const known = cache == nullptr ? nullptr : known_stream(stream);
           // Memory comes from the stream's device, whichever is current. It outlives contexts, which segments do not.
           if (known == nullptr || reinterpret_cast<std::uint64_t>(known->cuda.context) != cache->context ||
               !cache->upstream.can_map())
             return false;
           submit(*known);
           confirm_submission();
           return allocate_in(*cache, out, bytes, known);
         }) == Answer::Yes;
}

bool free(CUdeviceptr block, CUresult* result) {
  if (block == 0 || !has_caches()) return false;
  Answer const answer = answered([&] {
    Cache* const cache = owner_of(block);
    // Without a context (in a callback too) the driver refuses whatever it is.
    if (cache == nullptr || !has_context()) return false;
    *result = free_in(*cache, block, nullptr);
    return true;
  });
  return answer == Answer::Yes || (answer == Answer::Reentered && park(block));
}

bool free_ordered(CUdeviceptr block, const order::Stream& stream, CUresult* result) {
  if (block == 0 || !has_caches()) return false;
  Answer const answer = answered([&] {
    Cache* const cache = owner_of(block);
    KnownStream* const known = cache == nullptr ? nullptr : known_stream(stream);
    if (known == nullptr) return false;
    submit(*known);
    confirm_submission();
    *result = free_in(*cache, block, known);
    return true;
  });
  return answer == Answer::Yes || (answer == Answer::Reentered && park(block));
}

bool relieve(std::uint8_t device, std::uint64_t wanted_bytes) {
  if (!has_caches() || capturing()) return false;
  std::uint64_t given = 0;
  for_each_cache([&](Cache& cache) {
    if (cache.device == device && given < wanted_bytes) given += cache.allocator->give_back(wanted_bytes - given);
  });
  return given != 0;
}

std::uint64_t empty_caches() {
  std::uint64_t given = 0;
  if (!has_caches() || capturing()) return given;
  for_each_cache([&](Cache& cache) { given += cache.allocator->give_back(kEverything); });
  return given;
}

void end_searches() {
  for_each_cache([](Cache& cache) { cache.allocator->give_up_solving(); });
  for (int i = 0; i < 1000 && allocator::solving_threads() != 0; ++i) {
    timespec const a_while{.tv_sec = 0, .tv_nsec = 1'000'000};
    nanosleep(&a_while, nullptr);
  }
}

Found find_block(std::uint64_t address, Block* block) {
  if (!has_caches()) return Found::NotOurs;
  Cache* const cache = owner_of(address);
  if (cache == nullptr) return Found::NotOurs;
  allocator::Allocator::Block found;
  if (!cache->allocator->describe_around(address, &found) || address - found.address >= found.requested_bytes)
    return Found::Free;
  *block = {.address = found.address,
            .requested_bytes = found.requested_bytes,
            .context = cache->context.load(std::memory_order_relaxed),
            .id = std::uint64_t{1} << 62 | found.address | found.generation,
            .device = cache->device};
  if (auto const owned = recorder().registry().find(trace::Space::Memory, found.address)) {
    block->ordered = owned->block_class == trace::Class::Pool;
    block->id = std::uint64_t{1} << 62 | owned->ticks;
  }
  return Found::Live;
}

namespace {

bool is_within_a_block(const order::Range& range) {
  Cache* const cache = range.bytes == 0 ? nullptr : owner_of(range.address);
  allocator::Allocator::Block block;
  if (cache == nullptr) return true;
  return cache->allocator->describe_around(range.address, &block) &&
         range.bytes <= block.requested_bytes - std::min(block.requested_bytes, range.address - block.address);
}

}  // namespace

bool is_within_blocks(const order::Entry& entry, const order::Arguments& arguments) {
  if (!has_caches()) return true;
  order::Ranges const named = order::ranges_of(entry, arguments);
  for (std::size_t i = 0; i < named.count; ++i)
    if (!is_within_a_block(named.ranges[i])) return false;
  order::Batch const batch = order::batch_of(entry, arguments);
  for (std::size_t i = 0; i < batch.count; ++i)
    if (!is_within_a_block({batch.to[i], batch.sizes[i]}) || !is_within_a_block({batch.from[i], batch.sizes[i]}))
      return false;
  return true;
}

bool is_ours(std::uint64_t address) {
  return has_caches() && owner_of(address) != nullptr;
}

std::uint64_t mapped_bytes(std::uint8_t device) {
  std::uint64_t bytes = 0;
  for_each_cache([&](Cache& cache) {
    if (cache.device == device && cache.upstream.can_map()) bytes += cache.allocator->arena().use().reserved_bytes;
  });
  return bytes;
}

void look_at_once(std::uint8_t device, const std::function<void()>& look) {
  Quietly const quietly;  // pausing would be a place to be cancelled at
  constexpr int kLooks = 200;
  constexpr timespec kPause{.tv_sec = 0, .tv_nsec = 50'000};
  auto const returns = [&] {
    allocator::Arena::Returns all;
    for_each_cache([&](Cache& cache) {
      if (cache.device != device) return;
      auto const r = cache.allocator->arena().returns();
      all.begun += r.begun;
      all.under_way = all.under_way || r.under_way;
    });
    return all;
  };
  for (int i = 0; i < kLooks; ++i) {
    auto const before = returns();
    look();
    if (!before.under_way && returns() == before) return;
    nanosleep(&kPause, nullptr);
  }
}

std::uint64_t returnable_bytes(std::uint8_t device) {
  std::uint64_t bytes = 0;
  for_each_cache([&](Cache& cache) {
    if (cache.device == device) bytes += cache.allocator->arena().returnable_bytes();
  });
  return bytes;
}

}  // namespace tidemark::interpose::serve
