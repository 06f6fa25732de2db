// SPDX-License-Identifier: Apache-2.0
#include "interpose/scope/nvtx_chain.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>

#include "interpose/real/system.h"

namespace tidemark::interpose {
namespace {

using Initialize = NvtxInitializeInjectionNvtxFunc_t;
using InitializeExtension = int (*)(void*);

// Recursive: a tool that uses NVTX itself comes back while it is being opened, and is not chained to itself.
constinit pthread_mutex_t opening = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
constinit bool opened = false;
constinit Initialize initialize = nullptr;
constinit InitializeExtension initialize_extension = nullptr;

class Lock {
 public:
  Lock() { pthread_mutex_lock(&opening); }
  ~Lock() { pthread_mutex_unlock(&opening); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
};

template <class F>
F look_up(void* library, const char* name) {
  void* const found = real_dlsym()(library, name);
  return found == nullptr || is_ours(found) ? nullptr : reinterpret_cast<F>(found);
}

void open_once() {
  Lock const guard;
  if (opened) return;
  opened = true;
  const char* const path = getenv("TIDEMARK_NVTX_CHAIN");
  if (path == nullptr || *path == '\0') return;
  // As NVTX itself would open it. Never closed: its functions are called until the end.
  void* const library = dlopen(path, RTLD_LAZY);
  if (library == nullptr) return;
  initialize_extension = look_up<InitializeExtension>(library, "InitializeInjectionNvtxExtension");
  initialize = look_up<Initialize>(library, "InitializeInjectionNvtx2");
}

}  // namespace

bool chain_nvtx(NvtxGetExportTableFunc_t get_table) {
  open_once();
  Initialize const function = [] {
    Lock const guard;
    return initialize;
  }();
  return function != nullptr && function(get_table) != 0;
}

int chain_nvtx_extension(void* module) {
  open_once();
  InitializeExtension const function = [] {
    Lock const guard;
    return initialize_extension;
  }();
  return function == nullptr ? 0 : function(module);
}

}  // namespace tidemark::interpose
