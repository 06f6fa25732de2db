// SPDX-License-Identifier: Apache-2.0
#include "interpose/serve/streams.h"

#include <pthread.h>
#include <string.h>

#include <mutex>
#include <new>
#include <vector>

#include "base/address_map.h"
#include "base/spin_lock.h"
#include "interpose/process/shield.h"
#include "interpose/real/primary.h"
#include "interpose/record/devices.h"
#include "interpose/record/recorder.h"
#include "interpose/serve/cache.h"
#include "interpose/serve/captures.h"
#include "interpose/serve/uses.h"

namespace tidemark::interpose::serve {
namespace {

using allocator::DomainId;
using order::Work;

constinit SpinLock table_lock;
constinit AddressMap<KnownStream*> by_key;
constinit KnownStream* unused = nullptr;
constinit std::atomic<std::uint64_t> heeded_untold{0};
constinit std::atomic<bool> heeded_unknown{false};

// Contexts and streams are addresses, so a default stream can be called by its context and a thread's own one by the
// thread, with the number of the cache added: they are aligned, and none is that small.
constexpr std::uint64_t kLegacyMark = 1;
static_assert(sizeof(Thread) > kMostContexts);

std::uint64_t key_of(const order::Stream& stream, const Here& at) {
  switch (stream.kind) {
    case order::Stream::Kind::Handle: return stream.handle;
    case order::Stream::Kind::Legacy: return at.context == 0 ? 0 : at.context | kLegacyMark;
    case order::Stream::Kind::PerThread:
      return at.context == 0 ? 0 : reinterpret_cast<std::uint64_t>(&this_thread()) + at.context_number;
    default: return 0;
  }
}

// Null: the driver knows no such stream.
CUcontext context_of(CUstream stream) {
  CUcontext context = nullptr;
  return call(&Driver::cuStreamGetCtx, stream, &context) == CUDA_SUCCESS ? context : nullptr;
}

allocator::CudaStream describe(const order::Stream& stream, const Here& at) {
  if (stream.kind == order::Stream::Kind::Handle) {
    auto* const handle = reinterpret_cast<CUstream>(stream.handle);
    return {.context = context_of(handle), .stream = handle};
  }
  bool const own = stream.kind == order::Stream::Kind::PerThread;
  return {.context = reinterpret_cast<CUcontext>(at.context),
          .stream = own ? CU_STREAM_PER_THREAD : nullptr,
          .own_default = own};
}

// A thread that ends takes its default streams along.
void thread_ends(void* self) {
  if (!has_caches()) return;
  shield([&] {
    confirm_submission();
    for (std::size_t i = 0; i < kMostContexts; ++i) forget_stream(reinterpret_cast<std::uint64_t>(self) + i);
  });
}
pthread_key_t thread_key() {
  static pthread_key_t const key = [] {
    pthread_key_t made = 0;
    return pthread_key_create(&made, &thread_ends) == 0 ? made : pthread_key_t(-1);
  }();
  return key;
}

KnownStream* insert(std::uint64_t key, const allocator::CudaStream& cuda) {
  std::scoped_lock const guard(table_lock);
  KnownStream** const place = by_key.insert(key);
  if (place == nullptr || *place != nullptr) return place == nullptr ? nullptr : *place;
  KnownStream* made = unused;
  if (made != nullptr) unused = made->next;
  if (made == nullptr) made = new (std::nothrow) KnownStream;
  if (made == nullptr) {
    by_key.erase(key);
    return nullptr;
  }
  made->idle = false;
  made->cuda = cuda;
  made->clock.store(KnownStream::kNoClock, std::memory_order_relaxed);
  for (auto& domain : made->domains) domain.store(DomainId::Shared, std::memory_order_relaxed);
  // Last: a thread that remembers it from an earlier stream of the same name may find it by that.
  made->key.store(key, std::memory_order_release);
  return *place = made;
}

KnownStream* find(std::uint64_t key) {
  std::scoped_lock const guard(table_lock);
  KnownStream** const found = by_key.find(key);
  return found == nullptr ? nullptr : *found;
}

// Takes it out of the table. The caller calls recycle() when it is done with it.
KnownStream* take_out(std::uint64_t key) {
  std::scoped_lock const guard(table_lock);
  KnownStream** const found = by_key.find(key);
  KnownStream* const stream = found == nullptr ? nullptr : *found;
  if (stream != nullptr) by_key.erase(key);
  return stream;
}
void recycle(KnownStream& stream) {
  std::scoped_lock const guard(table_lock);
  if (stream.idle || stream.unconfirmed.load(std::memory_order_acquire) != 0) return;
  stream.idle = true;
  stream.next = unused;
  unused = &stream;
}

bool is_destruction(const order::Entry& entry) {
  return strncmp(entry.name, "cuStreamDestroy", 15) == 0;
}

// Host functions, and streams that wait for a value in memory.
bool may_wait_for_host(const order::Entry& entry) {
  return entry.work == Work::Host || entry.work == Work::Graph ||
         (entry.work == Work::Stream && strncmp(entry.name, "cuStreamWaitEvent", 17) != 0);
}

bool is_being_captured(const KnownStream& stream) {
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  return call(&Driver::cuStreamIsCapturing, stream.cuda.stream, &status) == CUDA_SUCCESS &&
         status != CU_STREAM_CAPTURE_STATUS_NONE;
}

}  // namespace

KnownStream* known_stream(const order::Stream& stream) {
  Here& at = here();
  std::uint64_t const key = key_of(stream, at);
  if (key == 0) return nullptr;
  if (at.called == key && at.stream->key.load(std::memory_order_acquire) == key) [[likely]]
    return at.stream;
  KnownStream* found = find(key);
  if (found == nullptr) {
    allocator::CudaStream const cuda = describe(stream, at);
    if (cuda.context == nullptr) return nullptr;
    pthread_setspecific(thread_key(), &this_thread());
    found = insert(key, cuda);
    if (found == nullptr) return nullptr;
  }
  at.stream = found;
  at.called = key;
  return found;
}

DomainId domain_of(KnownStream& stream, Cache& cache) {
  auto& slot = stream.domains[cache.number];
  DomainId domain = slot.load(std::memory_order_acquire);
  if (domain != DomainId::Shared) [[likely]]
    return domain;
  static constinit SpinLock adding;
  std::scoped_lock const guard(adding);
  domain = slot.load(std::memory_order_relaxed);
  if (domain != DomainId::Shared) return domain;
  domain = cache.allocator->add_stream(handle_of(stream.cuda));
  slot.store(domain, std::memory_order_release);
  return domain;
}

KnownStream* stream_of(const Cache& cache, DomainId domain) {
  KnownStream* found = nullptr;
  std::scoped_lock const guard(table_lock);
  by_key.for_each([&](std::uint64_t, KnownStream* stream) {
    if (stream->domains[cache.number].load(std::memory_order_relaxed) == domain) found = stream;
  });
  return found;
}

void confirm_submission() {
  KnownStream*& last = this_thread().here.submitting;
  if (last == nullptr) return;
  std::size_t const told = this_thread().here.submitting_to;
  for_each_cache([&](Cache& cache) {
    // A cache that has come since was not told of the beginning.
    DomainId const domain = last->domains[cache.number].load(std::memory_order_acquire);
    if (cache.number < told && domain != DomainId::Shared) cache.allocator->after_submission(domain);
  });
  KnownStream& confirmed = *last;
  last = nullptr;
  bool const was_last = confirmed.unconfirmed.fetch_sub(1, std::memory_order_acq_rel) == 1;
  if (was_last && confirmed.key.load(std::memory_order_acquire) == 0) recycle(confirmed);
}

void submit(KnownStream& stream) {
  stream.unconfirmed.fetch_add(1, std::memory_order_acq_rel);
  std::size_t told = 0;
  for_each_cache([&](Cache& cache) {
    told = cache.number + 1;
    DomainId const domain = domain_of(stream, cache);
    if (domain == DomainId::Shared)
      cache.allocator->expect_unseen_submissions();  // more streams than can be told apart
    else
      cache.allocator->before_submission(domain);
  });
  this_thread().here.submitting = &stream;
  this_thread().here.submitting_to = told;
}

void heed_unseen() {
  std::uint64_t const untold = order::untold_calls();
  bool const unknown = order::unknown_function() != nullptr;
  if (untold == heeded_untold.load(std::memory_order_relaxed) &&
      unknown == heeded_unknown.load(std::memory_order_relaxed)) [[likely]]
    return;
  heeded_untold.store(untold, std::memory_order_relaxed);
  heeded_unknown.store(unknown, std::memory_order_relaxed);
  for_each_cache([](Cache& cache) { cache.allocator->expect_unseen_submissions(); });
}

CUresult wait_for_work_of(Cache& cache) {
  std::uint64_t const context = cache.context.load(std::memory_order_acquire);
  allocator::Streams& streams = cache.allocator->streams();
  bool all = !streams.unseen();
  std::vector<DomainId> busy;
  if (all) {
    std::scoped_lock const guard(table_lock);
    by_key.for_each([&](std::uint64_t, KnownStream* stream) {
      DomainId const domain = stream->domains[cache.number].load(std::memory_order_acquire);
      if (reinterpret_cast<std::uint64_t>(stream->cuda.context) == context && domain != DomainId::Shared &&
          !streams.is_idle(domain))
        busy.push_back(domain);
    });
  }
  for (DomainId const domain : busy) all = streams.wait_for_end(domain) == allocator::Status::Ok && all;
  if (all) return CUDA_SUCCESS;
  // Streams that could not be told apart, or asked one by one.
  CUresult result = CUDA_SUCCESS;
  if (!capturing())
    with_context(reinterpret_cast<CUcontext>(context), [&] { result = call(&Driver::cuCtxSynchronize); });
  if (recording()) devices().sample_moved();
  return result;
}

namespace {

// A capture's work does not run now, and its events order nothing: while there is one, everything counts as ordered.
void follow_uses(const order::Submission& work) {
  if (capturing()) return host_waits_for(0);
  bool const destroys = work.entry.work == Work::Stream && is_destruction(work.entry);
  if (work.entry.work == Work::Context || destroys) return;
  follow(work, work.stream.kind == order::Stream::Kind::None ? nullptr : known_stream(work.stream));
}

}  // namespace

void on_work(const order::Submission& work) {
  if (!has_caches()) {
    if (work.entry.work == Work::Context) leave_here();
    return;
  }
  confirm_submission();
  if (follows_uses()) [[unlikely]]
    follow_uses(work);
  switch (work.entry.work) {
    case Work::Context: return leave_here();
    case Work::Event:
    case Work::Sync:
    case Work::Capture: return;
    default: break;
  }
  if (work.stream.kind == order::Stream::Kind::None) return;
  heed_unseen();
  if (work.entry.work == Work::Stream && is_destruction(work.entry)) return forget_stream(work.stream.handle);
  KnownStream* const stream = known_stream(work.stream);
  if (stream == nullptr || (capturing() && is_being_captured(*stream))) return;
  if (may_wait_for_host(work.entry)) for_each_cache([](Cache& cache) { cache.allocator->host_may_hold_work(); });
  submit(*stream);
}

void forget_stream(std::uint64_t handle) {
  capture_loses(handle);
  KnownStream* const stream = take_out(handle);
  if (stream == nullptr) return;
  if (follows_uses()) forget_uses_of(*stream);
  for_each_cache([&](Cache& cache) {
    DomainId const domain = stream->domains[cache.number].load(std::memory_order_acquire);
    if (domain != DomainId::Shared) cache.allocator->remove_stream(domain);
  });
  stream->key.store(0, std::memory_order_release);
  recycle(*stream);
}

void forget_streams_of(std::uint64_t context) {
  for (;;) {
    std::uint64_t key = 0;
    {
      std::scoped_lock const guard(table_lock);
      by_key.for_each([&](std::uint64_t each, KnownStream* stream) {
        if (reinterpret_cast<std::uint64_t>(stream->cuda.context) == context) key = each;
      });
    }
    KnownStream* const stream = key == 0 ? nullptr : take_out(key);
    if (stream == nullptr) return;
    if (follows_uses()) forget_uses_of(*stream);
    for_each_cache([&](Cache& cache) {
      DomainId const domain = stream->domains[cache.number].load(std::memory_order_acquire);
      if (domain != DomainId::Shared) cache.allocator->stream_is_gone(domain);
    });
    stream->key.store(0, std::memory_order_release);
    recycle(*stream);
  }
}

}  // namespace tidemark::interpose::serve
