// SPDX-License-Identifier: Apache-2.0
#include "softgpu/runtime/driver.h"

#include <dlfcn.h>

#include <atomic>
#include <mutex>
#include <string>
#include <type_traits>

#include "base/log.h"
#include "softgpu/runtime/error.h"

namespace tidemark::softgpu::runtime {
namespace detail {

constinit Driver legacy_table{};
constinit Driver per_thread_table{};

namespace {
constexpr const char* kNames[] = {
#define SOFTGPU_DRIVER(name, version) #name,
#define SOFTGPU_DRIVER_STREAM(name, version, twin) #name,
#include "softgpu/runtime/driver_functions.inc"
#undef SOFTGPU_DRIVER
#undef SOFTGPU_DRIVER_STREAM
};
static_assert(sizeof(Driver) == sizeof(kNames));
}  // namespace

CUresult missing(std::size_t offset) {
  const char* const name = kNames[offset / sizeof(void*)];
  say_once(name, "softgpu", std::string("this driver has no ") + name + ": not supported");
  return CUDA_ERROR_NOT_SUPPORTED;
}

}  // namespace detail

namespace {

// The version in a twin's type name: PFN_cuMemcpy_v7000_ptds is listed as 7000_ptds.
constexpr int operator""_ptsz(unsigned long long version) {
  return static_cast<int>(version);
}
constexpr int operator""_ptds(unsigned long long version) {
  return static_cast<int>(version);
}

#define SOFTGPU_DRIVER(name, version)
#define SOFTGPU_DRIVER_STREAM(name, version, twin) \
  static_assert(std::is_same_v<PFN_##name##_v##version, PFN_##name##_v##twin>);
#include "softgpu/runtime/driver_functions.inc"
#undef SOFTGPU_DRIVER
#undef SOFTGPU_DRIVER_STREAM

constinit void* handle = nullptr;

// The library path first, as for any program; then beside this library, so that a program that was given only our
// libcudart by its full path finds the driver that belongs to it.
void* open_driver() {
  constexpr const char* kSoname = "libcuda.so.1";
  if (void* const found = dlopen(kSoname, RTLD_NOW)) return found;
  Dl_info self{};
  if (dladdr(reinterpret_cast<void*>(&load_driver), &self) == 0 || self.dli_fname == nullptr) return nullptr;
  std::string path = self.dli_fname;
  std::size_t const slash = path.rfind('/');
  if (slash == std::string::npos) return nullptr;
  return dlopen(path.replace(slash + 1, std::string::npos, kSoname).c_str(), RTLD_NOW);
}

template <class Function>
void look_up(PFN_cuGetProcAddress_v12000 get, const char* name, int version, cuuint64_t flags, Function& out) {
  void* address = nullptr;
  CUdriverProcAddressQueryResult status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
  CUresult const result = get(name, &address, version, flags, &status);
  bool const found = result == CUDA_SUCCESS && status == CU_GET_PROC_ADDRESS_SUCCESS;
  out = found ? reinterpret_cast<Function>(address) : nullptr;
}

void fill_tables(PFN_cuGetProcAddress_v12000 get) {
  using detail::legacy_table, detail::per_thread_table;
#define SOFTGPU_DRIVER(name, version)                                           \
  look_up(get, #name, version, CU_GET_PROC_ADDRESS_DEFAULT, legacy_table.name); \
  per_thread_table.name = legacy_table.name;
#define SOFTGPU_DRIVER_STREAM(name, version, twin)                                    \
  look_up(get, #name, version, CU_GET_PROC_ADDRESS_LEGACY_STREAM, legacy_table.name); \
  look_up(get, #name, twin, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, per_thread_table.name);
#include "softgpu/runtime/driver_functions.inc"
#undef SOFTGPU_DRIVER
#undef SOFTGPU_DRIVER_STREAM
}

cudaError_t load() {
  handle = open_driver();
  if (handle == nullptr) return cudaErrorInsufficientDriver;
  auto const get = reinterpret_cast<PFN_cuGetProcAddress_v12000>(dlsym(handle, "cuGetProcAddress_v2"));
  if (get == nullptr) return cudaErrorInsufficientDriver;
  fill_tables(get);
  // Within a major version any driver serves any runtime; an older major one does not.
  return driver_version() / 1000 >= CUDART_VERSION / 1000 ? cudaSuccess : cudaErrorInsufficientDriver;
}

}  // namespace

int driver_version() {
  int version = 0;
  auto const get = detail::legacy_table.cuDriverGetVersion;
  return get != nullptr && get(&version) == CUDA_SUCCESS ? version : 0;
}

cudaError_t load_driver() {
  static cudaError_t const status = load();
  return status;
}

cudaError_t initialize_driver() {
  static cudaError_t const status = [] {
    cudaError_t const loaded = load_driver();
    return loaded != cudaSuccess ? loaded : to_runtime(call(&Driver::cuInit, 0U));
  }();
  return status;
}

void* find_softgpu(const char* name) {
  return load_driver() == cudaSuccess ? dlsym(handle, name) : nullptr;
}

}  // namespace tidemark::softgpu::runtime
