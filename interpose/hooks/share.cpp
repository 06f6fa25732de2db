// SPDX-License-Identifier: Apache-2.0
// Memory of other processes and other APIs, seen here and paid for elsewhere; and ours, once it is handed out.
#include "interpose/hooks/share.h"

#include <atomic>

#include "interpose/hooks/array_size.h"
#include "interpose/hooks/hook.h"
#include "interpose/serve/mode.h"
#include "interpose/serve/serve.h"

namespace tidemark::interpose {
namespace {

constinit std::atomic<bool> shared{false};

// The trace says what was handed out first.
CUresult hands_out(const char* what, CUresult result) {
  if (result == CUDA_SUCCESS && !shared.exchange(true) && ready())
    shield([&] { recorder().names().fact("shared_memory", what); });
  return result;
}

}  // namespace

bool has_shared_memory() {
  return shared.load(std::memory_order_acquire);
}

}  // namespace tidemark::interpose

using namespace tidemark::interpose;
using tidemark::trace::Class;
using tidemark::trace::Space;

// A handle stands for a whole block of the driver's, which a served one is not: the driver refuses. Blocks that come
// after this are its own.
TIDEMARK_HOOK(cuIpcGetMemHandle)(CUipcMemHandle* out, CUdeviceptr block) {
  if (serve::is_ours(block))
    shield([] { serve::stop("memory is to be shared with another process (--mode observe shares all of it)"); });
  return hands_out("cuIpcGetMemHandle", call(&Driver::cuIpcGetMemHandle, out, block));
}
TIDEMARK_HOOK(cuMemExportToShareableHandle)
(void* out, CUmemGenericAllocationHandle block, CUmemAllocationHandleType type, unsigned long long flags) {
  return hands_out("cuMemExportToShareableHandle",
                   call(&Driver::cuMemExportToShareableHandle, out, block, type, flags));
}
TIDEMARK_HOOK(cuMemPoolExportToShareableHandle)
(void* out, CUmemoryPool pool, CUmemAllocationHandleType type, unsigned long long flags) {
  return hands_out("cuMemPoolExportToShareableHandle",
                   call(&Driver::cuMemPoolExportToShareableHandle, out, pool, type, flags));
}
TIDEMARK_HOOK(cuMemPoolExportPointer)(CUmemPoolPtrExportData* out, CUdeviceptr block) {
  return hands_out("cuMemPoolExportPointer", call(&Driver::cuMemPoolExportPointer, out, block));
}
TIDEMARK_HOOK(cuMemGetHandleForAddressRange)
(void* out, CUdeviceptr begin, size_t bytes, CUmemRangeHandleType type, unsigned long long flags) {
  return hands_out("cuMemGetHandleForAddressRange",
                   call(&Driver::cuMemGetHandleForAddressRange, out, begin, bytes, type, flags));
}

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
TIDEMARK_HOOK(cuExternalMemoryGetMappedMipmappedArray)
(CUmipmappedArray* out, CUexternalMemory memory, const CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC* shape) {
  return allocate(
      {.call = "cuExternalMemoryGetMappedMipmappedArray", .block_class = Class::Imported},
      [&] { return call(&Driver::cuExternalMemoryGetMappedMipmappedArray, out, memory, shape); },
      [&] {
        return Allocation{.address = reinterpret_cast<std::uint64_t>(*out),
                          .size_bytes = array_bytes(shape->arrayDesc, shape->numLevels)};
      });
}
// What was mapped of it was freed before. What the import itself took shows in what is in use.
TIDEMARK_HOOK(cuDestroyExternalMemory)(CUexternalMemory memory) {
  CUresult const result = call(&Driver::cuDestroyExternalMemory, memory);
  if (result == CUDA_SUCCESS && recording())
    shield([] {
      Place const place = current_place();
      if (place.context != 0) devices().sample(place.device);
    });
  return result;
}
