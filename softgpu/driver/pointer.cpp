// SPDX-License-Identifier: Apache-2.0
// What an address is.
#include <cstring>

#include "softgpu/driver/memory.h"

using namespace tidemark;
using namespace tidemark::softgpu;

namespace {

template <class T>
bool put(void* out, T value) {
  std::memcpy(out, &value, sizeof value);
  return true;
}

CUmemorytype type_of(const Block& block) {
  return block.is_host() ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}

// False: not a question about this kind of memory.
bool answer(const Block& block, CUpointer_attribute attribute, CUdeviceptr address, void* out) {
  bool const host_visible = block.is_host() || block.kind == MemoryKind::Managed;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT: return put(out, static_cast<CUcontext>(block.context));
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE: return put(out, type_of(block));
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER: return put(out, address);
    case CU_POINTER_ATTRIBUTE_HOST_POINTER: return host_visible && put(out, reinterpret_cast<void*>(address));
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: return put(out, static_cast<unsigned>(block.sync_memops));
    case CU_POINTER_ATTRIBUTE_BUFFER_ID: return put(out, static_cast<unsigned long long>(block.id));
    case CU_POINTER_ATTRIBUTE_IS_MANAGED: return put(out, static_cast<unsigned>(block.kind == MemoryKind::Managed));
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL: return put(out, block.device);
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE: return put(out, 0);
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: return put(out, static_cast<CUdeviceptr>(block.address));
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: return put(out, static_cast<std::size_t>(block.requested));
    case CU_POINTER_ATTRIBUTE_MAPPED: return put(out, 1);
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES: return put(out, std::uint64_t{0});
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE: return put(out, 0);
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
      return put(out, block.kind == MemoryKind::Mapped ? access_of(block, block.device)
                                                       : unsigned{CU_MEM_ACCESS_FLAGS_PROT_READWRITE});
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
      return put(out, block.kind == MemoryKind::Pool ? static_cast<CUmemoryPool>(block.owner) : nullptr);
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE: return put(out, static_cast<std::size_t>(block.requested));
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR: return put(out, static_cast<CUdeviceptr>(block.address));
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID: return put(out, static_cast<unsigned long long>(block.id));
    default: return false;
  }
}

std::size_t size_of(CUpointer_attribute attribute) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_MAPPED:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS: return 4;
    default: return 8;
  }
}

}  // namespace

CUresult CUDAAPI cuPointerGetAttribute(void* out, CUpointer_attribute attribute, CUdeviceptr address) {
  return with_driver([&](Call& call) -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Block const* const block = call.driver.blocks.find(address);
    return block != nullptr && answer(*block, attribute, address, out) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  });
}

// Unlike the single form, an unknown address is no error: every answer is then zero.
CUresult CUDAAPI cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** out,
                                        CUdeviceptr address) {
  return with_driver([&](Call& call) -> CUresult {
    if (attributes == nullptr || out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Block const* const block = call.driver.blocks.find(address);
    for (unsigned i = 0; i < count; ++i) {
      if (out[i] == nullptr) return CUDA_ERROR_INVALID_VALUE;
      if (block != nullptr && answer(*block, attributes[i], address, out[i])) continue;
      std::memset(out[i], 0, size_of(attributes[i]));
      // "No device" is -2 for an address that CUDA does not know.
      if (block == nullptr && attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) put(out[i], -2);
    }
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuPointerSetAttribute(const void* value, CUpointer_attribute attribute, CUdeviceptr address) {
  return with_driver([&](Call& call) -> CUresult {
    Block* const block = call.driver.blocks.find(address);
    if (value == nullptr || block == nullptr || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS || block->is_host())
      return CUDA_ERROR_INVALID_VALUE;
    block->sync_memops = *static_cast<const unsigned*>(value) != 0;
    return CUDA_SUCCESS;
  });
}
