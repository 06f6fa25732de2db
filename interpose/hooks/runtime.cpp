// SPDX-License-Identifier: Apache-2.0
// The runtime's allocating functions, and what it says of a card's capacity. The driver's hooks beneath count the
// bytes; here the call gets the name that the program knows it by, for the post-mortem.
//
// Each function exists twice, for callers of libcudart.so.12 and of .13: the generated exports bind them by version.
#include <stddef.h>
#include <string.h>

#include <algorithm>
#include <type_traits>

#include "interpose/limit/limit.h"
#include "interpose/real/runtime.h"
#include "interpose/record/thread.h"
#include "interpose/serve/serve.h"

using namespace tidemark::interpose;

namespace {

template <int major, class... P>
cudaError_t named(RuntimeFunction& function, P... arguments) {
  auto const real = function.get<cudaError_t (*)(P...)>(major);
  if (real == nullptr) return cudaErrorNotSupported;
  Thread& thread = this_thread();
  // No object with a destructor: what the real function calls may throw through here, and then the name is merely old.
  const char* const outer = thread.call;
  thread.call = function.name();
  cudaError_t const result = real(arguments...);
  thread.call = outer;
  return result;
}

}  // namespace

#define TIDEMARK_RUNTIME_EXPORT(major, name) \
  extern "C" __attribute__((visibility("hidden"))) cudaError_t tidemark_hook##major##_##name
// `like` is the name that the header declares: twins for the per-thread default stream have none of their own there.
#define TIDEMARK_NAMED(name, like, parameters, ...)    \
  static constinit RuntimeFunction real_##name(#name); \
  TIDEMARK_RUNTIME_EXPORT(12, name) parameters {       \
    return named<12>(real_##name, __VA_ARGS__);        \
  }                                                    \
  TIDEMARK_RUNTIME_EXPORT(13, name) parameters {       \
    return named<13>(real_##name, __VA_ARGS__);        \
  }                                                    \
  static_assert(std::is_same_v<decltype(tidemark_hook13_##name), decltype(::like)>)

// A hit is served here, without the runtime. What is not, it asks of the driver, and there the search is not repeated;
// so errors are set by the runtime itself, as always.
namespace {

constinit RuntimeFunction real_cudaMalloc("cudaMalloc"), real_cudaFree("cudaFree");
constinit RuntimeFunction real_cudaPeekAtLastError("cudaPeekAtLastError");

// An error that stays is told by every call, and the runtime knows it first.
template <int major>
bool is_well() {
  auto const peek = real_cudaPeekAtLastError.get<cudaError_t (*)()>(major);
  return peek != nullptr && !serve::is_sticky(static_cast<CUresult>(peek()));
}

template <int major>
cudaError_t allocate(void** out, size_t bytes) {
  bool const may = serve::is_current() && is_well<major>();
  if (may && serve::allocate(reinterpret_cast<CUdeviceptr*>(out), bytes)) return cudaSuccess;
  Thread& thread = this_thread();
  thread.not_served = may;
  cudaError_t const result = named<major>(real_cudaMalloc, out, bytes);
  thread.not_served = false;
  return result;
}

template <int major>
cudaError_t release(void* block) {
  CUresult result = CUDA_SUCCESS;
  if (serve::is_current() && is_well<major>() && serve::free(reinterpret_cast<CUdeviceptr>(block), &result) &&
      result == CUDA_SUCCESS)
    return cudaSuccess;
  auto const real = real_cudaFree.get<cudaError_t (*)(void*)>(major);
  return real == nullptr ? cudaErrorNotSupported : real(block);
}

}  // namespace

TIDEMARK_RUNTIME_EXPORT(12, cudaMalloc)(void** out, size_t bytes) {
  return allocate<12>(out, bytes);
}
TIDEMARK_RUNTIME_EXPORT(13, cudaMalloc)(void** out, size_t bytes) {
  return allocate<13>(out, bytes);
}
TIDEMARK_RUNTIME_EXPORT(12, cudaFree)(void* block) {
  return release<12>(block);
}
TIDEMARK_RUNTIME_EXPORT(13, cudaFree)(void* block) {
  return release<13>(block);
}

TIDEMARK_NAMED(cudaMallocPitch, cudaMallocPitch, (void** out, size_t* pitch, size_t width, size_t height), out, pitch,
               width, height);
TIDEMARK_NAMED(cudaMalloc3D, cudaMalloc3D, (cudaPitchedPtr * out, cudaExtent extent), out, extent);
TIDEMARK_NAMED(cudaMallocManaged, cudaMallocManaged, (void** out, size_t bytes, unsigned int flags), out, bytes, flags);
TIDEMARK_NAMED(cudaMallocHost, cudaMallocHost, (void** out, size_t bytes), out, bytes);
TIDEMARK_NAMED(cudaHostAlloc, cudaHostAlloc, (void** out, size_t bytes, unsigned int flags), out, bytes, flags);
TIDEMARK_NAMED(cudaHostRegister, cudaHostRegister, (void* block, size_t bytes, unsigned int flags), block, bytes,
               flags);
TIDEMARK_NAMED(cudaMallocArray, cudaMallocArray,
               (cudaArray_t * out, const cudaChannelFormatDesc* format, size_t width, size_t height,
                unsigned int flags),
               out, format, width, height, flags);
TIDEMARK_NAMED(cudaMalloc3DArray, cudaMalloc3DArray,
               (cudaArray_t * out, const cudaChannelFormatDesc* format, cudaExtent extent, unsigned int flags), out,
               format, extent, flags);
TIDEMARK_NAMED(cudaMallocMipmappedArray, cudaMallocMipmappedArray,
               (cudaMipmappedArray_t * out, const cudaChannelFormatDesc* format, cudaExtent extent, unsigned int levels,
                unsigned int flags),
               out, format, extent, levels, flags);
TIDEMARK_NAMED(cudaMallocAsync, cudaMallocAsync, (void** out, size_t bytes, cudaStream_t stream), out, bytes, stream);
TIDEMARK_NAMED(cudaMallocAsync_ptsz, cudaMallocAsync, (void** out, size_t bytes, cudaStream_t stream), out, bytes,
               stream);
TIDEMARK_NAMED(cudaMallocFromPoolAsync, cudaMallocFromPoolAsync,
               (void** out, size_t bytes, cudaMemPool_t pool, cudaStream_t stream), out, bytes, pool, stream);
TIDEMARK_NAMED(cudaMallocFromPoolAsync_ptsz, cudaMallocFromPoolAsync,
               (void** out, size_t bytes, cudaMemPool_t pool, cudaStream_t stream), out, bytes, pool, stream);

// The card's capacity among its properties. In libcudart.so.12 the plain name has CUDA 11's structure and _v2 its own;
// the capacity stands at the same place in all.
namespace {

constexpr std::size_t kTotalBytesAt = 288;
static_assert(offsetof(cudaDeviceProp, totalGlobalMem) == kTotalBytesAt);

template <int major>
cudaError_t properties(RuntimeFunction& function, void* out, int device) {
  auto const real = function.get<cudaError_t (*)(void*, int)>(major);
  if (real == nullptr) return cudaErrorNotSupported;
  cudaError_t const result = real(out, device);
  std::uint64_t const limit = result == cudaSuccess && out != nullptr ? coming_limit_bytes() : 0;
  if (limit == 0) return result;
  std::size_t total_bytes = 0;
  auto* const at = static_cast<char*>(out) + kTotalBytesAt;
  memcpy(&total_bytes, at, sizeof total_bytes);
  total_bytes = std::min<std::uint64_t>(total_bytes, limit);
  memcpy(at, &total_bytes, sizeof total_bytes);
  return result;
}

constinit RuntimeFunction real_properties("cudaGetDeviceProperties"), real_properties_v2("cudaGetDeviceProperties_v2");

}  // namespace

TIDEMARK_RUNTIME_EXPORT(12, cudaGetDeviceProperties)(void* out, int device) {
  return properties<12>(real_properties, out, device);
}
TIDEMARK_RUNTIME_EXPORT(12, cudaGetDeviceProperties_v2)(void* out, int device) {
  return properties<12>(real_properties_v2, out, device);
}
TIDEMARK_RUNTIME_EXPORT(13, cudaGetDeviceProperties)(cudaDeviceProp* out, int device) {
  return properties<13>(real_properties, out, device);
}
