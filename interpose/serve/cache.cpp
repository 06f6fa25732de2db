// SPDX-License-Identifier: Apache-2.0
#include "interpose/serve/cache.h"

#include <algorithm>
#include <mutex>
#include <new>

#include "base/reserved.h"
#include "base/spin_lock.h"
#include "interpose/limit/limit.h"
#include "interpose/record/devices.h"
#include "interpose/record/recorder.h"
#include "interpose/serve/captures.h"
#include "interpose/serve/functions.h"
#include "interpose/serve/idle.h"
#include "interpose/serve/mode.h"
#include "interpose/serve/peers.h"
#include "interpose/serve/serve.h"
#include "interpose/serve/uses.h"

namespace tidemark::interpose::serve {

constinit std::atomic<std::uint64_t> detail::epoch{1};
constinit std::array<std::atomic<Cache*>, kMostCaches> detail::caches{};
constinit std::atomic<std::size_t> detail::cache_count{0};
constinit std::array<std::atomic<std::uint64_t>, kMostContexts> detail::contexts{};

namespace {

constinit SpinLock making;
// How often the driver is asked whether the context still works: about a thousand times a second on any machine.
constexpr std::uint64_t kCheckTicks = 1 << 21;

std::uint32_t number_of(std::uint64_t context) {
  for (std::uint32_t i = 0; i < kMostContexts; ++i) {
    std::uint64_t nobody = 0;
    if (detail::contexts[i].load(std::memory_order_acquire) == context) return i;
    if (detail::contexts[i].compare_exchange_strong(nobody, context) || nobody == context) return i;
  }
  // More contexts than can be told apart: what their threads' own streams do is not seen.
  for_each_cache([](Cache& cache) { cache.allocator->expect_unseen_submissions(); });
  return kMostContexts - 1;
}

Cache* find(std::uint64_t context) {
  Cache* found = nullptr;
  for_each_cache([&](Cache& cache) {
    if (cache.context.load(std::memory_order_acquire) == context) found = &cache;
  });
  return found;
}

void new_epoch() {
  detail::epoch.fetch_add(1, std::memory_order_acq_rel);
}

// A cache whose context has ended serves another one of the same device.
Cache* adopt(CUcontext context, std::uint8_t device) {
  Cache* idle = nullptr;
  for_each_cache([&](Cache& cache) {
    if (cache.context.load(std::memory_order_acquire) == 0 && cache.device == device) idle = &cache;
  });
  if (idle == nullptr) return nullptr;
  idle->upstream.move_to(context);
  idle->sick.store(false, std::memory_order_relaxed);
  idle->context.store(reinterpret_cast<std::uint64_t>(context), std::memory_order_release);
  let_peers_in(*idle);
  return idle;
}

Cache* make(CUcontext context, std::uint8_t device) {
  std::size_t const number = detail::cache_count.load(std::memory_order_relaxed);
  std::size_t total = 0;
  if (number == kMostCaches || call(&Driver::cuDeviceTotalMem_v2, &total, CUdevice{device}) != CUDA_SUCCESS)
    return nullptr;
  auto made = std::make_unique<Cache>(driver_functions(), context, CUdevice{device});
  made->number = number;
  let_peers_in(*made);
  made->allocator = allocator::Allocator::make(made->upstream, allocator_options(total));
  if (made->allocator == nullptr) return nullptr;
  if (order::unknown_function() != nullptr) made->allocator->expect_unseen_submissions();
  detail::caches[number].store(made.get(), std::memory_order_release);
  detail::cache_count.store(number + 1, std::memory_order_release);
  return made.release();
}

// Asked where no capture minds.
bool finds_sick() {
  if (!enter_stream(nullptr)) return false;
  CUresult const result = call(&Driver::cuStreamQuery, CUstream{nullptr});
  leave_stream();
  devices().sample_moved();  // the question may have let work go on
  return is_sticky(result);
}

}  // namespace

void detail::look_here(Here& at) {
  std::uint64_t const now = epoch.load(std::memory_order_acquire);
  CUcontext context = nullptr;
  at.context = call(&Driver::cuCtxGetCurrent, &context) == CUDA_SUCCESS ? reinterpret_cast<std::uint64_t>(context) : 0;
  at.cache = at.context == 0 ? nullptr : find(at.context);
  at.context_number = at.context == 0 ? 0 : number_of(at.context);
  at.called = 0;
  at.epoch = now;
}

bool has_context() {
  if (here().context == 0) leave_here();
  return here().context != 0;
}

Cache* owner_of(std::uint64_t address) {
  Cache* owner = nullptr;
  for_each_cache([&](Cache& cache) {
    const allocator::Arena& arena = cache.allocator->arena();
    if (arena.contains(address) || arena.find(address) != nullptr) owner = &cache;
  });
  return owner;
}

Cache* cache_here() {
  Here& at = here();
  if (at.cache != nullptr || at.context == 0) return at.cache;
  look_for_frameworks();
  if (!serving()) return nullptr;
  Place const place = current_place();
  if (place.context != at.context || finds_sick()) return nullptr;
  devices().meet(place.device);
  std::scoped_lock const guard(making);
  Cache* cache = find(at.context);
  auto* const context = reinterpret_cast<CUcontext>(at.context);
  if (cache == nullptr) cache = adopt(context, place.device);
  if (cache == nullptr) cache = make(context, place.device);
  if (cache == nullptr) {
    stop("no address space for a cache");
    return nullptr;
  }
  new_epoch();
  start_idle_trim();
  return here().cache;
}

namespace {

// The served blocks of a context that end with it.
void free_blocks_of(std::uint64_t context) {
  Registry& registry = recorder().registry();
  Reserved const memory = Reserved::map((registry.size() + 1) * sizeof(std::uint64_t));
  auto* const addresses = reinterpret_cast<std::uint64_t*>(memory.data());
  std::size_t const most = addresses == nullptr ? 0 : memory.bytes() / sizeof(std::uint64_t);
  std::size_t count = 0;
  registry.for_each(trace::Space::Memory, [&](std::uint64_t address, const Owned& block) {
    if (block.generation != 0 && block.context == context && count < most) addresses[count++] = address;
  });
  for (std::size_t i = 0; i < count; ++i)
    if (Cache* const cache = owner_of(addresses[i])) cache->allocator->free(addresses[i]);
}

void end_context(std::uint64_t context) {
  forget_streams_of(context);
  if (follows_uses()) forget_functions();
  forget_peers_of(context);
  for_each_cache([&](Cache& cache) { cache.upstream.forget_events_of(reinterpret_cast<CUcontext>(context)); });
  for (auto& slot : detail::contexts) {
    std::uint64_t expected = context;
    slot.compare_exchange_strong(expected, 0);
  }
  Cache* const cache = find(context);
  if (cache != nullptr) {
    // What is given back now needs no context; what only a context could give back went with it.
    cache->upstream.move_to(nullptr);
    cache->allocator->own_stream_is_gone();
    free_blocks_of(context);
    // Not waiting for other contexts' work, which may wait for this thread: what is left is given back when it is asked
    // for, or serves the device's next context.
    cache->allocator->give_back(kEverything, allocator::Allocator::Patience::Never);
    cache->context.store(0, std::memory_order_release);
  }
  new_epoch();
}

}  // namespace

void context_ended(std::uint64_t context) {
  leave_here();
  end_context(context);
  // Green contexts end with the one that they are part of.
  for_each_context([](std::uint64_t other) {
    unsigned int version = 0;
    if (call(&Driver::cuCtxGetApiVersion, reinterpret_cast<CUcontext>(other), &version) != CUDA_SUCCESS)
      end_context(other);
  });
}

bool is_sticky(CUresult result) {
  switch (result) {
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_TIMEOUT:
    case CUDA_ERROR_ASSERT:
    case CUDA_ERROR_HARDWARE_STACK_ERROR:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_INVALID_ADDRESS_SPACE:
    case CUDA_ERROR_INVALID_PC:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_ECC_UNCORRECTABLE:
    case CUDA_ERROR_NVLINK_UNCORRECTABLE:
    case CUDA_ERROR_CONTAINED:
    case CUDA_ERROR_TENSOR_MEMORY_LEAK:
    case CUDA_ERROR_EXTERNAL_DEVICE: return true;
    default: return false;
  }
}

bool is_well(Cache& cache) {
  if (cache.sick.load(std::memory_order_relaxed)) return false;
  std::uint64_t const now = recorder().file().clock().now();
  if (now - cache.checked_ticks.load(std::memory_order_relaxed) < kCheckTicks) return true;
  cache.checked_ticks.store(now, std::memory_order_relaxed);
  if (finds_sick()) cache.sick.store(true, std::memory_order_relaxed);
  look_for_frameworks();
  return serving() && !cache.sick.load(std::memory_order_relaxed);
}

void saw_result(CUresult result) {
  if (result == CUDA_SUCCESS || !is_sticky(result)) return;
  if (Cache* const cache = here().cache) cache->sick.store(true, std::memory_order_relaxed);
}

}  // namespace tidemark::interpose::serve
