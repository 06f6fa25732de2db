// SPDX-License-Identifier: Apache-2.0
#include "interpose/real/driver.h"

#include <dlfcn.h>

#include <atomic>
#include <mutex>

#include "base/spin_lock.h"
#include "interpose/real/system.h"

namespace tidemark::interpose {
namespace {

constinit Driver table;
constinit std::atomic<void*> handle{nullptr};
constinit SpinLock filling;

template <class F>
void look_up(void* library, const char* name, F& out) {
  out = reinterpret_cast<F>(real_dlsym()(library, name));
}

void fill(void* library) {
#define TIDEMARK_REAL(symbol) look_up(library, #symbol, table.symbol);
#define TIDEMARK_REAL_TWIN(symbol, twin)   \
  look_up(library, #symbol, table.symbol); \
  look_up(library, #twin, table.twin);
#include "interpose/real/driver_functions.inc"
#undef TIDEMARK_REAL
#undef TIDEMARK_REAL_TWIN
}

// A library of that name which is not this one: with the second door ours carries the name too, and the launcher has
// put the driver's own under another one.
void* find_library() {
  for (const char* const name : {"libtidemark-driver.so.1", "libcuda.so.1"}) {
    void* const found = dlopen(name, RTLD_NOLOAD | RTLD_LAZY);
    if (found == nullptr) continue;
    void* const sample = real_dlsym()(found, "cuInit");
    if (sample != nullptr && !is_ours(sample)) return found;
    dlclose(found);
  }
  return nullptr;
}

}  // namespace

void* driver_handle() {
  if (void* const known = handle.load(std::memory_order_acquire); known != nullptr) return known;
  void* const library = find_library();
  if (library == nullptr) return nullptr;
  std::scoped_lock const guard(filling);
  if (handle.load(std::memory_order_relaxed) == nullptr) {
    fill(library);
    handle.store(library, std::memory_order_release);
  }
  return handle.load(std::memory_order_relaxed);
}

const Driver& driver() {
  driver_handle();
  return table;
}

bool has_driver() {
  return driver_handle() != nullptr;
}

void* driver_symbol(const char* name) {
  void* const library = driver_handle();
  return library == nullptr ? nullptr : real_dlsym()(library, name);
}

}  // namespace tidemark::interpose
