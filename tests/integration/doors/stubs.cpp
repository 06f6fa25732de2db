// SPDX-License-Identifier: Apache-2.0
// As TensorFlow does: CUDA's names, without versions, that open the library at the first call and forward to it.
#include <dlfcn.h>

#include <cstddef>

namespace {

void* find(const char* library, const char* symbol) {
  static int depth = 0;
  if (++depth > 100) __builtin_trap();  // it came back to itself
  void* const found = dlsym(dlopen(library, RTLD_NOW), symbol);
  --depth;
  return found;
}

}  // namespace

#define STUB(library, name, parameters, ...)                                            \
  extern "C" int name parameters {                                                      \
    static int depth = 0;                                                               \
    if (++depth > 100) __builtin_trap();                                                \
    static auto const real = reinterpret_cast<int(*) parameters>(find(library, #name)); \
    int const result = real(__VA_ARGS__);                                               \
    --depth;                                                                            \
    return result;                                                                      \
  }

STUB("libcuda.so.1", cuInit, (unsigned flags), flags)
STUB("libcuda.so.1", cuMemAlloc_v2, (void* out, std::size_t bytes), out, bytes)
STUB("libcuda.so.1", cuMemFree_v2, (std::size_t block), block)
STUB("libcuda.so.1", cuStreamSynchronize, (void* stream), stream)
STUB("libcudart.so.13", cudaMalloc, (void* out, std::size_t bytes), out, bytes)
STUB("libcudart.so.13", cudaDeviceSynchronize, ())
