// SPDX-License-Identifier: Apache-2.0
#include "interpose/real/system.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
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

const char* file_name(const char* path) {
  const char* const slash = strrchr(path, '/');
  return slash == nullptr ? path : slash + 1;
}

// The name that an object gives itself; empty for none. glibc has turned the offsets there into addresses.
const char* own_name(const dl_phdr_info& info) {
  for (int i = 0; i < info.dlpi_phnum; ++i) {
    if (info.dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const char* strings = nullptr;
    std::size_t name = 0;
    auto const* at = reinterpret_cast<const ElfW(Dyn)*>(info.dlpi_addr + info.dlpi_phdr[i].p_vaddr);
    for (; at->d_tag != DT_NULL; ++at) {
      if (at->d_tag == DT_STRTAB) strings = reinterpret_cast<const char*>(at->d_un.d_ptr);
      if (at->d_tag == DT_SONAME) name = at->d_un.d_val;
    }
    // The kernel's own object is not relocated, and is nobody we look for.
    return strings == nullptr || reinterpret_cast<std::uintptr_t>(strings) < info.dlpi_addr ? "" : strings + name;
  }
  return "";
}

struct Named {
  const char* name;
  const void* ours;
  char path[4096];
};

int visit_named(dl_phdr_info* info, std::size_t, void* data) {
  auto* const named = static_cast<Named*>(data);
  if (info->dlpi_name == nullptr || info->dlpi_name[0] == '\0' || info->dlpi_phdr == named->ours) return 0;
  if (strcmp(file_name(info->dlpi_name), named->name) != 0 && strcmp(own_name(*info), named->name) != 0) return 0;
  if (strlen(info->dlpi_name) >= sizeof named->path) return 0;
  strcpy(named->path, info->dlpi_name);
  return 1;
}

int visit_count(dl_phdr_info* info, std::size_t size, void* data) {
  if (size >= offsetof(dl_phdr_info, dlpi_subs)) *static_cast<unsigned long long*>(data) = info->dlpi_adds;
  return 1;
}

Search find(const void* address) {
  Search search{.address = reinterpret_cast<std::uintptr_t>(address)};
  dl_iterate_phdr(visit, &search);
  return search;
}

const void* our_object() {
  static constinit std::atomic<const void*> ours{nullptr};
  const void* self = ours.load(std::memory_order_relaxed);
  if (self == nullptr) {
    self = find(reinterpret_cast<const void*>(&our_object)).object;
    ours.store(self, std::memory_order_relaxed);
  }
  return self;
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

void* loaded_object(const char* name) {
  Named named{.name = name, .ours = our_object()};
  return dl_iterate_phdr(visit_named, &named) == 0 ? nullptr : dlopen(named.path, RTLD_NOLOAD | RTLD_LAZY);
}

unsigned long long loaded_count() {
  unsigned long long count = 0;
  dl_iterate_phdr(visit_count, &count);
  return count;
}

bool is_ours(const void* address) {
  return object_at(address) == our_object();
}

bool in_driver(const void* address) {
  const char* const name = file_name(find(address).path);
  return begins(name, "libcuda.so") || begins(name, "libnvidia-") || begins(name, "libtidemark-driver.so");
}

}  // namespace tidemark::interpose
