// SPDX-License-Identifier: Apache-2.0
// Which names dlsym answers with a hook. Exact names only: by their beginning, cuBLAS and cuDNN would be caught too.
#include <dlfcn.h>
#include <string.h>

#include "interpose/doors/table.h"
#include "interpose/process/shield.h"
#include "interpose/real/system.h"

namespace tidemark::interpose {
namespace {

bool may_be_cuda(const char* name) {
  return name != nullptr && name[0] == 'c' && name[1] == 'u';
}

bool is_hooked(const char* name) {
  for (Door const& door : doors())
    if (strcmp(door.symbol, name) == 0) return true;
  return false;
}

// Whether the question is answered; `out` is the answer then.
bool answer(void* handle, const char* name, const void* caller, void*& out) {
  if (!is_hooked(name) || in_driver(caller) || is_ours(caller)) return false;
  bool const by_order = handle == RTLD_DEFAULT || handle == RTLD_NEXT;
  // "By search order" begins behind us: what we export is not the driver, and may be all there is.
  void* found = real_dlsym()(by_order ? RTLD_NEXT : handle, name);
  if (found != nullptr && !by_order && is_ours(found)) found = real_dlsym()(RTLD_NEXT, name);
  if (found == nullptr) {
    out = nullptr;
    return by_order;  // with a handle glibc says it again, and leaves its message for dlerror
  }
  out = hook_for_symbol(name, found);
  return out != nullptr;
}

}  // namespace
}  // namespace tidemark::interpose

// Returns 1 with the answer in *out, or 0 with glibc's dlsym in it.
extern "C" __attribute__((visibility("hidden"))) int tidemark_dlsym_filter(void* handle, const char* name,
                                                                           const void* caller, void** out) {
  using namespace tidemark::interpose;
  bool answered = false;
  if (may_be_cuda(name)) shield([&] { answered = answer(handle, name, caller, *out); });
  if (!answered) *out = reinterpret_cast<void*>(real_dlsym());
  return answered ? 1 : 0;
}
