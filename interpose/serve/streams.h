// SPDX-License-Identifier: Apache-2.0
// The streams of this process, as the allocators know them, and the listener that tells them of work.
//
// A stream may use the memory of every context, by a copy between devices or by access to a peer: so each one is known
// to every cache, under a number of that cache's own. A thread's last submission is confirmed by its next call.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>

#include "allocator/core/units.h"
#include "allocator/cuda/cuda_upstream.h"
#include "interpose/order/order.h"

namespace tidemark::interpose::serve {

struct Cache;

inline constexpr std::size_t kMostCaches = 32, kMostContexts = 48;

// Never taken down; one whose stream is gone serves the next one, when every thread has confirmed what it submitted.
struct KnownStream {
  std::atomic<std::uint64_t> key{0};  // 0: its stream is gone
  std::atomic<std::uint32_t> unconfirmed{0};
  allocator::CudaStream cuda;
  std::array<std::atomic<allocator::DomainId>, kMostCaches> domains{};  // Shared: not known there yet
  KnownStream* next = nullptr;                                          // while it is idle
  static constexpr int kNoClock = -2;
  std::atomic<int> clock{kNoClock};  // its number where uses are followed (uses.h)
  bool idle = false;
};

// Told before each call that submits work, orders streams or changes the context.
void on_work(const order::Submission& work);

// The stream that a call names, made known; null where there is no context, or no such stream.
KnownStream* known_stream(const order::Stream& stream);
// Its number in a cache. Shared where there are too many.
allocator::DomainId domain_of(KnownStream& stream, Cache& cache);
// The stream of a cache's number; null: none that is known.
KnownStream* stream_of(const Cache& cache, allocator::DomainId domain);
// What this thread submitted last is with the driver by now.
void confirm_submission();
// Where work was, or may be, submitted unseen: no stream is known to be idle any more.
void heed_unseen();
// Waits for all work of a cache's own context, as far as it is known to be under way.
CUresult wait_for_work_of(Cache& cache);
// Work of this stream begins, for all caches.
void submit(KnownStream& stream);
// Before the driver destroys it.
void forget_stream(std::uint64_t handle);
// All streams of a context that has ended.
void forget_streams_of(std::uint64_t context);

}  // namespace tidemark::interpose::serve
