// SPDX-License-Identifier: Apache-2.0
// Contexts and modules. A context's end ends its blocks; a module's code and variables take memory that is not the
// program's.
#include <array>
#include <atomic>

#include "interpose/hooks/hook.h"

namespace tidemark::interpose {
namespace {

constinit std::array<std::atomic<std::uint64_t>, Devices::kMost> primary{};

std::atomic<std::uint64_t>& primary_of(CUdevice device) {
  return primary[static_cast<std::size_t>(device) % Devices::kMost];
}

void ended(std::uint64_t context, std::uint8_t device) {
  if (context == 0 || !recording()) return;
  shield([&] {
    recorder().context_ended(context);
    if (current_place().context != 0) devices().sample(device);
  });
}

// The context is gone once nobody holds it.
CUresult primary_released(CUdevice device, CUresult result) {
  unsigned int flags = 0;
  int active = 1;
  if (result == CUDA_SUCCESS && recording() &&
      call(&Driver::cuDevicePrimaryCtxGetState, device, &flags, &active) == CUDA_SUCCESS && active == 0)
    ended(primary_of(device).load(), static_cast<std::uint8_t>(device));
  return result;
}

CUresult primary_reset(CUdevice device, CUresult result) {
  if (result == CUDA_SUCCESS) ended(primary_of(device).load(), static_cast<std::uint8_t>(device));
  return result;
}

template <class Real>
CUresult overhead(Real real) {
  if (!ready()) return real();
  Place place;
  shield([&] {
    place = current_place();
    if (place.context != 0) devices().begin_overhead(place.device);
  });
  CUresult const result = real();
  if (place.context != 0) shield([&] { devices().end_overhead(place.device); });
  return result;
}

}  // namespace
}  // namespace tidemark::interpose

using namespace tidemark::interpose;

TIDEMARK_HOOK(cuDevicePrimaryCtxRetain)(CUcontext* out, CUdevice device) {
  CUresult const result = call(&Driver::cuDevicePrimaryCtxRetain, out, device);
  if (result == CUDA_SUCCESS && ready()) primary_of(device).store(reinterpret_cast<std::uint64_t>(*out));
  return result;
}
TIDEMARK_HOOK(cuDevicePrimaryCtxRelease)(CUdevice device) {
  return primary_released(device, call(&Driver::cuDevicePrimaryCtxRelease, device));
}
TIDEMARK_HOOK(cuDevicePrimaryCtxRelease_v2)(CUdevice device) {
  return primary_released(device, call(&Driver::cuDevicePrimaryCtxRelease_v2, device));
}
TIDEMARK_HOOK(cuDevicePrimaryCtxReset)(CUdevice device) {
  return primary_reset(device, call(&Driver::cuDevicePrimaryCtxReset, device));
}
TIDEMARK_HOOK(cuDevicePrimaryCtxReset_v2)(CUdevice device) {
  return primary_reset(device, call(&Driver::cuDevicePrimaryCtxReset_v2, device));
}
TIDEMARK_HOOK(cuCtxDestroy_v2)(CUcontext context) {
  CUresult const result = call(&Driver::cuCtxDestroy_v2, context);
  if (result == CUDA_SUCCESS) ended(reinterpret_cast<std::uint64_t>(context), 0);
  return result;
}
TIDEMARK_HOOK(cuCtxDestroy)(CUcontext context) {
  CUresult const result = call(&Driver::cuCtxDestroy, context);
  if (result == CUDA_SUCCESS) ended(reinterpret_cast<std::uint64_t>(context), 0);
  return result;
}

TIDEMARK_HOOK(cuModuleLoad)(CUmodule* out, const char* path) {
  return overhead([&] { return call(&Driver::cuModuleLoad, out, path); });
}
TIDEMARK_HOOK(cuModuleLoadData)(CUmodule* out, const void* image) {
  return overhead([&] { return call(&Driver::cuModuleLoadData, out, image); });
}
TIDEMARK_HOOK(cuModuleLoadDataEx)
(CUmodule* out, const void* image, unsigned int count, CUjit_option* options, void** values) {
  return overhead([&] { return call(&Driver::cuModuleLoadDataEx, out, image, count, options, values); });
}
TIDEMARK_HOOK(cuModuleLoadFatBinary)(CUmodule* out, const void* image) {
  return overhead([&] { return call(&Driver::cuModuleLoadFatBinary, out, image); });
}
TIDEMARK_HOOK(cuModuleUnload)(CUmodule module) {
  return overhead([&] { return call(&Driver::cuModuleUnload, module); });
}
TIDEMARK_HOOK(cuLibraryLoadData)
(CUlibrary* out, const void* code, CUjit_option* jit, void** jit_values, unsigned int jit_count,
 CUlibraryOption* options, void** values, unsigned int count) {
  return overhead(
      [&] { return call(&Driver::cuLibraryLoadData, out, code, jit, jit_values, jit_count, options, values, count); });
}
TIDEMARK_HOOK(cuLibraryLoadFromFile)
(CUlibrary* out, const char* path, CUjit_option* jit, void** jit_values, unsigned int jit_count,
 CUlibraryOption* options, void** values, unsigned int count) {
  return overhead([&] {
    return call(&Driver::cuLibraryLoadFromFile, out, path, jit, jit_values, jit_count, options, values, count);
  });
}
TIDEMARK_HOOK(cuLibraryUnload)(CUlibrary library) {
  return overhead([&] { return call(&Driver::cuLibraryUnload, library); });
}
TIDEMARK_HOOK(cuCtxSetLimit)(CUlimit limit, size_t value) {
  return overhead([&] { return call(&Driver::cuCtxSetLimit, limit, value); });
}
