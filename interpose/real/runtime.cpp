// SPDX-License-Identifier: Apache-2.0
#include "interpose/real/runtime.h"

#include <dlfcn.h>

#include "interpose/real/system.h"

namespace tidemark::interpose {

void* runtime_symbol(int major, const char* name) {
  const char* const library = major == 12 ? "libcudart.so.12" : "libcudart.so.13";
  void* const handle = dlopen(library, RTLD_NOLOAD | RTLD_LAZY);
  if (handle == nullptr) return nullptr;
  // The version's node has the library's name. The handle is kept: what is called must stay.
  void* const found = dlvsym(handle, name, library);
  return found != nullptr ? found : real_dlsym()(handle, name);
}

}  // namespace tidemark::interpose
