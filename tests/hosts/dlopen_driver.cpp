// SPDX-License-Identifier: Apache-2.0
// Linked to nothing of CUDA: opens the driver at run time and takes each function by its name, by cuGetProcAddress, or
// by the cuGetProcAddress that cuGetProcAddress gives.
#include <cuda.h>
#include <dlfcn.h>

#include <string_view>

#include "tests/hosts/host.h"

#define DRIVER(...) REQUIRE((__VA_ARGS__) == CUDA_SUCCESS)

namespace {

using GetProcAddress = CUresult (*)(const char*, void**, int, cuuint64_t, CUdriverProcAddressQueryResult*);

struct Functions {
  decltype(&cuInit) init;
  decltype(&cuDevicePrimaryCtxRetain) retain;
  decltype(&cuCtxSetCurrent) set_current;
  decltype(&cuMemAlloc) alloc;
  decltype(&cuMemFree) free;
};

template <class F>
void by_name(void* library, const char* name, F& out) {
  out = reinterpret_cast<F>(dlsym(library, name));
  REQUIRE(out != nullptr);
}

template <class F>
void by_version(GetProcAddress ask, const char* name, int version, F& out) {
  void* found = nullptr;
  CUdriverProcAddressQueryResult status{};
  DRIVER(ask(name, &found, version, 0, &status));
  REQUIRE(status == CU_GET_PROC_ADDRESS_SUCCESS && found != nullptr);
  out = reinterpret_cast<F>(found);
}

Functions take_by_name(void* library) {
  Functions f{};
  by_name(library, "cuInit", f.init);
  by_name(library, "cuDevicePrimaryCtxRetain", f.retain);
  by_name(library, "cuCtxSetCurrent", f.set_current);
  by_name(library, "cuMemAlloc_v2", f.alloc);
  by_name(library, "cuMemFree_v2", f.free);
  return f;
}

Functions take_by_version(GetProcAddress ask) {
  Functions f{};
  by_version(ask, "cuInit", 2000, f.init);
  by_version(ask, "cuDevicePrimaryCtxRetain", 7000, f.retain);
  by_version(ask, "cuCtxSetCurrent", 4000, f.set_current);
  by_version(ask, "cuMemAlloc", 3020, f.alloc);
  by_version(ask, "cuMemFree", 12000, f.free);  // the newest that is not newer
  return f;
}

Functions take(std::string_view how) {
  void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  REQUIRE(library != nullptr);
  if (how == "names") return take_by_name(library);
  GetProcAddress ask = nullptr;
  by_name(library, "cuGetProcAddress_v2", ask);
  if (how == "nested") by_version(ask, "cuGetProcAddress", 12000, ask);
  return take_by_version(ask);
}

}  // namespace

int main(int, char** argv) {
  Functions const cuda = take(argv[1]);
  CUcontext context = nullptr;
  DRIVER(cuda.init(0));
  DRIVER(cuda.retain(&context, 0));
  DRIVER(cuda.set_current(context));
  for (std::size_t i = 1; i <= 20; ++i) {
    CUdeviceptr block = 0;
    DRIVER(cuda.alloc(&block, 3'000 * i));
    host::account.add(3'000 * i);
    if (i % 5 == 0) continue;
    DRIVER(cuda.free(block));
    host::account.remove(3'000 * i);
  }
  // What is not there is still not there.
  CUdeviceptr block = 0;
  std::printf("unknown %d, interior %d\n", cuda.free(12345), cuda.alloc(&block, 0));
  host::account.write();
  return 0;
}
