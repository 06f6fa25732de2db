// SPDX-License-Identifier: Apache-2.0
#include "interpose/serve/captures.h"

#include <sched.h>

#include <array>
#include <atomic>
#include <mutex>

#include "base/address_map.h"
#include "base/spin_lock.h"
#include "interpose/serve/cache.h"

namespace tidemark::interpose::serve {
namespace {

struct Capture {
  CUstream stream = nullptr;  // null: a thread's own default stream, about which only that thread can ask
  bool begun = false;         // the driver has said so
  bool lost = false;          // its stream is destroyed
};

constinit std::atomic<std::uint64_t> active{0};
constinit std::atomic<std::uint64_t> at_streams{0};  // calls of the allocator's that name a stream, under way
constinit SpinLock lock;
constinit AddressMap<Capture> captures;  // under the lock, like the rest
constinit std::array<allocator::Allocator::CaptureId, kMostCaches> held{};
constinit bool holding = false;

bool is_own(CUstream stream, bool per_thread) {
  return stream == CU_STREAM_PER_THREAD || (stream == nullptr && per_thread);
}
std::uint64_t key_of(CUstream stream, bool per_thread) {
  return is_own(stream, per_thread) ? reinterpret_cast<std::uint64_t>(&this_thread())
                                    : reinterpret_cast<std::uint64_t>(stream);
}

CUstreamCaptureStatus status_of(CUstream stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return call(&Driver::cuStreamIsCapturing, stream, &status) == CUDA_SUCCESS ? status : CU_STREAM_CAPTURE_STATUS_NONE;
}

void hold() {
  if (holding) return;
  holding = true;
  for_each_cache([](Cache& cache) { held[cache.number] = cache.allocator->begin_capture(); });
}

// Nothing that was served was handed out during the capture: its graphs hold none of it.
void let_go() {
  if (!holding) return;
  holding = false;
  for_each_cache([](Cache& cache) {
    if (held[cache.number] == 0) return;
    cache.allocator->end_capture(held[cache.number]);
    cache.allocator->graphs_are_gone(held[cache.number]);
    held[cache.number] = 0;
  });
}

void remove(std::uint64_t key) {
  if (captures.erase(key)) active.fetch_sub(1, std::memory_order_seq_cst);
  if (captures.size() == 0) let_go();
}

// A capture may end without its own call: with its stream, or its context.
void drop_ended() {
  std::uint64_t ended = 0;
  do {
    ended = 0;
    captures.for_each([&](std::uint64_t key, const Capture& capture) {
      if (capture.lost ||
          (capture.begun && capture.stream != nullptr && status_of(capture.stream) == CU_STREAM_CAPTURE_STATUS_NONE))
        ended = key;
    });
    if (ended != 0) remove(ended);
  } while (ended != 0);
}

}  // namespace

bool capturing() {
  if (active.load(std::memory_order_seq_cst) == 0) [[likely]]
    return false;
  std::scoped_lock const guard(lock);
  drop_ended();
  return captures.size() != 0;
}

CaptureBegin before_capture(CUstream stream, bool per_thread) {
  std::uint64_t const key = key_of(stream, per_thread);
  if (key == 0 || key == 1) return {};  // the legacy stream cannot be captured
  std::scoped_lock const guard(lock);
  hold();
  Capture* const capture = captures.insert(key);
  if (capture == nullptr) return {};
  bool const nested = capture->begun;  // the call will fail: there is one already
  if (nested) return {};
  capture->stream = is_own(stream, per_thread) ? nullptr : stream;
  active.fetch_add(1, std::memory_order_seq_cst);
  while (at_streams.load(std::memory_order_seq_cst) != 0) sched_yield();
  return {.key = key};
}

void after_capture_begun(const CaptureBegin& begin, bool well) {
  if (begin.key == 0) return;
  std::scoped_lock const guard(lock);
  if (!well) return remove(begin.key);
  if (Capture* const capture = captures.find(begin.key)) capture->begun = true;
}

void after_capture_ended(CUstream stream, bool per_thread) {
  if (active.load(std::memory_order_seq_cst) == 0) return;
  std::uint64_t const key = key_of(stream, per_thread);
  std::scoped_lock const guard(lock);
  if (is_own(stream, per_thread) ? status_of(CU_STREAM_PER_THREAD) == CU_STREAM_CAPTURE_STATUS_NONE
                                 : status_of(stream) == CU_STREAM_CAPTURE_STATUS_NONE)
    remove(key);
}

void capture_loses(std::uint64_t stream) {
  if (active.load(std::memory_order_seq_cst) == 0) return;
  std::scoped_lock const guard(lock);
  // Told before the driver destroys it: until somebody asks next it is going on.
  if (Capture* const capture = captures.find(stream)) capture->lost = true;
}

bool enter_stream(CUstream stream) {
  at_streams.fetch_add(1, std::memory_order_seq_cst);
  if (active.load(std::memory_order_seq_cst) == 0) [[likely]]
    return true;
  bool const own = stream == nullptr || stream == CU_STREAM_LEGACY || stream == CU_STREAM_PER_THREAD;
  if (!own && status_of(stream) == CU_STREAM_CAPTURE_STATUS_NONE) return true;
  leave_stream();
  return false;
}

void leave_stream() {
  at_streams.fetch_sub(1, std::memory_order_seq_cst);
}

}  // namespace tidemark::interpose::serve
