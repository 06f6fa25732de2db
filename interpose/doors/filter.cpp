// SPDX-License-Identifier: Apache-2.0
// Which names dlsym answers with a hook. Exact names only: by their beginning, cuBLAS and cuDNN would be caught too.
#include <dlfcn.h>
#include <string.h>

#include "interpose/doors/table.h"
#include "interpose/order/order.h"
#include "interpose/process/shield.h"
#include "interpose/real/system.h"

namespace tidemark::interpose {
namespace {

bool may_be_cuda(const char* name) {
  return name != nullptr &&
         (strncmp(name, "cu", 2) == 0 || strncmp(name, "nvml", 4) == 0 || strncmp(name, "__cuda", 6) == 0);
}

// The driver's own naming: cuBLAS and its kin go on in small letters.
bool may_be_driver(const char* name) {
  return name[0] == 'c' && name[1] == 'u' && name[2] >= 'A' && name[2] <= 'Z';
}

bool is_loaded(std::span<const Door> doors) {
  for (Door const& door : doors)
    if (library_handle(door.library) != nullptr) return true;
  return false;
}

// A function of the driver that the table does not know may submit work unseen.
void watch_unknown(void* handle, const char* name) {
  if (!may_be_driver(name) || is_known(name)) return;
  bool const by_order = handle == RTLD_DEFAULT || handle == RTLD_NEXT;
  void* const found = real_dlsym()(by_order ? RTLD_NEXT : handle, name);
  if (found != nullptr && holds(Library::Driver, found)) order::met_unknown(name);
}

// "By search order" begins behind us: what we export is not the library, and may be all there is.
void* find(void* handle, const char* name) {
  bool const by_order = handle == RTLD_DEFAULT || handle == RTLD_NEXT;
  void* const found = real_dlsym()(by_order ? RTLD_NEXT : handle, name);
  return found != nullptr && !by_order && is_ours(found) ? real_dlsym()(RTLD_NEXT, name) : found;
}

// Whether another preloaded library stands before us under a name. RTLD_DEFAULT would not tell: asked from here, this
// library comes first.
bool is_shadowed(const char* name) {
  void* const everything = dlopen(nullptr, RTLD_LAZY);
  void* const first = everything == nullptr ? nullptr : real_dlsym()(everything, name);
  return first != nullptr && !is_ours(first);
}

// A tool behind us that asks for the next one after itself: the library's own.
void* after(const void* caller, std::span<const Door> doors, void* found) {
  if (object_at(found) != object_at(caller)) return found;
  for (Door const& door : doors)
    if (void* const real = library_symbol(door.library, door.symbol)) return real;
  return found;
}

// Whether the question is answered; `out` is the answer then. Otherwise glibc answers, with its message for dlerror.
bool answer(void* handle, const char* name, const void* caller, void*& out) {
  std::span<const Door> const doors = doors_of(name);
  if (doors.empty()) {
    watch_unknown(handle, name);
    return false;
  }
  if (in_driver(caller) || is_ours(caller)) return false;
  if (handle == RTLD_DEFAULT && is_shadowed(name)) return false;
  void* found = find(handle, name);
  if (found != nullptr && handle == RTLD_NEXT) found = after(caller, doors, found);
  if (found == nullptr) {
    // The library is here, but in a scope of the caller's own: what we export is as good as it.
    if (is_loaded(doors)) return false;
    // Only we have the name, so there is none. Asked again, last of all, for the message that dlerror will want.
    out = real_dlsym()(RTLD_NEXT, name);
    return true;
  }
  out = hook_for_symbol(doors, found);
  // An answer wipes out what inner questions left for dlerror, as glibc's own would.
  if (out != nullptr) dlerror();
  return out != nullptr;
}

}  // namespace
}  // namespace tidemark::interpose

// Returns 1 with the answer in *out, or 0 with the dlsym that is to be asked instead.
extern "C" __attribute__((visibility("hidden"))) int tidemark_dlsym_filter(void* handle, const char* name,
                                                                           const void* caller, void** out) {
  using namespace tidemark::interpose;
  bool answered = false;
  if (may_be_cuda(name)) shield([&] { answered = answer(handle, name, caller, *out); });
  if (!answered) *out = reinterpret_cast<void*>(next_dlsym());
  return answered ? 1 : 0;
}
