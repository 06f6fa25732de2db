// SPDX-License-Identifier: Apache-2.0
#include "interpose/real/library.h"

#include <dlfcn.h>

#include <array>
#include <atomic>

#include "interpose/real/system.h"

namespace tidemark::interpose {
namespace {

constinit std::array<std::atomic<void*>, kLibraryCount> handles{};

struct Names {
  const char* names[2];  // tried in this order
  const char* version;   // of its symbols; null for none
};
// With the second door the name libcuda.so.1 is our own, and the launcher has put the driver's under another one.
constexpr Names kNames[] = {{{"libtidemark-driver.so.1", "libcuda.so.1"}, nullptr},
                            {{"libcudart.so.12", nullptr}, "libcudart.so.12"},
                            {{"libcudart.so.13", nullptr}, "libcudart.so.13"},
                            {{"libnvidia-ml.so.1", nullptr}, nullptr}};
static_assert(std::size(kNames) == kLibraryCount);

constinit std::array<std::atomic<unsigned long long>, kLibraryCount> absent_at{};

const Names& names_of(Library library) {
  return kNames[static_cast<std::size_t>(library)];
}

}  // namespace

void* library_handle(Library library) {
  auto const i = static_cast<std::size_t>(library);
  if (void* const handle = handles[i].load(std::memory_order_acquire); handle != nullptr) return handle;
  unsigned long long const loaded = loaded_count();
  if (absent_at[i].load(std::memory_order_relaxed) == loaded) return nullptr;
  for (const char* const name : names_of(library).names) {
    void* const handle = name == nullptr ? nullptr : loaded_object(name);
    if (handle == nullptr) continue;
    // Threads that come here at once find the same handle; each keeps the library once more.
    handles[i].store(handle, std::memory_order_release);
    return handle;
  }
  absent_at[i].store(loaded, std::memory_order_relaxed);
  return nullptr;
}

void* library_symbol(Library library, const char* name) {
  void* const handle = library_handle(library);
  if (handle == nullptr) return nullptr;
  const char* const version = names_of(library).version;
  void* const found = version == nullptr ? nullptr : dlvsym(handle, name, version);
  return found != nullptr ? found : real_dlsym()(handle, name);
}

bool holds(Library library, const void* address) {
  void* const handle = library_handle(library);
  return handle != nullptr && object_at(address) == object_of(handle);
}

void* behind_us(const char* name) {
  void* const found = real_dlsym()(RTLD_NEXT, name);
  return found == nullptr || is_ours(found) ? nullptr : found;
}

}  // namespace tidemark::interpose
