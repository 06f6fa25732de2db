// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/softgpu/kernel/support.h"

#include <cxxabi.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

namespace tidemark::softgpu::testing {
namespace {

[[noreturn]] void stop(std::string_view what, std::string_view name) {
  std::fprintf(stderr, "%.*s: %.*s\n", static_cast<int>(what.size()), what.data(), static_cast<int>(name.size()),
               name.data());
  std::abort();
}

// "void affine<float, 1>(float*, Affine, int)" is "affine<float, 1>".
std::string bare_name(const char* mangled) {
  std::string name = readable(mangled);
  if (name.starts_with("void ")) name.erase(0, 5);
  int depth = 0;
  std::size_t const from = name.starts_with("(anonymous namespace)") ? 21 : 0;
  for (std::size_t i = from; i < name.size(); ++i) {
    depth += name[i] == '<';
    depth -= name[i] == '>';
    if (name[i] == '(' && depth == 0) return name.substr(0, i);
  }
  return name;
}

template <class Item>
const Item& find(const Item* items, unsigned count, std::string_view name) {
  for (unsigned i = 0; i < count; ++i)
    if (bare_name(items[i].name) == name) return items[i];
  stop("not in the library", name);
}

}  // namespace

std::string readable(const char* mangled) {
  char* const text = abi::__cxa_demangle(mangled, nullptr, nullptr, nullptr);
  std::string const name = text ? text : mangled;
  std::free(text);
  return name;
}

const SoftgpuKernelLibrary& library() {
  static const SoftgpuKernelLibrary* const opened = [] {
    void* const handle = dlopen(TEST_KERNEL_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!handle) stop("dlopen", dlerror());
    auto const entry = reinterpret_cast<SoftgpuKernelLibraryFn>(dlsym(handle, SOFTGPU_KERNEL_LIBRARY_ENTRY));
    if (!entry) stop("dlsym", dlerror());
    return entry();
  }();
  return *opened;
}

const SoftgpuKernel& kernel(std::string_view name) {
  return find(library().kernels, library().kernel_count, name);
}
const SoftgpuSymbol& symbol(std::string_view name) {
  return find(library().symbols, library().symbol_count, name);
}

SoftgpuKernelStatus launch_with(const SoftgpuKernel& kernel, const Shape& shape, std::vector<void*> params) {
  SoftgpuLaunch const launch{.grid = shape.grid,
                             .block = shape.block,
                             .dynamic_shared_bytes = shape.dynamic_shared_bytes,
                             .cooperative = shape.cooperative};
  std::uint64_t const blocks = std::uint64_t{shape.grid.x} * shape.grid.y * shape.grid.z;
  if (shape.os_threads == 1) return kernel.run(&launch, params.data(), 0, blocks);
  std::vector<SoftgpuKernelStatus> statuses(shape.os_threads, SOFTGPU_KERNEL_OK);
  std::vector<std::thread> threads;
  for (unsigned i = 0; i < shape.os_threads; ++i)
    threads.emplace_back([&, i] {
      statuses[i] =
          kernel.run(&launch, params.data(), blocks * i / shape.os_threads, blocks * (i + 1) / shape.os_threads);
    });
  for (std::thread& thread : threads) thread.join();
  for (SoftgpuKernelStatus const status : statuses)
    if (status != SOFTGPU_KERNEL_OK) return status;
  return SOFTGPU_KERNEL_OK;
}

}  // namespace tidemark::softgpu::testing
