// SPDX-License-Identifier: Apache-2.0
#include "interpose/real/system.h"

#include <dlfcn.h>
#include <string.h>

#include <atomic>

namespace tidemark::interpose {
namespace {

constinit std::atomic<Dlsym> found_dlsym{nullptr};

bool begins(const char* text, const char* with) {
  return strncmp(text, with, strlen(with)) == 0;
}

}  // namespace

Dlsym real_dlsym() {
  Dlsym found = found_dlsym.load(std::memory_order_acquire);
  if (found != nullptr) return found;
  // dlvsym, unlike dlsym, is not ours. In glibc 2.34 the function moved and got a second version.
  for (const char* const version : {"GLIBC_2.34", "GLIBC_2.2.5"}) {
    found = reinterpret_cast<Dlsym>(dlvsym(RTLD_NEXT, "dlsym", version));
    if (found != nullptr) break;
  }
  found_dlsym.store(found, std::memory_order_release);
  return found;
}

const char* object_of(const void* address) {
  Dl_info info{};
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return "";
  const char* const slash = strrchr(info.dli_fname, '/');
  return slash == nullptr ? info.dli_fname : slash + 1;
}

bool is_ours(const void* address) {
  // The library's own file, whatever it is called: two objects with one base are one.
  Dl_info self{}, other{};
  return dladdr(reinterpret_cast<const void*>(&is_ours), &self) != 0 && dladdr(address, &other) != 0 &&
         self.dli_fbase == other.dli_fbase;
}

bool in_driver(const void* address) {
  const char* const name = object_of(address);
  return begins(name, "libcuda.so") || begins(name, "libnvidia-");
}

}  // namespace tidemark::interpose
