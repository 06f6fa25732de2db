// SPDX-License-Identifier: Apache-2.0
// NVTX opens the library that a variable names, at a program's first NVTX call, which may come long before its first
// CUDA call. So the variable is set when the preloaded library is loaded; it is all that happens then. The launcher
// sets it too, and then nothing is left to do here.
//
// Part of the preloaded library only. Before main, when there is one thread.
#include <dlfcn.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interpose/real/system.h"

namespace {

constexpr const char* kPath = "NVTX_INJECTION64_PATH";
constexpr const char* kChain = "TIDEMARK_NVTX_CHAIN";

// Some programs (bash) have functions of these names themselves, which do not work before their main.
const char* get(const char* name) {
  std::size_t const length = strlen(name);
  for (char** at = environ; at != nullptr && *at != nullptr; ++at)
    if (strncmp(*at, name, length) == 0 && (*at)[length] == '=') return *at + length + 1;
  return nullptr;
}
void set(const char* name, const char* value) {
  using Setenv = int (*)(const char*, const char*, int);
  auto const real = reinterpret_cast<Setenv>(tidemark::interpose::real_dlsym()(RTLD_NEXT, "setenv"));
  if (real != nullptr) real(name, value, 1);
}

bool is_set(const char* text) {
  return text != nullptr && *text != '\0';
}

// Opened later (by NVTX itself, in a program that was started without us) there may be threads that read the
// environment.
bool is_preloaded(const char* own_path) {
  const char* const list = get("LD_PRELOAD");
  const char* const slash = strrchr(own_path, '/');
  return list != nullptr && strstr(list, slash == nullptr ? own_path : slash + 1) != nullptr;
}

[[gnu::constructor]] void listen_to_nvtx() {
  Dl_info own{};
  char path[PATH_MAX];
  const char* const off = get("TIDEMARK_NVTX");
  if (off != nullptr && strcmp(off, "0") == 0) return;
  if (dladdr(reinterpret_cast<const void*>(&listen_to_nvtx), &own) == 0 || realpath(own.dli_fname, path) == nullptr)
    return;
  if (!is_preloaded(own.dli_fname)) return;
  const char* const before = get(kPath);
  if (is_set(before) && strcmp(before, path) == 0) return;
  if (is_set(before)) set(kChain, before);
  set(kPath, path);
}

}  // namespace
