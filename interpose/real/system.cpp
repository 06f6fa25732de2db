// SPDX-License-Identifier: Apache-2.0
#include "interpose/real/system.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

#include <atomic>
#include <cstdint>

namespace tidemark::interpose {
namespace {

constinit std::atomic<Dlsym> found_dlsym{nullptr}, found_next{nullptr};

bool begins(const char* text, const char* with) {
  return strncmp(text, with, strlen(with)) == 0;
}

// dladdr would do, but it also looks for the nearest symbol, which in a framework's library takes a millisecond.
struct Search {
  std::uintptr_t address = 0;
  const void* object = nullptr;
  const char* path = "";
};

int visit(dl_phdr_info* info, std::size_t, void* data) {
  auto* const search = static_cast<Search*>(data);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    auto const& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || search->address - (info->dlpi_addr + part.p_vaddr) >= part.p_memsz) continue;
    search->object = info->dlpi_phdr;
    search->path = info->dlpi_name;
    return 1;
  }
  return 0;
}

Search find(const void* address) {
  Search search{.address = reinterpret_cast<std::uintptr_t>(address)};
  dl_iterate_phdr(visit, &search);
  return search;
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

Dlsym next_dlsym() {
  Dlsym next = found_next.load(std::memory_order_acquire);
  if (next != nullptr) return next;
  next = reinterpret_cast<Dlsym>(real_dlsym()(RTLD_NEXT, "dlsym"));
  if (next == nullptr) next = real_dlsym();
  found_next.store(next, std::memory_order_release);
  return next;
}

const void* object_at(const void* address) {
  return find(address).object;
}

const void* object_of(void* handle) {
  link_map* object = nullptr;
  return dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void*>(&object)) == 0 ? object_at(object->l_ld) : nullptr;
}

bool is_ours(const void* address) {
  static constinit std::atomic<const void*> ours{nullptr};
  const void* self = ours.load(std::memory_order_relaxed);
  if (self == nullptr) ours.store(self = object_at(reinterpret_cast<const void*>(&is_ours)), std::memory_order_relaxed);
  return object_at(address) == self;
}

bool in_driver(const void* address) {
  const char* const path = find(address).path;
  const char* const slash = strrchr(path, '/');
  const char* const name = slash == nullptr ? path : slash + 1;
  return begins(name, "libcuda.so") || begins(name, "libnvidia-") || begins(name, "libtidemark-driver.so");
}

}  // namespace tidemark::interpose
