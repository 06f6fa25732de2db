// SPDX-License-Identifier: Apache-2.0
// Page-locked host memory: allocated here, or the program's own.
#include "interpose/hooks/hook.h"

using namespace tidemark::interpose;
using tidemark::trace::Class;
using tidemark::trace::Space;

namespace {

std::uint64_t number(const void* pointer) {
  return reinterpret_cast<std::uint64_t>(pointer);
}

}  // namespace

// The first forms, for programs of CUDA 2 and 3: the same memory.
TIDEMARK_HOOK(cuMemAllocHost)(void** out, unsigned int bytes) {
  return allocate(
      {.call = "cuMemAllocHost", .size_bytes = bytes, .block_class = Class::Pinned},
      [&] { return call(&Driver::cuMemAllocHost, out, bytes); },
      [&] { return Allocation{.address = number(*out), .size_bytes = bytes}; });
}
TIDEMARK_HOOK(cuMemHostRegister)(void* block, size_t bytes, unsigned int flags) {
  return allocate(
      {.call = "cuMemHostRegister", .size_bytes = bytes, .block_class = Class::Registered},
      [&] { return call(&Driver::cuMemHostRegister, block, bytes, flags); },
      [&] { return Allocation{.address = number(block), .size_bytes = bytes}; });
}

TIDEMARK_HOOK(cuMemAllocHost_v2)(void** out, size_t bytes) {
  return allocate(
      {.call = "cuMemAllocHost", .size_bytes = bytes, .block_class = Class::Pinned},
      [&] { return call(&Driver::cuMemAllocHost_v2, out, bytes); },
      [&] { return Allocation{.address = number(*out), .size_bytes = bytes}; });
}

TIDEMARK_HOOK(cuMemHostAlloc)(void** out, size_t bytes, unsigned int flags) {
  return allocate(
      {.call = "cuMemHostAlloc", .size_bytes = bytes, .block_class = Class::Pinned},
      [&] { return call(&Driver::cuMemHostAlloc, out, bytes, flags); },
      [&] { return Allocation{.address = number(*out), .size_bytes = bytes}; });
}

TIDEMARK_HOOK(cuMemFreeHost)(void* block) {
  return release(Space::Memory, number(block), nullptr, [&] { return call(&Driver::cuMemFreeHost, block); });
}

TIDEMARK_HOOK(cuMemHostRegister_v2)(void* block, size_t bytes, unsigned int flags) {
  return allocate(
      {.call = "cuMemHostRegister", .size_bytes = bytes, .block_class = Class::Registered},
      [&] { return call(&Driver::cuMemHostRegister_v2, block, bytes, flags); },
      [&] { return Allocation{.address = number(block), .size_bytes = bytes}; });
}

TIDEMARK_HOOK(cuMemHostUnregister)(void* block) {
  return release(Space::Memory, number(block), nullptr, [&] { return call(&Driver::cuMemHostUnregister, block); });
}
