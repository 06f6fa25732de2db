// SPDX-License-Identifier: Apache-2.0
// Memory of other processes and other APIs: seen here, paid for elsewhere.
#include "interpose/hooks/hook.h"

using namespace tidemark::interpose;
using tidemark::trace::Class;
using tidemark::trace::Space;

TIDEMARK_HOOK(cuIpcOpenMemHandle)(CUdeviceptr* out, CUipcMemHandle handle, unsigned int flags) {
  return allocate(
      {.call = "cuIpcOpenMemHandle", .block_class = Class::Imported},
      [&] { return call(&Driver::cuIpcOpenMemHandle, out, handle, flags); },
      [&] { return Allocation{.address = *out, .size_bytes = block_bytes(*out)}; });
}
TIDEMARK_HOOK(cuIpcOpenMemHandle_v2)(CUdeviceptr* out, CUipcMemHandle handle, unsigned int flags) {
  return allocate(
      {.call = "cuIpcOpenMemHandle", .block_class = Class::Imported},
      [&] { return call(&Driver::cuIpcOpenMemHandle_v2, out, handle, flags); },
      [&] { return Allocation{.address = *out, .size_bytes = block_bytes(*out)}; });
}
TIDEMARK_HOOK(cuIpcCloseMemHandle)(CUdeviceptr block) {
  return release(Space::Memory, block, nullptr, [&] { return call(&Driver::cuIpcCloseMemHandle, block); });
}

// The mapped buffer is what has an address; it is freed like any other block.
TIDEMARK_HOOK(cuExternalMemoryGetMappedBuffer)
(CUdeviceptr* out, CUexternalMemory memory, const CUDA_EXTERNAL_MEMORY_BUFFER_DESC* buffer) {
  return allocate(
      {.call = "cuExternalMemoryGetMappedBuffer", .block_class = Class::Imported},
      [&] { return call(&Driver::cuExternalMemoryGetMappedBuffer, out, memory, buffer); },
      [&] { return Allocation{.address = *out, .size_bytes = buffer->size}; });
}
