// SPDX-License-Identifier: Apache-2.0
#include "softgpu/cupti/buffers.h"

#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_set>
#include <utility>
#include <vector>

#include "softgpu/cupti/device.h"
#include "softgpu/cupti/records.h"
#include "softgpu/cupti/thread.h"

namespace tidemark::softgpu::cupti {
namespace {

// Enough that the client is not asked for each record; little enough that it soon sees them.
constexpr std::size_t kDeliverAt = 16u << 10;
// Where nobody takes records away: the client has registered no functions, or never comes to the end of a call.
constexpr std::size_t kMostStaged = 64u << 20;

using Bytes = std::vector<std::byte>;

struct Functions {
  CUpti_BuffersCallbackRequestFunc request = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete = nullptr;
};

struct Staging {
  std::mutex mutex;
  std::condition_variable changed;
  Bytes records;  // each preceded by its size in a word
  std::atomic<std::size_t> bytes{0};
  std::size_t dropped = 0;
  bool delivering = false;
  Functions functions;
  std::unordered_set<std::string> names;
  unsigned period_ms = 0;
  bool has_worker = false;
};

// Leaked: exit handlers of the program flush.
Staging& staging() {
  static auto& leaked = *new Staging;
  return leaked;
}

constinit thread_local bool t_delivering = false;

// The client's buffer that is being filled. Only touched by the thread that delivers.
struct Filling {
  std::uint8_t* buffer = nullptr;
  std::size_t size = 0, used = 0, most_records = 0, records = 0;

  bool has_room(std::size_t bytes) const {
    return buffer != nullptr && bytes <= size - used && (most_records == 0 || records < most_records);
  }
};
constinit Filling filling;

void give_back(const Functions& client) {
  if (filling.buffer == nullptr) return;
  Filling const full = std::exchange(filling, Filling{});
  client.complete(nullptr, 0, full.buffer, full.size, full.used);
}

bool make_room(const Functions& client, std::size_t bytes) {
  if (filling.has_room(bytes)) return true;
  give_back(client);
  Filling fresh;
  client.request(&fresh.buffer, &fresh.size, &fresh.most_records);
  if (fresh.buffer == nullptr) return false;
  filling = fresh;
  bool const aligned = reinterpret_cast<std::uintptr_t>(fresh.buffer) % ACTIVITY_RECORD_ALIGNMENT == 0;
  if (aligned && filling.has_room(bytes)) return true;
  give_back(client);  // of no use: the client gets it back empty
  return false;
}

// Returns how many records found no room.
std::size_t move_out(const Functions& client, const Bytes& records) {
  std::size_t dropped = 0;
  for (std::size_t at = 0; at < records.size();) {
    std::uint64_t bytes = 0;
    std::memcpy(&bytes, records.data() + at, sizeof bytes);
    at += sizeof bytes;
    if (make_room(client, bytes)) {
      std::memcpy(filling.buffer + filling.used, records.data() + at, bytes);
      filling.used += bytes;
      ++filling.records;
    } else {
      ++dropped;
    }
    at += bytes;
  }
  return dropped;
}

// Takes the right to deliver; a flush waits for whoever has it, the end of a call leaves the work to him.
bool begin_delivery(std::unique_lock<std::mutex>& lock, bool may_wait) {
  Staging& s = staging();
  if (may_wait) s.changed.wait(lock, [&] { return !s.delivering; });
  if (s.delivering) return false;
  s.delivering = true;
  return true;
}

// Until nothing is staged: the client's functions may have caused more.
void deliver_staged(std::unique_lock<std::mutex>& lock, Partly partly) {
  Staging& s = staging();
  Functions const client = s.functions;
  for (int round = 0; round < 16 && !s.records.empty(); ++round) {
    Bytes const records = std::exchange(s.records, {});
    s.bytes.store(0, std::memory_order_relaxed);
    lock.unlock();
    std::size_t const dropped = move_out(client, records);
    lock.lock();
    s.dropped += dropped;
  }
  if (partly == Partly::Keep || filling.used == 0) return;
  lock.unlock();
  give_back(client);
  lock.lock();
}

void run(Partly partly, bool may_wait) {
  if (t_delivering) return;  // called by the client's own buffer function
  Staging& s = staging();
  std::unique_lock lock(s.mutex);
  if (s.functions.request == nullptr || !begin_delivery(lock, may_wait)) return;
  t_delivering = true;
  {
    Quiet const quiet;
    deliver_staged(lock, partly);
  }
  t_delivering = false;
  s.delivering = false;
  s.changed.notify_all();
}

void periodic_flush() {
  Staging& s = staging();
  for (;;) {
    {
      std::unique_lock lock(s.mutex);
      s.changed.wait(lock, [&] { return s.period_ms != 0; });
      s.changed.wait_for(lock, std::chrono::milliseconds(s.period_ms));
    }
    if (s.bytes.load(std::memory_order_relaxed) != 0) deliver(Partly::Keep);
  }
}

void start_worker() {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread(periodic_flush).detach();
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

CUptiResult flush() {
  if (is_forked()) return CUPTI_ERROR_NOT_INITIALIZED;
  {
    std::lock_guard const lock(staging().mutex);
    if (staging().functions.request == nullptr) return CUPTI_ERROR_INVALID_OPERATION;
  }
  deliver(Partly::Deliver);
  return CUPTI_SUCCESS;
}

}  // namespace

void stage(const void* record, std::size_t bytes) {
  Staging& s = staging();
  std::lock_guard const lock(s.mutex);
  if (s.records.size() + bytes > kMostStaged) {
    ++s.dropped;
    return;
  }
  std::uint64_t const size = bytes;
  auto const* const head = reinterpret_cast<const std::byte*>(&size);
  auto const* const body = static_cast<const std::byte*>(record);
  s.records.insert(s.records.end(), head, head + sizeof size);
  s.records.insert(s.records.end(), body, body + bytes);
  s.bytes.store(s.records.size(), std::memory_order_relaxed);
}

const char* intern(const char* text) {
  if (text == nullptr) return nullptr;
  std::lock_guard const lock(staging().mutex);
  return staging().names.emplace(text).first->c_str();
}

void deliver_some() {
  if (staging().bytes.load(std::memory_order_relaxed) >= kDeliverAt) run(Partly::Keep, false);
}

void deliver(Partly partly) {
  run(partly, true);
}

void forget_buffers() {
  deliver(Partly::Deliver);
  Staging& s = staging();
  std::unique_lock lock(s.mutex);
  if (!t_delivering && begin_delivery(lock, true)) {
    Functions const client = std::exchange(s.functions, {});
    s.records.clear();
    s.bytes.store(0, std::memory_order_relaxed);
    s.dropped = 0;
    s.period_ms = 0;
    lock.unlock();
    give_back(client);
    lock.lock();
    s.delivering = false;
    s.changed.notify_all();
  }
}

}  // namespace tidemark::softgpu::cupti

using namespace tidemark::softgpu::cupti;

CUptiResult CUPTIAPI cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                                    CUpti_BuffersCallbackCompleteFunc complete) {
  if (request == nullptr || complete == nullptr) return answer(CUPTI_ERROR_INVALID_PARAMETER);
  if (is_forked() || device() == nullptr) return answer(CUPTI_ERROR_NOT_INITIALIZED);
  std::lock_guard const lock(staging().mutex);
  staging().functions = {request, complete};
  return CUPTI_SUCCESS;
}

// All records that are staged are complete, so that a forced flush finds no more than a plain one.
CUptiResult CUPTIAPI cuptiActivityFlushAll(uint32_t) {
  return answer(flush());
}

CUptiResult CUPTIAPI cuptiActivityFlush(CUcontext, uint32_t, uint32_t) {
  return answer(flush());
}

CUptiResult CUPTIAPI cuptiActivityFlushPeriod(uint32_t time_ms) {
  if (is_forked()) return answer(CUPTI_ERROR_NOT_INITIALIZED);
  std::lock_guard const lock(staging().mutex);
  staging().period_ms = time_ms;
  if (time_ms != 0 && !std::exchange(staging().has_worker, true)) start_worker();
  staging().changed.notify_all();
  return CUPTI_SUCCESS;
}

// Records belong to no single context here; the count is the process's.
CUptiResult CUPTIAPI cuptiActivityGetNumDroppedRecords(CUcontext, uint32_t, size_t* dropped) {
  if (dropped == nullptr) return answer(CUPTI_ERROR_INVALID_PARAMETER);
  if (is_forked()) return answer(CUPTI_ERROR_NOT_INITIALIZED);
  std::lock_guard const lock(staging().mutex);
  *dropped = std::exchange(staging().dropped, 0);
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI cuptiActivityGetNextRecord(uint8_t* buffer, size_t valid_bytes, CUpti_Activity** record) {
  if (buffer == nullptr || record == nullptr) return answer(CUPTI_ERROR_INVALID_PARAMETER);
  std::size_t at = 0;
  if (*record != nullptr) {
    auto const* const previous = reinterpret_cast<const std::uint8_t*>(*record);
    if (previous < buffer || previous >= buffer + valid_bytes) return answer(CUPTI_ERROR_INVALID_PARAMETER);
    std::size_t const bytes = record_bytes((*record)->kind);
    if (bytes == 0) return answer(CUPTI_ERROR_INVALID_KIND);
    at = static_cast<std::size_t>(previous - buffer) + bytes;
  }
  if (at >= valid_bytes) return answer(CUPTI_ERROR_MAX_LIMIT_REACHED);
  auto* const next = reinterpret_cast<CUpti_Activity*>(buffer + at);
  if (valid_bytes - at < sizeof next->kind) return answer(CUPTI_ERROR_INVALID_KIND);
  std::size_t const bytes = record_bytes(next->kind);
  if (bytes == 0 || bytes > valid_bytes - at) return answer(CUPTI_ERROR_INVALID_KIND);
  *record = next;
  return CUPTI_SUCCESS;
}
