// SPDX-License-Identifier: Apache-2.0
#include "interpose/doors/table.h"

#include <string.h>

#include <array>
#include <atomic>
#include <mutex>
#include <type_traits>

#include "base/spin_lock.h"
#include "interpose/real/driver.h"

// A hook that does not have its function's signature is declared twice with two types, which does not compile.
#define TIDEMARK_DECLARE(symbol, like) \
  extern "C" __attribute__((visibility("hidden"))) std::remove_pointer_t<decltype(&::like)> tidemark_hook_##symbol;
#define TIDEMARK_DRIVER_ENTRY(symbol, plain, version, twin, action, kind, stream) TIDEMARK_DECLARE(symbol, symbol)
#define TIDEMARK_DRIVER_TWIN(symbol, plain, version, like, action, kind, stream) TIDEMARK_DECLARE(symbol, like)
#include <hooked_driver_entries.inc>
#undef TIDEMARK_DRIVER_ENTRY
#undef TIDEMARK_DRIVER_TWIN

namespace tidemark::interpose {
namespace {

constexpr int kPerThreadFlag = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;

const Door kDoors[] = {
#define TIDEMARK_DRIVER_ENTRY(symbol, plain, version, twin, action, kind, stream) \
  {#symbol, #plain, version, false, reinterpret_cast<void*>(&tidemark_hook_##symbol)},
#define TIDEMARK_DRIVER_TWIN(symbol, plain, version, like, action, kind, stream) \
  {#symbol, #plain, version, true, reinterpret_cast<void*>(&tidemark_hook_##symbol)},
#include <hooked_driver_entries.inc>
#undef TIDEMARK_DRIVER_ENTRY
#undef TIDEMARK_DRIVER_TWIN
};
constexpr std::size_t kCount = std::size(kDoors);

// Where the real functions are: what libcuda exports, and what it hands out. On a driver these may differ.
struct Addresses {
  void *exported, *handed_out;
};
constinit std::array<Addresses, kCount> addresses{};
constinit std::atomic<bool> filled{false};
constinit SpinLock filling;

void* ask(const Door& door) {
  void* address = nullptr;
  cuuint64_t const flags = door.per_thread ? kPerThreadFlag : CU_GET_PROC_ADDRESS_LEGACY_STREAM;
  CUdriverProcAddressQueryResult status{};
  if (driver().cuGetProcAddress_v2 != nullptr) {
    if (driver().cuGetProcAddress_v2(door.plain, &address, door.version, flags, &status) != CUDA_SUCCESS)
      return nullptr;
  } else if (call(&Driver::cuGetProcAddress, door.plain, &address, door.version, flags) != CUDA_SUCCESS) {
    return nullptr;
  }
  return address;
}

bool know_addresses() {
  if (filled.load(std::memory_order_acquire)) return true;
  if (!has_driver()) return false;
  std::scoped_lock const guard(filling);
  if (filled.load(std::memory_order_relaxed)) return true;
  for (std::size_t i = 0; i < kCount; ++i) addresses[i] = {driver_symbol(kDoors[i].symbol), ask(kDoors[i])};
  filled.store(true, std::memory_order_release);
  return true;
}

}  // namespace

std::span<const Door> doors() {
  return kDoors;
}

void* hook_for_symbol(const char* symbol, const void* found) {
  for (std::size_t i = 0; i < kCount; ++i) {
    if (strcmp(kDoors[i].symbol, symbol) != 0) continue;
    return know_addresses() && (found == addresses[i].exported) ? kDoors[i].hook : nullptr;
  }
  return nullptr;
}

void* hook_for_address(const char* plain, void* found, bool per_thread) {
  if (plain == nullptr || found == nullptr || !know_addresses()) return found;
  void* hook = found;
  for (std::size_t i = 0; i < kCount; ++i) {
    Door const& door = kDoors[i];
    if (found != addresses[i].handed_out && found != addresses[i].exported) continue;
    if (strcmp(door.plain, plain) != 0) continue;
    hook = door.hook;
    // Where one address serves both kinds of stream, the question says which is meant.
    if (door.per_thread == per_thread) break;
  }
  return hook;
}

}  // namespace tidemark::interpose
