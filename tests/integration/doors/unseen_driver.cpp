// SPDX-License-Identifier: Apache-2.0
// The software device's driver with a function more, of which nobody has heard: it submits work unseen.
#include <cuda.h>
#include <dlfcn.h>

extern "C" __attribute__((visibility("default"))) CUresult cuNobodyKnows(CUdeviceptr at, unsigned char value,
                                                                         size_t bytes, CUstream stream) {
  static auto const real =
      reinterpret_cast<decltype(&cuMemsetD8Async)>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuMemsetD8Async"));
  return real(at, value, bytes, stream);
}
