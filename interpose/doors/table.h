// SPDX-License-Identifier: Apache-2.0
// Which function is answered by which hook, and how a client comes to ask for it: by the exported symbol, or, of the
// driver, by a plain name and a version. Any thread.
//
// Doors of entries that only submit or order work (order/) are there while somebody listens to them, and else not:
// what a client looks up then is the real function.
#pragma once
#include <span>

#include "interpose/real/library.h"

namespace tidemark::interpose {

struct Door {
  const char* symbol;  // as the library exports it
  Library library;
  int order;   // the number of an order entry; -1 for a hook
  void* hook;  // null for an order entry
};
// Every door of that name, at most one of each library.
std::span<const Door> doors_of(const char* symbol);

// The hook for what was found under an exported name. What was found, when it is the real function and nobody listens;
// null when it is another library's function of that name.
void* hook_for_symbol(std::span<const Door> doors, void* found);
// The hook for what cuGetProcAddress found under a plain name; what was found, when there is none.
void* hook_for_address(const char* plain, void* found, bool per_thread);
// Whether the table of entry points has a name of the driver's, as a symbol or plain.
bool is_known(const char* name);

}  // namespace tidemark::interpose
