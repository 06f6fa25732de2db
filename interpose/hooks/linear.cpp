// SPDX-License-Identifier: Apache-2.0
// Linear device memory, pitched and managed memory; whatever cuMemFree ends.
#include "interpose/hooks/hook.h"
#include "interpose/serve/pitch.h"
#include "interpose/serve/serve.h"

using namespace tidemark::interpose;
using tidemark::trace::Class;
using tidemark::trace::Space;

TIDEMARK_HOOK(cuMemAlloc_v2)(CUdeviceptr* out, size_t bytes) {
  if (serve::allocate(out, bytes)) return CUDA_SUCCESS;
  return allocate(
      {.call = "cuMemAlloc", .size_bytes = bytes, .undo = undo_memory},
      [&] { return call(&Driver::cuMemAlloc_v2, out, bytes); },
      [&] { return Allocation{.address = *out, .size_bytes = bytes}; });
}

TIDEMARK_HOOK(cuMemAllocPitch_v2)
(CUdeviceptr* out, size_t* pitch, size_t width_bytes, size_t height, unsigned int element_bytes) {
  // What is given are whole rows of the pitch.
  serve::Row const row{.width_bytes = width_bytes, .element_bytes = element_bytes, .device = current_place().device};
  std::size_t const known = out != nullptr && pitch != nullptr ? serve::known_pitch(row) : 0;
  std::size_t bytes = 0;
  if (known != 0 && !__builtin_mul_overflow(known, height, &bytes) && serve::allocate(out, bytes)) {
    *pitch = known;
    return CUDA_SUCCESS;
  }
  CUresult const result = allocate(
      {.call = "cuMemAllocPitch", .size_bytes = width_bytes * height, .undo = undo_memory},
      [&] { return call(&Driver::cuMemAllocPitch_v2, out, pitch, width_bytes, height, element_bytes); },
      [&] { return Allocation{.address = *out, .size_bytes = *pitch * height}; });
  if (result == CUDA_SUCCESS) serve::learn_pitch(row, *pitch);
  return result;
}

TIDEMARK_HOOK(cuMemAllocManaged)(CUdeviceptr* out, size_t bytes, unsigned int flags) {
  return allocate(
      {.call = "cuMemAllocManaged", .size_bytes = bytes, .block_class = Class::Managed},
      [&] { return call(&Driver::cuMemAllocManaged, out, bytes, flags); },
      [&] { return Allocation{.address = *out, .size_bytes = bytes}; });
}

TIDEMARK_HOOK(cuMemFree_v2)(CUdeviceptr block) {
  CUresult result = CUDA_SUCCESS;
  if (serve::free(block, &result)) return result;
  return release(Space::Memory, block, nullptr, [&] { return call(&Driver::cuMemFree_v2, block); });
}
