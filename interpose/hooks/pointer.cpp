// SPDX-License-Identifier: Apache-2.0
// Questions about addresses. A served block is a part of a mapping: what is told is the block, as if the driver had
// made it; an address of the allocator's that is in no live block is nobody's.
#include <mutex>

#include "base/address_map.h"
#include "base/spin_lock.h"
#include "interpose/hooks/hook.h"
#include "interpose/serve/serve.h"

using namespace tidemark::interpose;

namespace {

// Nobody's, on any driver: questions about it are answered as for memory that was freed.
constexpr CUdeviceptr kNobodys = 0x1000;

serve::Found find(CUdeviceptr address, serve::Block& block) {
  serve::Found found = serve::Found::NotOurs;
  shield([&] { found = serve::find_block(address, &block); });
  return found;
}

// Blocks whose copies and fills wait, by address; another block of the same address has another number.
constinit tidemark::SpinLock synchronous_lock;
constinit tidemark::AddressMap<std::uint64_t> synchronous;

bool is_synchronous(const serve::Block& block) {
  std::scoped_lock const guard(synchronous_lock);
  std::uint64_t const* const id = synchronous.find(block.address);
  return id != nullptr && *id == block.id;
}
void set_synchronous(const serve::Block& block, bool on) {
  std::scoped_lock const guard(synchronous_lock);
  if (!on)
    synchronous.erase(block.address);
  else if (std::uint64_t* const id = synchronous.insert(block.address))
    *id = block.id;
}

template <class T>
void put(void* out, T value) {
  if (out != nullptr) *static_cast<T*>(out) = value;
}

// Corrects an answer of the driver's for a served block.
void correct(void* out, CUpointer_attribute attribute, const serve::Block& block) {
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT: return put(out, reinterpret_cast<CUcontext>(block.context));
    case CU_POINTER_ATTRIBUTE_BUFFER_ID: return put(out, static_cast<unsigned long long>(block.id));
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR: return put(out, CUdeviceptr{block.address});
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE: return put(out, std::size_t{block.requested_bytes});
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS: return put(out, static_cast<unsigned>(is_synchronous(block)));
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE: {
      CUmemoryPool pool = nullptr;
      if (block.ordered) call(&Driver::cuDeviceGetDefaultMemPool, &pool, CUdevice{block.device});
      return put(out, pool);
    }
    default: return;
  }
}

// Some are refused for mapped memory and answered for a block of the driver's own.
bool is_answered_here(CUpointer_attribute attribute) {
  return attribute == CU_POINTER_ATTRIBUTE_CONTEXT || attribute == CU_POINTER_ATTRIBUTE_BUFFER_ID ||
         attribute == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR || attribute == CU_POINTER_ATTRIBUTE_RANGE_SIZE ||
         attribute == CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE;
}

}  // namespace

TIDEMARK_HOOK(cuPointerGetAttribute)(void* out, CUpointer_attribute attribute, CUdeviceptr address) {
  serve::Block block;
  serve::Found const found = find(address, block);
  if (found == serve::Found::NotOurs) return call(&Driver::cuPointerGetAttribute, out, attribute, address);
  if (found == serve::Found::Free) return call(&Driver::cuPointerGetAttribute, out, attribute, kNobodys);
  CUresult const result = call(&Driver::cuPointerGetAttribute, out, attribute, address);
  if (out == nullptr || (result != CUDA_SUCCESS && !is_answered_here(attribute))) return result;
  correct(out, attribute, block);
  return CUDA_SUCCESS;
}

// The driver keeps it for a mapping, of which a block may have several and each may show other blocks: those wait too,
// which is never wrong. What is told of a block is its own.
TIDEMARK_HOOK(cuPointerSetAttribute)(const void* value, CUpointer_attribute attribute, CUdeviceptr address) {
  serve::Block block;
  serve::Found const found = find(address, block);
  if (found == serve::Found::NotOurs) return call(&Driver::cuPointerSetAttribute, value, attribute, address);
  if (found == serve::Found::Free) return call(&Driver::cuPointerSetAttribute, value, attribute, kNobodys);
  bool const on = value != nullptr && *static_cast<const unsigned*>(value) != 0;
  CUresult result = CUDA_SUCCESS;
  constexpr std::uint64_t kFrame = 2 << 20;
  for (std::uint64_t at = block.address; at < block.address + block.requested_bytes && result == CUDA_SUCCESS;
       at = (at / kFrame + 1) * kFrame)
    // Neighbours may have asked for it, and for them it stays.
    result = on || attribute != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS
                 ? call(&Driver::cuPointerSetAttribute, value, attribute, CUdeviceptr{at})
                 : CUDA_SUCCESS;
  if (result == CUDA_SUCCESS && value != nullptr) shield([&] { set_synchronous(block, on); });
  return result;
}

TIDEMARK_HOOK(cuPointerGetAttributes)
(unsigned int count, CUpointer_attribute* attributes, void** out, CUdeviceptr address) {
  serve::Block block;
  serve::Found const found = find(address, block);
  if (found == serve::Found::Free) address = kNobodys;
  CUresult const result = call(&Driver::cuPointerGetAttributes, count, attributes, out, address);
  if (result != CUDA_SUCCESS || found != serve::Found::Live) return result;
  for (unsigned int i = 0; i < count; ++i) correct(out[i], attributes[i], block);
  return result;
}

TIDEMARK_HOOK(cuMemGetAddressRange_v2)(CUdeviceptr* base, size_t* bytes, CUdeviceptr address) {
  serve::Block block;
  serve::Found const found = find(address, block);
  if (found == serve::Found::NotOurs) return call(&Driver::cuMemGetAddressRange_v2, base, bytes, address);
  if (found == serve::Found::Free) return CUDA_ERROR_NOT_FOUND;
  if (base != nullptr) *base = block.address;
  if (bytes != nullptr) *bytes = block.requested_bytes;
  return CUDA_SUCCESS;
}
