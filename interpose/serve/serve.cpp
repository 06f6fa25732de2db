// SPDX-License-Identifier: Apache-2.0
#include "interpose/serve/serve.h"

#include <algorithm>

#include "base/quietly.h"
#include "interpose/order/ranges.h"
#include "interpose/process/process.h"
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

// A child that was forked after the first CUDA call has none of its parent's memory.
bool is_forked() {
  const auto* const page = interpose::detail::stage_page.load(std::memory_order_acquire);
  return page != nullptr && page->stage.load(std::memory_order_acquire) == Stage::Forked;
}

bool allocate_in(Cache& cache, CUdeviceptr* out, std::size_t bytes, KnownStream* stream) {
  std::uint64_t address = 0;
  DomainId const domain = stream == nullptr ? DomainId::Shared : domain_of(*stream, cache);
  if (cache.allocator->allocate({.bytes = bytes, .domain = domain}, &address) != Status::Ok) return false;
  allocator::Allocator::Block block;
  cache.allocator->describe(address, &block);
  tell_checker_served(cache, address, bytes, stream);
  if (follows_uses()) block_begins(address);
  if (stream != nullptr) {
    std::uint64_t const now = cache.ordered_bytes.fetch_add(block.rounded_bytes) + block.rounded_bytes;
    for (std::uint64_t most = cache.most_ordered_bytes.load(); most < now;)
      if (cache.most_ordered_bytes.compare_exchange_weak(most, now)) break;
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

// The driver's own free waits for the device. A program can tell where it looks at memory that both see.
bool must_wait(Cache& cache) {
  FreeChoice const choice = options().free;
  if (choice == FreeChoice::Lazy) return false;
  if (choice == FreeChoice::Auto && recorder().host_visible_blocks() == 0) return false;
  return !cache.allocator->streams().idle();
}

// What the driver says to a free in the middle of a capture, where it is unsafe: the same as to an allocation.
CUresult ask_whether_safe() {
  CUdeviceptr probe = 0;
  CUresult const result = call(&Driver::cuMemAlloc_v2, &probe, std::size_t{1});
  if (result == CUDA_SUCCESS) call(&Driver::cuMemFree_v2, probe);
  return result;
}

CUresult free_in(Cache& cache, CUdeviceptr address, KnownStream* stream) {
  allocator::Allocator::Block block;
  if (!cache.allocator->describe(address, &block)) return CUDA_ERROR_INVALID_VALUE;
  auto const owned = recorder().registry().find(trace::Space::Memory, address);
  bool const ordered = owned && owned->block_class == trace::Class::Pool;
  if (stream == nullptr) {
    if (capturing())
      if (CUresult const unsafe = ask_whether_safe(); unsafe != CUDA_SUCCESS) return unsafe;
    if (cache.sick.load(std::memory_order_relaxed)) return call(&Driver::cuCtxSynchronize);
    if (!ordered && must_wait(cache) && cache.allocator->streams().synchronize() != Status::Ok) {
      CUresult const error = cache.upstream.last_error();
      saw_result(error);
      if (is_sticky(error)) return error;
    }
  }
  Leaving const leaving = recording() ? recorder().leave(trace::Space::Memory, address) : Leaving{};
  tell_checker_freed(cache, address, block.requested_bytes, stream);
  if (follows_uses()) block_ends(cache, address, block.requested_bytes, stream);
  DomainId const domain = stream == nullptr ? DomainId::Shared : domain_of(*stream, cache);
  // Of two threads that free the same block, the one that is told so need not be the one that records it.
  bool const freed = cache.allocator->free_in(address, domain) == Freed::Yes;
  if (leaving.known) {
    if (ordered) cache.ordered_bytes.fetch_sub(block.rounded_bytes);
    recorder().left(leaving, stream == nullptr ? 0 : reinterpret_cast<std::uint64_t>(stream->cuda.stream));
  }
  note_use(cache);
  return freed ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

template <class F>
bool answered(F f) {
  bool done = false;
  shield([&] {
    Quietly const quietly;
    confirm_submission();
    done = f();
  });
  return done;
}

}  // namespace

bool is_current() {
  const Here& at = this_thread().here;
  return at.cache != nullptr && at.epoch == detail::epoch.load(std::memory_order_acquire) && !is_forked();
}

bool allocate(CUdeviceptr* out, std::size_t bytes) {
  if (out == nullptr || bytes == 0 || !ready() || !serving()) return false;
  return answered([&] {
    Cache* const cache = may_serve();
    return cache != nullptr && allocate_in(*cache, out, bytes, nullptr);
  });
}

bool allocate_ordered(CUdeviceptr* out, std::size_t bytes, const order::Stream& stream) {
  if (out == nullptr || bytes == 0 || !ready() || !serving()) return false;
  return answered([&] {
    Cache* const cache = may_serve();
    KnownStream* const known = cache == nullptr ? nullptr : known_stream(stream);
    // Memory comes from the stream's device, whichever is current.
    if (known == nullptr || reinterpret_cast<std::uint64_t>(known->cuda.context) != cache->context) return false;
    submit(*known);
    confirm_submission();
    return allocate_in(*cache, out, bytes, known);
  });
}

bool free(CUdeviceptr block, CUresult* result) {
  if (block == 0 || !has_caches() || is_forked()) return false;
  return answered([&] {
    Cache* const cache = owner_of(block);
    if (cache == nullptr) return false;
    *result = free_in(*cache, block, nullptr);
    return true;
  });
}

bool free_ordered(CUdeviceptr block, const order::Stream& stream, CUresult* result) {
  if (block == 0 || !has_caches() || is_forked()) return false;
  return answered([&] {
    Cache* const cache = owner_of(block);
    KnownStream* const known = cache == nullptr ? nullptr : known_stream(stream);
    if (known == nullptr) return false;
    submit(*known);
    confirm_submission();
    *result = free_in(*cache, block, known);
    return true;
  });
}

bool relieve(std::uint8_t device, std::uint64_t wanted_bytes) {
  if (!has_caches() || capturing()) return false;
  std::uint64_t given = 0;
  for_each_cache([&](Cache& cache) {
    if (cache.device == device && given < wanted_bytes) given += cache.allocator->give_back(wanted_bytes - given);
  });
  return given != 0;
}

void empty_caches() {
  if (!has_caches() || is_forked() || capturing()) return;
  for_each_cache([](Cache& cache) { cache.allocator->give_back(kEverything); });
}

Found find_block(std::uint64_t address, Block* block) {
  if (!has_caches() || is_forked()) return Found::NotOurs;
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

bool is_within_blocks(const order::Entry& entry, const order::Arguments& arguments) {
  if (!has_caches()) return true;
  order::Ranges const named = order::ranges_of(entry, arguments);
  for (std::size_t i = 0; i < named.count; ++i) {
    order::Range const& range = named.ranges[i];
    Cache* const cache = owner_of(range.address);
    allocator::Allocator::Block block;
    if (cache == nullptr) continue;
    if (!cache->allocator->describe_around(range.address, &block) ||
        range.bytes > block.requested_bytes - std::min(block.requested_bytes, range.address - block.address))
      return false;
  }
  return true;
}

bool is_ours(std::uint64_t address) {
  return has_caches() && !is_forked() && owner_of(address) != nullptr;
}

std::uint64_t mapped_bytes(std::uint8_t device) {
  std::uint64_t bytes = 0;
  for_each_cache([&](Cache& cache) {
    if (cache.device == device && cache.upstream.can_map()) bytes += cache.allocator->arena().use().reserved_bytes;
  });
  return bytes;
}

std::uint64_t returnable_bytes(std::uint8_t device) {
  std::uint64_t bytes = 0;
  for_each_cache([&](Cache& cache) {
    if (cache.device == device) bytes += cache.allocator->arena().returnable_bytes();
  });
  return bytes;
}

}  // namespace tidemark::interpose::serve
