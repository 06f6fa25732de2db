// SPDX-License-Identifier: Apache-2.0
#include "interpose/doors/table.h"

#include <string.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <string_view>

#include "interpose/order/order.h"
#include "interpose/real/driver.h"
#include "interpose/serve/mode.h"

// Here only their addresses count.
#define TIDEMARK_HOOKED_NAME(symbol, library, hook) extern "C" __attribute__((visibility("hidden"))) void hook();
#define TIDEMARK_ORDER_NAME(symbol, library, number)
#include <hooked_names.inc>
#undef TIDEMARK_HOOKED_NAME
#undef TIDEMARK_ORDER_NAME

namespace tidemark::interpose {
namespace {

const Door kDoors[] = {
#define TIDEMARK_HOOKED_NAME(symbol, library, hook) {#symbol, Library::library, -1, reinterpret_cast<void*>(&hook)},
#define TIDEMARK_ORDER_NAME(symbol, library, number) {#symbol, Library::library, number, nullptr},
#include <hooked_names.inc>
#undef TIDEMARK_HOOKED_NAME
#undef TIDEMARK_ORDER_NAME
};

// What cuGetProcAddress may be asked for, sorted by plain name.
struct Proc {
  const char* plain;
  int version;  // of the ABI
  bool per_thread;
  const char* symbol;
  int order;
  void* hook;
};
const Proc kProcs[] = {
#define TIDEMARK_HOOKED_PROC(plain, version, per_thread, symbol, hook) \
  {#plain, version, per_thread, #symbol, -1, reinterpret_cast<void*>(&hook)},
#define TIDEMARK_ORDER_PROC(plain, version, per_thread, symbol, number) \
  {#plain, version, per_thread, #symbol, number, nullptr},
#include <hooked_procs.inc>
#undef TIDEMARK_HOOKED_PROC
#undef TIDEMARK_ORDER_PROC
};

constexpr const char* kKnown[] = {
#define TIDEMARK_KNOWN_PROC(plain) #plain,
#include <known_procs.inc>
#undef TIDEMARK_KNOWN_PROC
};

// Where the real function of a row is: what libcuda exports, and what it hands out. On a driver these may differ.
struct Addresses {
  std::atomic<void*> exported{nullptr}, handed_out{nullptr};
  std::atomic<bool> known{false};
};
constinit std::array<Addresses, std::size(kProcs)> addresses{};

void* ask(const Proc& proc) {
  void* address = nullptr;
  cuuint64_t const flags =
      proc.per_thread ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM : CU_GET_PROC_ADDRESS_LEGACY_STREAM;
  CUdriverProcAddressQueryResult status{};
  if (driver().cuGetProcAddress_v2 != nullptr) {
    if (driver().cuGetProcAddress_v2(proc.plain, &address, proc.version, flags, &status) != CUDA_SUCCESS)
      return nullptr;
  } else if (call(&Driver::cuGetProcAddress, proc.plain, &address, proc.version, flags) != CUDA_SUCCESS) {
    return nullptr;
  }
  return address;
}

// The driver is asked at the first question for a name: a program uses a few of them.
const Addresses& addresses_of(std::size_t row) {
  Addresses& at = addresses[row];
  if (!at.known.load(std::memory_order_acquire)) {
    at.exported.store(driver_symbol(kProcs[row].symbol), std::memory_order_relaxed);
    at.handed_out.store(ask(kProcs[row]), std::memory_order_relaxed);
    at.known.store(true, std::memory_order_release);
  }
  return at;
}

// The rows of a sorted table whose key is `name`.
template <class Row, std::size_t n, class Key>
std::span<const Row> equal_rows(const Row (&rows)[n], const char* name, Key key) {
  auto const before = [&](const Row& row, const char* text) { return strcmp(key(row), text) < 0; };
  const Row* const first = std::lower_bound(std::begin(rows), std::end(rows), name, before);
  const Row* last = first;
  while (last != std::end(rows) && strcmp(key(*last), name) == 0) ++last;
  return {first, last};
}

bool knows_plain(const char* name) {
  auto const before = [](const char* a, const char* b) { return strcmp(a, b) < 0; };
  return std::binary_search(std::begin(kKnown), std::end(kKnown), name, before);
}

}  // namespace

std::span<const Door> doors_of(const char* symbol) {
  return equal_rows(kDoors, symbol, [](const Door& door) { return door.symbol; });
}

void* hook_for_symbol(std::span<const Door> doors, void* found) {
  serve::expect();
  for (Door const& door : doors) {
    if (!holds(door.library, found)) continue;
    if (door.order < 0) return door.hook;
    return order::wanted(door.library) ? order::door(door.order) : found;
  }
  return nullptr;
}

void* hook_for_address(const char* plain, void* found, bool per_thread) {
  if (plain == nullptr || found == nullptr || !has_driver()) return found;
  serve::expect();
  void* hook = found;
  for (Proc const& proc : equal_rows(kProcs, plain, [](const Proc& row) { return row.plain; })) {
    if (proc.order >= 0 && !order::wanted(Library::Driver)) continue;
    Addresses const& real = addresses_of(static_cast<std::size_t>(&proc - kProcs));
    if (found != real.handed_out.load(std::memory_order_relaxed) &&
        found != real.exported.load(std::memory_order_relaxed))
      continue;
    hook = proc.order < 0 ? proc.hook : order::door(proc.order);
    // Where one address serves both kinds of stream, the question says which is meant.
    if (proc.per_thread == per_thread) break;
  }
  return hook;
}

bool is_known(const char* name) {
  if (knows_plain(name)) return true;
  // A symbol: the plain name, perhaps a number of its ABI, perhaps a twin's ending.
  std::string_view text(name);
  if (text.ends_with("_ptsz") || text.ends_with("_ptds")) text.remove_suffix(5);
  std::size_t const version = text.rfind("_v");
  if (version != text.npos && text.find_first_not_of("0123456789", version + 2) == text.npos)
    text = text.substr(0, version);
  char plain[128];
  if (text.size() >= sizeof plain) return false;
  plain[text.copy(plain, sizeof plain - 1)] = '\0';
  return knows_plain(plain);
}

}  // namespace tidemark::interpose
