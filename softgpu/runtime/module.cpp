// SPDX-License-Identifier: Apache-2.0
#include "softgpu/runtime/module.h"

#include <fatbinary_section.h>
#include <runtime_launch.h>  // generated

#include <atomic>
#include <cstdlib>
#include <list>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "softgpu/interface/softgpu.h"

namespace tidemark::softgpu::runtime {
namespace {

struct Image;

struct RegisteredKernel {
  Image* image = nullptr;
  const void* host = nullptr;
  std::string name;
  unsigned thread_limit = 0;  // __launch_bounds__; 0: none
  std::atomic<CUkernel> handle{nullptr};
};

struct RegisteredVariable {
  Image* image;
  const void* host;
  std::string name;
  std::size_t bytes;
  void** managed;  // where host code keeps the variable's address; null unless the variable is managed
};

// Lists, so that addresses stay while others are added.
struct Image {
  const void* code = nullptr;
  std::list<RegisteredKernel> kernels;
  std::list<RegisteredVariable> variables;
  std::mutex loading;
  std::atomic<CUlibrary> library{nullptr};
};

struct Registry {
  std::shared_mutex mutex;
  std::unordered_map<const void*, RegisteredKernel*> kernels;      // by host stub
  std::unordered_map<const void*, RegisteredVariable*> variables;  // by host shadow
  std::unordered_map<const void*, const void*> stubs;              // host stub by kernel handle
  std::unordered_set<const void*> given_kernels, given_functions;  // handles that programs may pass back
};

Registry& registry() {
  static auto& leaked = *new Registry;
  return leaked;
}

constinit std::atomic<bool> exiting{false};

// The driver is loaded after the program's exit handlers were set up, so ours runs before them: images that go away
// because the process ends are not unloaded, their kernels may still be queued.
void notice_exit() {
  static std::once_flag once;
  std::call_once(once, [] { std::atexit([] { exiting.store(true); }); });
}

// Tells softgpu what the image holds; a real driver reads it out of the image.
void describe(const Image& image) {
  using Describe = decltype(&softgpu_describe_image);
  static auto const tell = reinterpret_cast<Describe>(find_softgpu("softgpu_describe_image"));
  if (tell == nullptr) return;
  for (RegisteredKernel const& k : image.kernels) tell(image.code, "kernel", k.name.c_str(), k.thread_limit);
  for (RegisteredVariable const& v : image.variables)
    tell(image.code, v.managed != nullptr ? "managed" : "variable", v.name.c_str(), v.bytes);
}

cudaError_t load(Image& image, CUlibrary& library) {
  library = image.library.load(std::memory_order_acquire);
  if (library != nullptr) return cudaSuccess;
  if (cudaError_t const error = initialize_driver(); error != cudaSuccess) return error;
  std::lock_guard const lock(image.loading);
  library = image.library.load(std::memory_order_relaxed);
  if (library != nullptr) return cudaSuccess;
  describe(image);
  CUresult const result =
      call(&Driver::cuLibraryLoadData, &library, image.code, nullptr, nullptr, 0U, nullptr, nullptr, 0U);
  if (result != CUDA_SUCCESS) return to_runtime(result);
  notice_exit();
  image.library.store(library, std::memory_order_release);
  return cudaSuccess;
}

// The registry's lock is not held: loading calls into the driver, which may call back.
cudaError_t load(RegisteredKernel& kernel, CUkernel& handle) {
  handle = kernel.handle.load(std::memory_order_acquire);
  if (handle != nullptr) return cudaSuccess;
  CUlibrary library = nullptr;
  if (cudaError_t const error = load(*kernel.image, library); error != cudaSuccess) return error;
  CUresult const result = call(&Driver::cuLibraryGetKernel, &handle, library, kernel.name.c_str());
  if (result != CUDA_SUCCESS)
    return result == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidDeviceFunction : to_runtime(result);
  Registry& all = registry();
  std::unique_lock const lock(all.mutex);
  all.stubs.try_emplace(handle, kernel.host);
  all.given_kernels.insert(handle);
  kernel.handle.store(handle, std::memory_order_release);
  return cudaSuccess;
}

cudaError_t address_of(RegisteredVariable& variable, Variable& out) {
  if (cudaError_t const error = enter(); error != cudaSuccess) return error;
  CUlibrary library = nullptr;
  if (cudaError_t const error = load(*variable.image, library); error != cudaSuccess) return error;
  CUdeviceptr address = 0;
  out.bytes = variable.bytes;
  CUresult result = CUDA_ERROR_NOT_FOUND;
  if (variable.managed != nullptr)
    result = call(&Driver::cuLibraryGetManaged, &address, &out.bytes, library, variable.name.c_str());
  if (result == CUDA_ERROR_NOT_FOUND)
    result = call(&Driver::cuLibraryGetGlobal, &address, &out.bytes, library, variable.name.c_str());
  out.address = reinterpret_cast<void*>(address);
  return result == CUDA_ERROR_NOT_FOUND ? cudaErrorInvalidSymbol : to_runtime(result);
}

Image& image_of(void** handle) {
  return *reinterpret_cast<Image*>(handle);
}

template <class Map>
void forget(Map& map, const Image& image) {
  std::erase_if(map, [&](auto const& entry) { return entry.second->image == &image; });
}

}  // namespace

cudaError_t find_callable(const void* func, Callable& out) {
  Registry& all = registry();
  RegisteredKernel* kernel = nullptr;
  {
    std::shared_lock const lock(all.mutex);
    if (auto const found = all.kernels.find(func); found != all.kernels.end()) {
      kernel = found->second;
    } else if (all.given_kernels.contains(func)) {
      out.kernel = static_cast<CUkernel>(const_cast<void*>(func));
      return cudaSuccess;
    } else if (all.given_functions.contains(func)) {
      out.function = static_cast<CUfunction>(const_cast<void*>(func));
      return cudaSuccess;
    }
  }
  if (kernel != nullptr) return load(*kernel, out.kernel);
  // Without a driver that is what the program should hear of.
  cudaError_t const driver = initialize_driver();
  return driver != cudaSuccess ? driver : cudaErrorInvalidDeviceFunction;
}

const char* kernel_name(const void* func) {
  Registry& all = registry();
  std::shared_lock const lock(all.mutex);
  auto const found = all.kernels.find(func);
  return found != all.kernels.end() ? found->second->name.c_str() : nullptr;
}

void* symbol_of(CUkernel kernel) {
  Registry& all = registry();
  std::shared_lock const lock(all.mutex);
  auto const found = all.stubs.find(kernel);
  return found != all.stubs.end() ? const_cast<void*>(found->second) : kernel;
}

void remember(CUkernel kernel) {
  std::unique_lock const lock(registry().mutex);
  registry().given_kernels.insert(kernel);
}

void remember(CUfunction function) {
  std::unique_lock const lock(registry().mutex);
  registry().given_functions.insert(function);
}

cudaError_t find_variable(const void* symbol, Variable& out) {
  Registry& all = registry();
  RegisteredVariable* variable = nullptr;
  {
    std::shared_lock const lock(all.mutex);
    if (auto const found = all.variables.find(symbol); found != all.variables.end()) {
      variable = found->second;
    } else {
      // Host code names a managed variable by the address it was given for it.
      for (auto const& [host, candidate] : all.variables)
        if (candidate->managed != nullptr && symbol != nullptr && *candidate->managed == symbol) variable = candidate;
    }
  }
  if (variable != nullptr) return address_of(*variable, out);
  cudaError_t const driver = initialize_driver();
  return driver != cudaSuccess ? driver : cudaErrorInvalidSymbol;
}

}  // namespace tidemark::softgpu::runtime

using namespace tidemark::softgpu::runtime;

void** __cudaRegisterFatBinary(void* wrapper) {
  auto* const image = new Image;
  // The wrapper is the public one of fatbinary_section.h; what it points to is the image itself.
  image->code = static_cast<const __fatBinC_Wrapper_t*>(wrapper)->data;
  return reinterpret_cast<void**>(image);
}

void __cudaRegisterFatBinaryEnd(void**) {}

void __cudaRegisterFunction(void** handle, const char* host_function, char*, const char* device_name, int thread_limit,
                            uint3*, uint3*, dim3*, dim3*, int*) {
  std::unique_lock const lock(registry().mutex);
  RegisteredKernel& kernel = image_of(handle).kernels.emplace_back();
  kernel.image = &image_of(handle);
  kernel.host = host_function;
  kernel.name = device_name;
  kernel.thread_limit = thread_limit > 0 ? static_cast<unsigned>(thread_limit) : 0;  // -1: none
  // An inline kernel is registered by every file that has it, with one host stub: the first one stands.
  registry().kernels.try_emplace(host_function, &kernel);
}

void __cudaRegisterVar(void** handle, char* host_variable, char*, const char* device_name, int, size_t bytes, int,
                       int) {
  std::unique_lock const lock(registry().mutex);
  image_of(handle).variables.push_back({&image_of(handle), host_variable, device_name, bytes, nullptr});
  registry().variables.try_emplace(host_variable, &image_of(handle).variables.back());
}

void __cudaRegisterManagedVar(void** handle, void** host_pointer, char*, const char* device_name, int, size_t bytes,
                              int, int) {
  std::unique_lock const lock(registry().mutex);
  image_of(handle).variables.push_back({&image_of(handle), host_pointer, device_name, bytes, host_pointer});
  registry().variables.try_emplace(host_pointer, &image_of(handle).variables.back());
}

// Host code calls this before it touches a managed variable; only then is its address needed.
char __cudaInitModule(void** handle) {
  for (RegisteredVariable& variable : image_of(handle).variables) {
    if (variable.managed == nullptr) continue;
    Variable found;
    if (record(address_of(variable, found)) != cudaSuccess) return 0;
    *variable.managed = found.address;
  }
  return 1;
}

void __cudaUnregisterFatBinary(void** handle) {
  if (handle == nullptr) return;
  Image& image = image_of(handle);
  CUlibrary const library = image.library.exchange(nullptr);
  {
    Registry& all = registry();
    std::unique_lock const lock(all.mutex);
    forget(all.kernels, image);
    forget(all.variables, image);
    for (RegisteredKernel const& kernel : image.kernels) {
      all.given_kernels.erase(kernel.handle.load());
      all.stubs.erase(kernel.handle.load());
    }
  }
  if (exiting.load()) return;  // the image stays as it is: other exit handlers may still launch from it
  if (library != nullptr) (void)call(&Driver::cuLibraryUnload, library);
  delete &image;
}

cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* entry) {
  if (kernel == nullptr) return record(cudaErrorInvalidValue);
  Callable callable;
  cudaError_t const error = find_callable(entry, callable);
  *kernel = callable.kernel;
  return record(error);
}
