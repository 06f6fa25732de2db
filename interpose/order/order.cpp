// SPDX-License-Identifier: Apache-2.0
#include "interpose/order/order.h"

#include <cuda.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <array>
#include <atomic>
#include <mutex>

#include "base/spin_lock.h"
#include "interpose/order/structures.h"
#include "interpose/process/shield.h"
#include "interpose/record/recorder.h"

namespace tidemark::interpose::order {
namespace {

constexpr Entry kEntries[] = {
#define TIDEMARK_ORDER_ENTRY(number, symbol, library, work, per_thread, slot) \
  {#symbol, Library::library, Work::work, per_thread, slot},
#include <order_entries.inc>
#undef TIDEMARK_ORDER_ENTRY
};
constexpr std::size_t kCount = std::size(kEntries);
constexpr std::size_t kDoorBytes = 32;  // as order.S lays them out

constinit std::array<std::atomic<void*>, kCount> reals{};
constinit std::atomic<Listener> the_listener{nullptr};
constinit std::atomic<Layers> the_layers{Layers::Driver};
constinit std::atomic<Guard> the_guard{nullptr};
constinit std::atomic<std::uint64_t> untold{0};
constinit std::atomic<const char*> unknown{nullptr};
constinit SpinLock changing;  // where doors lead

// Who listens to a library; null for nobody.
Listener heard_by(Library library) {
  Listener const listener = the_listener.load(std::memory_order_acquire);
  if (library == Library::Driver || the_layers.load(std::memory_order_relaxed) == Layers::DriverAndRuntime)
    return listener;
  return nullptr;
}

// Where neither the library nor a stand-in has the function. In every library 801 means "not supported".
int missing() {
  return CUDA_ERROR_NOT_SUPPORTED;
}

int refuse() {
  return CUDA_ERROR_INVALID_VALUE;
}

bool is_refused(const Entry& entry, const Arguments& arguments) {
  if (entry.library != Library::Driver || (entry.work != Work::Copy && entry.work != Work::Fill)) return false;
  Guard const guard = the_guard.load(std::memory_order_acquire);
  return guard != nullptr && !guard(entry, arguments);
}

// Work without a stream goes to the default one; the rest concerns none.
bool goes_to_default_stream(Work work) {
  return work == Work::Launch || work == Work::Copy || work == Work::Fill || work == Work::Interop;
}

Stream stream_of(const Entry& entry, std::uint64_t handle) {
  return order::stream_of(reinterpret_cast<const void*>(handle), entry.per_thread);
}

void tell(const Entry& entry, const Arguments& arguments, Listener listener) {
  if (entry.slot >= 0) return listener({entry, stream_of(entry, arguments.word(entry.slot)), &arguments});
  if (entry.slot == kNoStream)
    return listener({entry, goes_to_default_stream(entry.work) ? stream_of(entry, 0) : Stream{}, &arguments});
  struct Told {
    const Entry& entry;
    const Arguments& arguments;
    Listener listener;
  } told{entry, arguments, listener};
  for_each_stream(
      entry, arguments,
      [](std::uint64_t handle, void* data) {
        auto const& to = *static_cast<Told*>(data);
        to.listener({to.entry, stream_of(to.entry, handle), &to.arguments});
      },
      &told);
}

}  // namespace
}  // namespace tidemark::interpose::order

using namespace tidemark::interpose;

extern "C" {
// Weak: in a unit test there are no exported names.
extern const char tidemark_order_doors[] __attribute__((weak, visibility("hidden")));
// Read by the doors; see order.S.
__attribute__((visibility("hidden"))) constinit std::atomic<void*> tidemark_order_targets[order::kCount]{};
}

namespace tidemark::interpose::order {
namespace {

// The real function. Found once, it is where the door leads as long as nobody listens.
void* resolve(std::size_t number) {
  if (void* const known = reals[number].load(std::memory_order_acquire)) return known;
  int const before = errno;
  Entry const& entry = kEntries[number];
  void* const found = library_symbol(entry.library, entry.name);
  if (found != nullptr) reals[number].store(found, std::memory_order_release);
  errno = before;
  if (found == nullptr) {
    // A stub is not kept: it will come back for the real one.
    void* const stub = library_handle(entry.library) == nullptr ? behind_us(entry.name) : nullptr;
    return stub != nullptr ? stub : reinterpret_cast<void*>(&missing);
  }
  return found;
}

void open(std::size_t number) {
  std::scoped_lock const guard(changing);
  void* const real = reals[number].load(std::memory_order_acquire);
  if (heard_by(kEntries[number].library) == nullptr)
    tidemark_order_targets[number].store(real, std::memory_order_release);
}

}  // namespace

Stream stream_of(const void* handle, bool per_thread) {
  auto const number = reinterpret_cast<std::uint64_t>(handle);
  // The numbers behind CU_STREAM_LEGACY and CU_STREAM_PER_THREAD, the same in both libraries.
  if (number == 1 || (number == 0 && !per_thread)) return {.kind = Stream::Kind::Legacy};
  if (number == 2 || number == 0) return {.kind = Stream::Kind::PerThread};
  return {.kind = Stream::Kind::Handle, .handle = number};
}

void listen(Listener listener, Layers layers) {
  std::scoped_lock const guard(changing);
  the_layers.store(layers, std::memory_order_relaxed);
  the_listener.store(listener, std::memory_order_release);
  for (std::size_t i = 0; i < kCount; ++i) {
    void* const target = heard_by(kEntries[i].library) != nullptr ? nullptr : reals[i].load(std::memory_order_acquire);
    tidemark_order_targets[i].store(target, std::memory_order_release);
  }
}

void set_guard(Guard guard) {
  the_guard.store(guard, std::memory_order_release);
}

bool wanted(Library library) {
  return heard_by(library) != nullptr;
}

std::uint64_t untold_calls() {
  return untold.load(std::memory_order_acquire);
}

void met_unknown(const char* name) {
  if (unknown.load(std::memory_order_relaxed) != nullptr) return;
  // The name is the program's and may go away with the library that asked.
  char* const copy = strdup(name);
  const char* expected = nullptr;
  if (copy == nullptr) return;
  if (!unknown.compare_exchange_strong(expected, copy, std::memory_order_acq_rel)) return free(copy);
  if (recording()) recorder().names().fact("unknown_function", copy);
}

const char* unknown_function() {
  return unknown.load(std::memory_order_acquire);
}

void* door(int number) {
  return const_cast<char*>(tidemark_order_doors) + static_cast<std::size_t>(number) * kDoorBytes;
}

void tell(const Entry& entry, std::uint64_t stream) {
  Listener const listener = heard_by(entry.library);
  if (listener == nullptr) return;
  Stream const told = entry.slot == kNoStream ? Stream{} : stream_of(entry, stream);
  if (!shield([&] { listener({entry, told, nullptr}); })) untold.fetch_add(1);
}

}  // namespace tidemark::interpose::order

// The way around of every door: gives back the function to go on with.
extern "C" __attribute__((visibility("hidden"))) void* tidemark_order_enter(std::uint64_t number,
                                                                            const order::Arguments* arguments) {
  using namespace order;
  Entry const& entry = kEntries[number];
  if (Listener const listener = heard_by(entry.library)) {
    bool refused = false;
    bool const told = shield([&] {
      refused = is_refused(entry, *arguments);
      if (!refused) tell(entry, *arguments, listener);
    });
    if (!told) untold.fetch_add(1);
    return refused ? reinterpret_cast<void*>(&refuse) : resolve(number);
  }
  void* const real = resolve(number);
  shield([&] { open(number); });
  return real;
}
