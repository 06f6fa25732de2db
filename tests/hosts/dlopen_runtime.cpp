// SPDX-License-Identifier: Apache-2.0
// Opens the runtime at run time, for itself alone, closes it and opens it again.
#include <dlfcn.h>

#include "tests/hosts/host.h"

namespace {

struct Runtime {
  void* library = dlopen("libcudart.so.13", RTLD_LAZY | RTLD_LOCAL);
  decltype(&cudaMalloc) malloc = nullptr;
  decltype(&cudaFree) free = nullptr;
};

Runtime open_runtime() {
  Runtime runtime;
  REQUIRE(runtime.library != nullptr);
  runtime.malloc = reinterpret_cast<cudaError_t (*)(void**, std::size_t)>(dlsym(runtime.library, "cudaMalloc"));
  runtime.free = reinterpret_cast<decltype(&cudaFree)>(dlsym(runtime.library, "cudaFree"));
  REQUIRE(runtime.malloc != nullptr && runtime.free != nullptr);
  return runtime;
}

}  // namespace

int main() {
  for (int round = 0; round < 2; ++round) {
    Runtime const runtime = open_runtime();
    for (std::size_t i = 1; i <= 6; ++i) {
      void* block = nullptr;
      REQUIRE(runtime.malloc(&block, 7'000 * i) == cudaSuccess);
      host::account.add(7'000 * i);
      if (i % 3 == 0) continue;
      REQUIRE(runtime.free(block) == cudaSuccess);
      host::account.remove(7'000 * i);
    }
    dlclose(runtime.library);
  }
  std::puts("done");
  host::account.write();
  return 0;
}
