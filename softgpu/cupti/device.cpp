// SPDX-License-Identifier: Apache-2.0
#include "softgpu/cupti/device.h"

#include <dlfcn.h>

#include "base/log.h"
#include "softgpu/interface/device_link.h"
#include "softgpu/interface/observe_runtime.h"

namespace tidemark::softgpu::cupti {
namespace {

constexpr const char* kRuntime = "libcudart.so.13";

bool find_all(const DeviceLink& link, Device& d) {
  auto const find = [&](const char* name, auto& out) {
    out = reinterpret_cast<std::remove_reference_t<decltype(out)>>(link.driver_symbol(name));
    return out != nullptr;
  };
  return find("softgpu_observe", d.observe) && find("softgpu_clock", d.clock) &&
         find("softgpu_clock_is_simulated", d.clock_is_simulated) &&
         find("softgpu_current_context", d.current_context) && find("softgpu_kernel_name", d.kernel_name) &&
         find("softgpu_resources", d.resources) && find("cuCtxGetId", d.context_id) &&
         find("cuCtxGetDevice_v2", d.context_device) && find("cuStreamGetId", d.stream_id) &&
         find("cuStreamGetCtx", d.stream_context) && find("cuDeviceGetCount", d.device_count) &&
         find("cuDeviceGetAttribute", d.device_attribute) && find("cuDeviceGetName", d.device_name) &&
         find("cuDeviceTotalMem_v2", d.device_memory) && find("cuDeviceGetUuid_v2", d.device_uuid);
}

const Device* find_device() {
  static Device found{};
  const DeviceLink* const link = device_link();
  if (link != nullptr && find_all(*link, found)) return &found;
  say_once("no observer", "softgpu", "this libcupti only works with softgpu's own libcuda");
  return nullptr;
}

// Never loaded from here. A runtime that comes later asks libcuda for the observer itself.
template <class Function>
Function find_in_runtime(const char* name) {
  void* const runtime = dlopen(kRuntime, RTLD_NOW | RTLD_NOLOAD);
  if (runtime == nullptr) return nullptr;
  auto const found = reinterpret_cast<Function>(dlsym(runtime, name));
  dlclose(runtime);  // the runtime is never unloaded; only the count goes back
  return found;
}

}  // namespace

const Device* device() {
  static const Device* const found = find_device();
  return found;
}

void set_observer(const SoftgpuObserver* observer) {
  if (const Device* const d = device()) d->observe(observer);
  if (auto const observe = find_in_runtime<decltype(&softgpu_runtime_observe)>("softgpu_runtime_observe"))
    observe(observer);
}

const char* runtime_kernel_name(const void* func) {
  // Asked from inside of a call of the runtime: it is loaded.
  static auto const name_of = find_in_runtime<decltype(&softgpu_runtime_kernel_name)>("softgpu_runtime_kernel_name");
  return name_of != nullptr ? name_of(func) : nullptr;
}

}  // namespace tidemark::softgpu::cupti
