// SPDX-License-Identifier: Apache-2.0
#include "interpose/real/driver.h"

#include <atomic>
#include <mutex>

#include "base/spin_lock.h"
#include "interpose/real/library.h"

namespace tidemark::interpose {
namespace {

constinit Driver table;
constinit std::atomic<bool> filled{false};
constinit SpinLock filling;

constexpr const char* kNames[] = {
#define TIDEMARK_REAL(symbol) #symbol,
#define TIDEMARK_REAL_TWIN(symbol, twin) #symbol, #twin,
#include "interpose/real/driver_functions.inc"
#undef TIDEMARK_REAL
#undef TIDEMARK_REAL_TWIN
};
static_assert(sizeof(Driver) == sizeof(kNames));

template <class F>
void look_up(const char* name, F& out) {
  out = reinterpret_cast<F>(library_symbol(Library::Driver, name));
}

void fill(Driver& fresh) {
#define TIDEMARK_REAL(symbol) look_up(#symbol, fresh.symbol);
#define TIDEMARK_REAL_TWIN(symbol, twin) \
  look_up(#symbol, fresh.symbol);        \
  look_up(#twin, fresh.twin);
#include "interpose/real/driver_functions.inc"
#undef TIDEMARK_REAL
#undef TIDEMARK_REAL_TWIN
}

}  // namespace

bool has_driver() {
  if (filled.load(std::memory_order_acquire)) return true;
  if (library_handle(Library::Driver) == nullptr) return false;
  // Looked up before the lock is taken: a lookup waits while somebody opens a library, whose constructor may be waiting
  // for us here.
  Driver fresh;
  fill(fresh);
  std::scoped_lock const guard(filling);
  if (!filled.load(std::memory_order_relaxed)) table = fresh;
  filled.store(true, std::memory_order_release);
  return true;
}

const Driver& driver() {
  has_driver();
  return table;
}

void* driver_symbol(const char* name) {
  return library_symbol(Library::Driver, name);
}

void* driver_stub(std::size_t place) {
  return has_driver() ? nullptr : behind_us(kNames[place]);
}

}  // namespace tidemark::interpose
