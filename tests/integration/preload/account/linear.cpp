// SPDX-License-Identifier: Apache-2.0
// Plain memory, host memory, arrays, and calls that must fail.
#include <cstdlib>

#include "tests/integration/preload/account/walk.h"

namespace walk {

bool Walk::alloc() {
  CUdeviceptr block = 0;
  std::size_t const bytes = any_size();
  if (cuMemAlloc(&block, bytes) != CUDA_SUCCESS) return false;
  own(block, bytes);
  remember(block);
  return true;
}

bool Walk::alloc_pitch() {
  CUdeviceptr block = 0;
  std::size_t pitch = 0;
  std::size_t const width = 1 + pick(5000), height = 1 + pick(300);
  if (cuMemAllocPitch(&block, &pitch, width, height, 4u << pick(3)) != CUDA_SUCCESS) return false;
  own(block, pitch * height);
  remember(block);
  return true;
}

bool Walk::alloc_managed() {
  CUdeviceptr block = 0;
  if (cuMemAllocManaged(&block, any_size(), CU_MEM_ATTACH_GLOBAL) != CUDA_SUCCESS) return false;
  remember(block);
  CUdevice device = 0;
  cuCtxGetDevice(&device);
  std::erase_if(managed_, [&](const Managed& m) { return m.block == block; });
  managed_.push_back({block, device});
  return true;
}

// To its device it takes memory there, to the host it gives it back. Not to another one: that one's contexts may end
// while the memory stays, and then nobody can tell whose it is.
bool Walk::prefetch() {
  Managed const managed = any(managed_, Managed{});
  CUmemLocation const where = chance(70) ? CUmemLocation{.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = managed.device}
                                         : CUmemLocation{.type = CU_MEM_LOCATION_TYPE_HOST, .id = 0};
  // An old name may be in the middle of another block by now.
  CUdeviceptr begin = 0;
  return managed.block != 0 && cuMemGetAddressRange(&begin, nullptr, managed.block) == CUDA_SUCCESS &&
         begin == managed.block &&
         cuMemPrefetchAsync_v2(managed.block, 1 + pick(4 << 20), where, 0, any_stream()) == CUDA_SUCCESS;
}

bool Walk::free() {
  CUdeviceptr const block = chance(80) ? take(blocks_, CUdeviceptr{0}) : any(blocks_, CUdeviceptr{0});
  if (block == 0 || cuMemFree(block) != CUDA_SUCCESS) return false;
  own_.erase(block);
  return true;
}

bool Walk::alloc_host() {
  void* block = nullptr;
  CUresult const result = chance(50) ? cuMemAllocHost(&block, 1 + pick(1 << 20))
                                     : cuMemHostAlloc(&block, 1 + pick(1 << 20), CU_MEMHOSTALLOC_PORTABLE);
  if (result == CUDA_SUCCESS) pinned_.push_back(block);
  return result == CUDA_SUCCESS;
}

bool Walk::free_host() {
  return !pinned_.empty() && cuMemFreeHost(take(pinned_, static_cast<void*>(nullptr))) == CUDA_SUCCESS;
}

bool Walk::register_host() {
  std::size_t const bytes = 4096 * (1 + pick(50));
  void* const block = std::aligned_alloc(4096, bytes);  // never given back: stale names must not become other memory
  auto const at = reinterpret_cast<CUdeviceptr>(block) + (chance(50) ? pick(100) : 0);
  std::size_t const part = bytes - 200 - pick(1000);
  if (cuMemHostRegister(reinterpret_cast<void*>(at), part, 0) != CUDA_SUCCESS) return false;
  registered_.push_back({at, part});
  return true;
}

bool Walk::unregister_host() {
  return !registered_.empty() && cuMemHostUnregister(reinterpret_cast<void*>(take(registered_, {}).at)) == CUDA_SUCCESS;
}

bool Walk::array() {
  CUDA_ARRAY_DESCRIPTOR const shape{.Width = 1 + pick(700),
                                    .Height = pick(300),
                                    .Format = chance(50) ? CU_AD_FORMAT_FLOAT : CU_AD_FORMAT_UNSIGNED_INT8,
                                    .NumChannels = 1u << pick(3)};
  CUarray made = nullptr;
  if (cuArrayCreate(&made, &shape) != CUDA_SUCCESS) return false;
  arrays_.push_back(made);
  return true;
}

bool Walk::array_3d() {
  bool const layered = chance(40);
  CUDA_ARRAY3D_DESCRIPTOR const shape{.Width = 1 + pick(100),
                                      .Height = layered ? pick(100) : 1 + pick(100),
                                      .Depth = pick(40) + (layered ? 1 : 0),
                                      .Format = CU_AD_FORMAT_HALF,
                                      .NumChannels = 1u << pick(3),
                                      .Flags = layered ? CUDA_ARRAY3D_LAYERED : 0u};
  CUarray made = nullptr;
  if (cuArray3DCreate(&made, &shape) != CUDA_SUCCESS) return false;
  arrays_.push_back(made);
  return true;
}

bool Walk::mipmap() {
  bool const layered = chance(30);
  CUDA_ARRAY3D_DESCRIPTOR const shape{.Width = 1 + pick(500),
                                      .Height = 1 + pick(500),
                                      .Depth = layered ? 1 + pick(6) : pick(20),
                                      .Format = CU_AD_FORMAT_FLOAT,
                                      .NumChannels = 1,
                                      .Flags = layered ? CUDA_ARRAY3D_LAYERED : 0u};
  CUmipmappedArray made = nullptr;
  if (cuMipmappedArrayCreate(&made, &shape, static_cast<unsigned>(1 + pick(10))) != CUDA_SUCCESS) return false;
  mipmaps_.push_back(made);
  return true;
}

bool Walk::destroy_array() {
  return !arrays_.empty() && cuArrayDestroy(take(arrays_, CUarray{nullptr})) == CUDA_SUCCESS;
}

bool Walk::destroy_mipmap() {
  return !mipmaps_.empty() && cuMipmappedArrayDestroy(take(mipmaps_, CUmipmappedArray{nullptr})) == CUDA_SUCCESS;
}

bool Walk::mistaken() {
  CUdeviceptr block = 0;
  CUmemGenericAllocationHandle handle = 0;
  CUmemAllocationProp properties{};
  int on_stack = 0;
  switch (pick(12)) {
    case 0: return cuMemAlloc(&block, std::size_t{1} << 44) != CUDA_SUCCESS;
    case 1: return cuMemAlloc(&block, 0) != CUDA_SUCCESS;
    case 2: return cuMemAlloc(nullptr, 4096) != CUDA_SUCCESS;
    case 3: return cuMemFree(any(blocks_, CUdeviceptr{0}) + 1) != CUDA_SUCCESS;
    case 4: return cuMemFree(reinterpret_cast<CUdeviceptr>(&on_stack)) != CUDA_SUCCESS;
    case 5: return cuMemFree(0) == CUDA_SUCCESS;
    case 6: return cuMemFreeHost(&on_stack) != CUDA_SUCCESS;
    case 7: return cuMemHostUnregister(&on_stack) != CUDA_SUCCESS;
    case 8: return cuMemAllocAsync(&block, std::size_t{1} << 44, any_stream()) != CUDA_SUCCESS;
    case 9: return cuMemRelease(12345) != CUDA_SUCCESS;
    case 10: return cuMemCreate(&handle, 2 << 20, &properties, 0) != CUDA_SUCCESS;
    default: return cuMemUnmap(any(reserved_, {}).at, 2 << 20) != CUDA_SUCCESS;
  }
}

}  // namespace walk
