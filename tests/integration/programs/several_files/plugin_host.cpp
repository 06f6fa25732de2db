// SPDX-License-Identifier: Apache-2.0
// Opens a library with kernels, uses it, closes it while its last kernel may still be queued; again and again. The
// memory of its variables must come back.
#include <dlfcn.h>

#include "tests/integration/programs/check.h"

int main(int argc, char** argv) {
  const char* const path = argc > 1 ? argv[1] : "./libplugin.so";
  float* data = nullptr;
  CHECK(cudaMalloc(&data, 32 * sizeof(float)));
  std::size_t free_before = 0, free_after = 0, total = 0;
  CHECK(cudaMemGetInfo(&free_before, &total));
  for (int round = 0; round < 5; ++round) {
    void* const plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (plugin == nullptr) std::printf("%s\n", dlerror());
    REQUIRE(plugin != nullptr);
    auto const run = reinterpret_cast<int (*)(float*)>(dlsym(plugin, "plugin_run"));
    REQUIRE(run != nullptr && run(data) == 1 && run(data) == 2);
    REQUIRE(dlclose(plugin) == 0);
    CHECK(cudaDeviceSynchronize());
  }
  CHECK(cudaMemGetInfo(&free_after, &total));
  std::printf("free before %zu, after %zu\n", free_before, free_after);
  REQUIRE(free_before == free_after);
  CHECK(cudaFree(data));
  return 0;
}
