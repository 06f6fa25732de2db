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

// Frees are stamped before the real call: afterwards another thread may own the addresses.
std::uint64_t before_end() {
  return recording() ? recorder().file().clock().now_ordered() : 0;
}

void ended(std::uint64_t context, std::uint64_t ticks) {
  if (context == 0 || ticks == 0) return;
  shield([&] {
    recorder().context_ended(context, ticks);
    if (Place const place = current_place(); place.context != 0) devices().sample(place.device);
  });
}

// The context is gone once nobody holds it.
template <class Real>
CUresult release_primary(CUdevice device, Real real) {
  std::uint64_t const ticks = before_end();
  CUresult const result = real();
  unsigned int flags = 0;
  int active = 1;
  if (result == CUDA_SUCCESS && ticks != 0 &&
      call(&Driver::cuDevicePrimaryCtxGetState, device, &flags, &active) == CUDA_SUCCESS && active == 0)
    ended(primary_of(device).load(), ticks);
  return result;
}

template <class Real>
CUresult end_context(std::uint64_t context, Real real) {
  std::uint64_t const ticks = before_end();
  CUresult const result = real();
  if (result == CUDA_SUCCESS) ended(context, ticks);
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
  return release_primary(device, [&] { return call(&Driver::cuDevicePrimaryCtxRelease, device); });
}
TIDEMARK_HOOK(cuDevicePrimaryCtxRelease_v2)(CUdevice device) {
  return release_primary(device, [&] { return call(&Driver::cuDevicePrimaryCtxRelease_v2, device); });
}
TIDEMARK_HOOK(cuDevicePrimaryCtxReset)(CUdevice device) {
  return end_context(primary_of(device).load(), [&] { return call(&Driver::cuDevicePrimaryCtxReset, device); });
}
TIDEMARK_HOOK(cuDevicePrimaryCtxReset_v2)(CUdevice device) {
  return end_context(primary_of(device).load(), [&] { return call(&Driver::cuDevicePrimaryCtxReset_v2, device); });
}
TIDEMARK_HOOK(cuCtxDestroy_v2)(CUcontext context) {
  return end_context(reinterpret_cast<std::uint64_t>(context), [&] { return call(&Driver::cuCtxDestroy_v2, context); });
}
TIDEMARK_HOOK(cuCtxDestroy)(CUcontext context) {
  return end_context(reinterpret_cast<std::uint64_t>(context), [&] { return call(&Driver::cuCtxDestroy, context); });
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
