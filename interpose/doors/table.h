// SPDX-License-Identifier: Apache-2.0
// Which function of the driver is answered by which hook, and how a client comes to ask for it: by the exported symbol,
// or by the plain name and a version.
#pragma once
#include <span>

namespace tidemark::interpose {

struct Door {
  const char* symbol;  // as libcuda exports it
  const char* plain;   // as cuGetProcAddress is asked for it
  int version;         // the ABI's
  bool per_thread;     // the twin for the per-thread default stream
  void* hook;
};
std::span<const Door> doors();

// The hook for what dlsym found under an exported name; null when there is none, or what was found is another
// library's function of that name.
void* hook_for_symbol(const char* symbol, const void* found);
// The hook for what cuGetProcAddress found under a plain name; what was found, when there is none.
void* hook_for_address(const char* plain, void* found, bool per_thread);

}  // namespace tidemark::interpose
