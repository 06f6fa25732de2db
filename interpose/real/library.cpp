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
  const char* sample;    // a function that tells it from ourselves
};
// With the second door the name libcuda.so.1 is our own, and the launcher has put the driver's under another one.
constexpr Names kNames[] = {{{"libtidemark-driver.so.1", "libcuda.so.1"}, nullptr, "cuInit"},
                            {{"libcudart.so.12", nullptr}, "libcudart.so.12", "cudaRuntimeGetVersion"},
                            {{"libcudart.so.13", nullptr}, "libcudart.so.13", "cudaRuntimeGetVersion"},
                            {{"libnvidia-ml.so.1", nullptr}, nullptr, "nvmlInit_v2"}};
static_assert(std::size(kNames) == kLibraryCount);

void* find(const Names& names) {
  for (const char* const name : names.names) {
    void* const found = name == nullptr ? nullptr : dlopen(name, RTLD_NOLOAD | RTLD_LAZY);
    if (found == nullptr) continue;
    void* const sample = real_dlsym()(found, names.sample);
    if (sample != nullptr && !is_ours(sample)) return found;
    dlclose(found);
  }
  return nullptr;
}

const Names& names_of(Library library) {
  return kNames[static_cast<std::size_t>(library)];
}

}  // namespace

void* library_handle(Library library) {
  std::atomic<void*>& known = handles[static_cast<std::size_t>(library)];
  if (void* const handle = known.load(std::memory_order_acquire); handle != nullptr) return handle;
  // Threads that come here at once find the same handle; each keeps the library once more.
  void* const handle = find(names_of(library));
  if (handle != nullptr) known.store(handle, std::memory_order_release);
  return handle;
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
