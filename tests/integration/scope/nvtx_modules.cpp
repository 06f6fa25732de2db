// SPDX-License-Identifier: Apache-2.0
// usage: nvtx_modules LIBRARY
// A C++ program whose ranges come from itself and from a library that it opens, on several threads; one range is
// started by one thread and ended by another. Each block has a size that tells where it belongs.
#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <cstdlib>
#include <nvtx3/nvtx3.hpp>
#include <thread>

namespace {

void allocate(std::size_t bytes) {
  void* block = nullptr;
  if (cudaMalloc(&block, bytes) != cudaSuccess) std::exit(1);
}

struct own_domain {
  static constexpr char const* name = "own";
};

}  // namespace

int main(int, char** arguments) {
  void* const library = dlopen(arguments[1], RTLD_NOW);
  if (library == nullptr) return 2;
  auto const in_module = reinterpret_cast<void (*)(void (*)())>(dlsym(library, "in_module"));
  {
    nvtx3::scoped_range const outer("outer");
    in_module([] { allocate(1000); });
    nvtx3::scoped_range_in<own_domain> const inner("in a domain");
    allocate(2000);
  }
  nvtxRangeId_t started = 0;
  std::thread([&] {
    nvtx3::scoped_range const range("thread");
    started = nvtxRangeStartA("handed over");
    allocate(3000);
    std::thread([&] {
      nvtxRangeEnd(started);
      allocate(4000);
    }).join();
    allocate(5000);
  }).join();
  allocate(6000);
  return 0;
}
