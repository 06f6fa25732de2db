// SPDX-License-Identifier: Apache-2.0
// Another tool that is preloaded: wraps two of the driver's names and looks the next one up at every call.
#include <dlfcn.h>

#include <cstddef>

extern "C" {
int other_tool_calls = 0;

int cuMemFreeHost(void* block) {
  if (++other_tool_calls > 1000) __builtin_trap();
  auto const next = reinterpret_cast<int (*)(void*)>(dlsym(RTLD_NEXT, "cuMemFreeHost"));
  return next == nullptr ? -1 : next(block);
}
int cuStreamSynchronize(void* stream) {
  if (++other_tool_calls > 1000) __builtin_trap();
  auto const next = reinterpret_cast<int (*)(void*)>(dlsym(RTLD_NEXT, "cuStreamSynchronize"));
  return next == nullptr ? -1 : next(stream);
}
// Its own function under a name that everybody uses.
void* other_tool_finds_next(const char* name) {
  return dlsym(RTLD_NEXT, name);
}
}
