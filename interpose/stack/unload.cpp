// SPDX-License-Identifier: Apache-2.0
// dlclose, in front of glibc's: what is known of code goes with the code. A constructor or destructor of the library
// may call CUDA on the way, hence before and after.
#include <dlfcn.h>

#include <atomic>

#include "interpose/stack/stacks.h"

namespace tidemark::interpose {
namespace {

using Dlclose = int (*)(void*);
constinit std::atomic<Dlclose> found_dlclose{nullptr};

Dlclose real_dlclose() {
  Dlclose found = found_dlclose.load(std::memory_order_acquire);
  if (found != nullptr) return found;
  // It moved with dlsym, in glibc 2.34.
  for (const char* const version : {"GLIBC_2.34", "GLIBC_2.2.5"}) {
    found = reinterpret_cast<Dlclose>(dlvsym(RTLD_NEXT, "dlclose", version));
    if (found != nullptr) break;
  }
  found_dlclose.store(found, std::memory_order_release);
  return found;
}

}  // namespace
}  // namespace tidemark::interpose

extern "C" __attribute__((visibility("hidden"))) int tidemark_hook_dlclose(void* handle) {
  using namespace tidemark::interpose;
  Dlclose const real = real_dlclose();
  stacks().forget();
  int const result = real(handle);
  stacks().forget();
  return result;
}
