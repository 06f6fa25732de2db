// SPDX-License-Identifier: Apache-2.0
// Run with the rights of its owner. The system then ignores the library path too, so it finds the device by itself.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>

int main() {
  std::printf("user %u with the rights of %u\n", getuid(), geteuid());
  void* const library = dlopen(HOST_SOFTGPU "/libcuda.so.1", RTLD_NOW);
  if (library == nullptr) return std::printf("%s\n", dlerror());
  auto const init = reinterpret_cast<int (*)(unsigned)>(dlsym(library, "cuInit"));
  auto const count = reinterpret_cast<int (*)(int*)>(dlsym(library, "cuDeviceGetCount"));
  int devices = 0;
  std::printf("cuInit %d", init(0));
  std::printf(", cuDeviceGetCount %d", count(&devices));
  std::printf(", %d devices\n", devices);
  return 0;
}
