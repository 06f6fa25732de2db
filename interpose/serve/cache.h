// SPDX-License-Identifier: Apache-2.0
// The caches: one allocator for each context that memory was asked for in.
//
// Any thread. A cache is never taken down, since another thread may be in it: when its context has ended it is empty,
// but for blocks that outlive contexts, and serves the next context of its device.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>

#include "allocator/core/allocator.h"
#include "allocator/cuda/cuda_upstream.h"
#include "interpose/process/stage.h"
#include "interpose/real/driver.h"
#include "interpose/record/thread.h"
#include "interpose/serve/streams.h"

namespace tidemark::interpose::serve {

struct Cache {
  Cache(const allocator::DriverFunctions& functions, CUcontext of, CUdevice on)
      : device(static_cast<std::uint8_t>(on)),
        upstream(functions, of, on),
        context(reinterpret_cast<std::uint64_t>(of)) {}

  std::uint8_t device;
  std::size_t number = 0;
  allocator::CudaUpstream upstream;
  std::unique_ptr<allocator::Allocator> allocator;
  std::atomic<std::uint64_t> context;  // 0: it has ended
  // An error that stays until the context ends: its calls are the driver's to answer.
  std::atomic<bool> sick{false};
  std::atomic<std::uint64_t> checked_ticks{0};  // when that was last asked
  // Live, of the default pool's blocks; the most since either of the pool's own two marks was put back.
  std::atomic<std::uint64_t> ordered_bytes{0}, most_ordered_bytes{0}, most_reserved_bytes{0};
  // For the trace (usage.h): the changes that are in it, when it may be told again, and what it was told at most.
  std::atomic<std::uint32_t> noted_changes{0};
  std::atomic<std::uint64_t> note_due_ns{0}, pins_due_ns{0}, most_noted_bytes{0};
};

namespace detail {
extern constinit std::atomic<std::uint64_t> epoch;  // changes with every context that begins or ends to be served
extern constinit std::array<std::atomic<Cache*>, kMostCaches> caches;
extern constinit std::atomic<std::size_t> cache_count;
extern constinit std::array<std::atomic<std::uint64_t>, kMostContexts> contexts;
void look_here(Here& here);
}  // namespace detail

// Where this thread's calls take effect. The driver is asked only when that may have changed.
inline Here& here() {
  Here& at = this_thread().here;
  if (at.epoch != detail::epoch.load(std::memory_order_acquire)) [[unlikely]]
    detail::look_here(at);
  return at;
}
// This thread's context is about to be another one.
inline void leave_here() {
  this_thread().here.epoch = 0;
}

// A child that was forked after the first CUDA call has none of its parent's memory, and locks of the parent's threads
// may be held for ever in it.
inline bool is_forked() {
  const auto* const page = interpose::detail::stage_page.load(std::memory_order_acquire);
  return page != nullptr && page->stage.load(std::memory_order_acquire) == Stage::Forked;
}
inline bool has_caches() {
  return detail::cache_count.load(std::memory_order_acquire) != 0 && !is_forked();
}
template <class F>
void for_each_cache(F f) {
  std::size_t const count = detail::cache_count.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < count; ++i) f(*detail::caches[i].load(std::memory_order_acquire));
}
// Contexts that were current on some thread and have not ended.
template <class F>
void for_each_context(F f) {
  for (auto const& slot : detail::contexts)
    if (std::uint64_t const context = slot.load(std::memory_order_acquire); context != 0) f(context);
}
// Whether this thread has one; where it seemed to have none, the driver is asked again.
bool has_context();
// Whose memory lies at an address: a block that was served, or a part of one; null: nobody's.
Cache* owner_of(std::uint64_t address);
// The cache of the current context, made if there is none; null where memory cannot be served.
Cache* cache_here();

// A context has ended, perhaps with others that were made of it: their blocks with them, but for those that outlive
// contexts. Before the recorder is told.
void context_ended(std::uint64_t context);
// Whether the current context, which is the cache's, still works, as far as is known; the driver is asked now and then.
bool is_well(Cache& cache);
// What a call that waits for the device was told.
void saw_result(CUresult result);

}  // namespace tidemark::interpose::serve
