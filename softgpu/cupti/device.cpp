// SPDX-License-Identifier: Apache-2.0
#include "softgpu/cupti/device.h"

#include <dlfcn.h>

#include <string>

#include "base/log.h"
#include "softgpu/interface/observe_runtime.h"

namespace tidemark::softgpu::cupti {
namespace {

constexpr const char* kDriver = "libcuda.so.1";
constexpr const char* kRuntime = "libcudart.so.13";

// The library path first, as for any program; then beside this library.
void* open_driver() {
  if (void* const found = dlopen(kDriver, RTLD_NOW)) return found;
  Dl_info self{};
  if (dladdr(reinterpret_cast<void*>(&open_driver), &self) == 0 || self.dli_fname == nullptr) return nullptr;
  std::string path = self.dli_fname;
  std::size_t const slash = path.rfind('/');
  if (slash == std::string::npos) return nullptr;
  return dlopen(path.replace(slash + 1, std::string::npos, kDriver).c_str(), RTLD_NOW);
}

template <class Function>
bool find(void* library, const char* name, Function& out) {
  out = reinterpret_cast<Function>(dlsym(library, name));
  return out != nullptr;
}

bool find_all(void* library, Device& d) {
  return find(library, "softgpu_observe", d.observe) && find(library, "softgpu_clock", d.clock) &&
         find(library, "softgpu_clock_is_simulated", d.clock_is_simulated) &&
         find(library, "softgpu_current_context", d.current_context) &&
         find(library, "softgpu_kernel_name", d.kernel_name) && find(library, "softgpu_resources", d.resources) &&
         find(library, "cuCtxGetId", d.context_id) && find(library, "cuCtxGetDevice_v2", d.context_device) &&
         find(library, "cuStreamGetId", d.stream_id) && find(library, "cuStreamGetId_ptsz", d.stream_id_per_thread) &&
         find(library, "cuStreamGetCtx", d.stream_context) && find(library, "cuDeviceGetCount", d.device_count) &&
         find(library, "cuDeviceGetAttribute", d.device_attribute) && find(library, "cuDeviceGetName", d.device_name) &&
         find(library, "cuDeviceTotalMem_v2", d.device_memory) && find(library, "cuDeviceGetUuid_v2", d.device_uuid);
}

const Device* open_device() {
  void* const library = open_driver();
  if (library == nullptr) return nullptr;
  static Device found{};
  if (find_all(library, found)) return &found;
  say_once("no observer", "softgpu", "this libcupti only works with softgpu's own libcuda");
  return nullptr;
}

// Never loaded from here. A runtime that comes later asks libcuda for the observer itself.
void* loaded_runtime() {
  return dlopen(kRuntime, RTLD_NOW | RTLD_NOLOAD);
}

}  // namespace

const Device* device() {
  static const Device* const found = open_device();
  return found;
}

void set_observer(const SoftgpuObserver* observer) {
  if (const Device* const d = device()) d->observe(observer);
  void* const runtime = loaded_runtime();
  if (runtime == nullptr) return;
  decltype(&softgpu_runtime_observe) observe = nullptr;
  if (find(runtime, "softgpu_runtime_observe", observe)) observe(observer);
  dlclose(runtime);
}

const char* runtime_kernel_name(const void* func) {
  // Asked from inside of a call of the runtime: it is loaded, and stays so.
  static auto const name_of = [] {
    decltype(&softgpu_runtime_kernel_name) found = nullptr;
    if (void* const runtime = loaded_runtime()) find(runtime, "softgpu_runtime_kernel_name", found);
    return found;
  }();
  return name_of != nullptr ? name_of(func) : nullptr;
}

}  // namespace tidemark::softgpu::cupti
