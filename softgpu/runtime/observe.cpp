// SPDX-License-Identifier: Apache-2.0
// How libcupti sees this runtime's calls.
#include <dlfcn.h>

#include "softgpu/interface/front.h"
#include "softgpu/interface/observe_runtime.h"
#include "softgpu/runtime/module.h"

using namespace tidemark::softgpu;

namespace {

// A runtime that is loaded while the driver is already observed. Nothing is loaded for it: an observed driver is there.
__attribute__((constructor)) void join_observer() {
  void* const driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (driver == nullptr) return;
  if (auto const get = reinterpret_cast<decltype(&softgpu_observer)>(dlsym(driver, "softgpu_observer")))
    softgpu_runtime_observe(get());
  dlclose(driver);
}

}  // namespace

void softgpu_runtime_observe(const SoftgpuObserver* observer) {
  observer_slot.store(observer, std::memory_order_release);
}

const char* softgpu_runtime_kernel_name(const void* func) {
  return runtime::kernel_name(func);
}
