// SPDX-License-Identifier: Apache-2.0
// Modules and limits: code, variables, heaps and stacks take memory that is not the program's blocks.
#include "interpose/hooks/hook.h"
#include "interpose/serve/cache.h"
#include "interpose/serve/uses.h"

namespace tidemark::interpose {
namespace {

template <class Real>
CUresult overhead(Real real) {
  if (!ready()) return real();
  Place place;
  shield([&] {
    place = current_place();
    if (place.context != 0) devices().begin_overhead(place.device);
  });
  CUresult const result = with_relief(-1, real);
  if (place.context != 0) shield([&] { devices().end_overhead(place.device); });
  return result;
}

// Their handles may soon be others'.
void functions_go() {
  if (serve::has_caches() && serve::follows_uses()) shield([] { serve::forget_functions(); });
}

}  // namespace
}  // namespace tidemark::interpose

using namespace tidemark::interpose;

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
  functions_go();
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
  functions_go();
  return overhead([&] { return call(&Driver::cuLibraryUnload, library); });
}
TIDEMARK_HOOK(cuCtxSetLimit)(CUlimit limit, size_t value) {
  return overhead([&] { return call(&Driver::cuCtxSetLimit, limit, value); });
}
TIDEMARK_HOOK(cuFuncLoad)(CUfunction function) {
  return overhead([&] { return call(&Driver::cuFuncLoad, function); });
}
