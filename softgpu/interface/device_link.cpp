// SPDX-License-Identifier: Apache-2.0
#include "softgpu/interface/device_link.h"

#include <dlfcn.h>

#include <string>

namespace tidemark::softgpu {
namespace {

constexpr const char* kDriver = "libcuda.so.1";

template <class F>
bool resolve(void* library, const char* name, F& out) {
  out = reinterpret_cast<F>(dlsym(library, name));
  return out != nullptr;
}

bool resolve_all(void* library, DeviceLink& link) {
  link.library = library;
  return library != nullptr && resolve(library, "softgpu_submit", link.submit) &&
         resolve(library, "softgpu_dry_run", link.dry_run) && resolve(library, "softgpu_workers", link.workers) &&
         resolve(library, "softgpu_parallel", link.parallel) &&
         resolve(library, "softgpu_device_count", link.device_count) &&
         resolve(library, "softgpu_device_info", link.device_info) &&
         resolve(library, "softgpu_processes", link.processes) &&
         resolve(library, "softgpu_driver_version", link.driver_version);
}

// The folder of the shared library that this code is linked into, with its slash.
std::string own_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&own_folder), &info) == 0 || info.dli_fname == nullptr) return {};
  std::string path = info.dli_fname;
  return path.substr(0, path.rfind('/') + 1);
}

const DeviceLink* find() {
  static DeviceLink link;
  if (resolve_all(dlopen(kDriver, RTLD_NOW | RTLD_LOCAL), link)) return &link;
  if (resolve_all(dlopen((own_folder() + kDriver).c_str(), RTLD_NOW | RTLD_LOCAL), link)) return &link;
  return nullptr;
}

}  // namespace

void* DeviceLink::driver_symbol(const char* name) const {
  return dlsym(library, name);
}

const DeviceLink* device_link() {
  static const DeviceLink* const link = find();
  return link;
}

}  // namespace tidemark::softgpu
