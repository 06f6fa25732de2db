// SPDX-License-Identifier: Apache-2.0
// Another preloaded tool, written as most of them are: it wraps dlsym, cudaMalloc and cuMemAlloc, finds what it stands
// before by RTLD_NEXT, and says at the end how often it was called.
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstring>

namespace {

std::atomic<int> runtime_calls{0}, driver_calls{0}, look_ups{0};

using Dlsym = void* (*)(void*, const char*);

Dlsym next_dlsym() {
  static Dlsym const found = reinterpret_cast<Dlsym>(dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5"));
  return found;
}

struct Report {
  ~Report() {
    std::fprintf(stdout, "tool: %d cudaMalloc, %d cuMemAlloc, %d look-ups\n", runtime_calls.load(), driver_calls.load(),
                 look_ups.load());
    std::fflush(stdout);
  }
} report;

}  // namespace

#define TOOL extern "C" __attribute__((visibility("default")))

TOOL int cudaMalloc(void** out, std::size_t bytes) {
  static auto const next = reinterpret_cast<int (*)(void**, std::size_t)>(next_dlsym()(RTLD_NEXT, "cudaMalloc"));
  ++runtime_calls;
  return next(out, bytes);
}

TOOL int cuMemAlloc_v2(unsigned long long* out, std::size_t bytes) {
  static auto const next =
      reinterpret_cast<int (*)(unsigned long long*, std::size_t)>(next_dlsym()(RTLD_NEXT, "cuMemAlloc_v2"));
  ++driver_calls;
  return next(out, bytes);
}

// The question is counted where a program asks it, and passed on; what it asks about RTLD_NEXT would be answered for
// this library instead of the caller.
TOOL void* dlsym(void* handle, const char* name) {
  if (std::strncmp(name, "cu", 2) == 0) ++look_ups;
  return next_dlsym()(handle, name);
}
