// SPDX-License-Identifier: Apache-2.0
// Kernels as functions: attributes, parameters, occupancy.
#include "softgpu/driver/function.h"

#include <algorithm>

#include "softgpu/driver/module.h"
#include "softgpu/model/image.h"

using namespace tidemark;
using namespace tidemark::softgpu;

namespace tidemark::softgpu {

int architecture_of(const Profile& profile) {
  return profile.capacity_only() ? 75 : profile.compute_major * 10 + profile.compute_minor;
}

int max_threads(const CUkern_st& kernel) {
  read_facts(kernel.library);
  std::uint32_t limit = 1024;
  if (kernel.thread_limit != 0) limit = std::min(limit, kernel.thread_limit);
  if (kernel.body != nullptr) limit = std::min(limit, kernel.body->max_threads_per_block);
  return static_cast<int>(limit);
}

int static_shared(const CUkern_st& kernel) {
  read_facts(kernel.library);
  return static_cast<int>(kernel.static_shared_bytes);
}

int max_dynamic_shared(const CUkern_st& kernel) {
  auto const set = kernel.attributes.find(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  return set != kernel.attributes.end() ? set->second : 49152 - static_shared(kernel);
}

int blocks_per_sm(const CUkern_st& kernel, const Profile& p, int threads, std::size_t dynamic) {
  if (threads <= 0 || threads > max_threads(kernel) || dynamic > static_cast<std::size_t>(max_dynamic_shared(kernel)))
    return 0;
  int const warps = (threads + 31) / 32;
  int blocks = std::min(p.blocks_per_sm, p.threads_per_sm / (warps * 32));
  blocks = std::min(blocks, 65536 / (kRegistersPerThread * warps * 32));
  std::size_t const shared = static_cast<std::size_t>(static_shared(kernel)) + dynamic + 1024;  // 1 KiB is the system's
  return std::min<int>(blocks, static_cast<int>(p.shared_per_sm.n / shared));
}

}  // namespace tidemark::softgpu

namespace {

// What the kernel was compiled for; libraries choose by it among the variants they carry.
int code_architecture(const CUkern_st& kernel, int device) {
  read_facts(kernel.library);
  if (kernel.library->architecture != 0) return kernel.library->architecture;
  int const named = architecture_in_name(kernel.name, device);
  return named != 0 ? named : device;
}

int constant_bytes(const CUkern_st& kernel) {
  read_facts(kernel.library);
  return static_cast<int>(kernel.library->constant_bytes);
}

CUresult read_attribute(const CUkern_st& kernel, const Profile& profile, CUfunction_attribute attribute, int* value) {
  auto const set = kernel.attributes.find(attribute);
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = max_threads(kernel); return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = static_shared(kernel); return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: *value = constant_bytes(kernel); return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = 0; return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = kRegistersPerThread; return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
      *value = code_architecture(kernel, architecture_of(profile));
      return CUDA_SUCCESS;
    // What runs is always made for the device, as a card's driver makes it out of PTX.
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *value = architecture_of(profile); return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES: *value = max_dynamic_shared(kernel); return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      *value = set != kernel.attributes.end() ? set->second : -1;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      *value = set != kernel.attributes.end() ? set->second : 0;
      return CUDA_SUCCESS;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
}

CUresult write_attribute(CUkern_st& kernel, const Profile& profile, CUfunction_attribute attribute, int value) {
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      if (value < 0 || value + static_shared(kernel) > static_cast<int>(profile.shared_per_block_optin.n))
        return CUDA_ERROR_INVALID_VALUE;
      break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      if (value < -1 || value > 100) return CUDA_ERROR_INVALID_VALUE;
      break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE: break;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
  kernel.attributes[attribute] = value;
  return CUDA_SUCCESS;
}

template <class F>
CUresult with_kernel(const void* handle, F f) {
  return with_driver([&](Call& call) -> CUresult {
    CUkernel const kernel = kernel_of(call, static_cast<CUfunction>(const_cast<void*>(handle)));
    return kernel == nullptr ? CUDA_ERROR_INVALID_HANDLE : f(call, *kernel);
  });
}

CUresult param_info(const CUkern_st& kernel, std::size_t index, std::size_t* offset, std::size_t* bytes) {
  if (offset == nullptr || !kernel.params_known)
    return kernel.params_known ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_NOT_SUPPORTED;
  if (index >= kernel.params.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = packed_offsets(kernel)[index];
  if (bytes != nullptr) *bytes = kernel.params[index].size_bytes;
  return CUDA_SUCCESS;
}

}  // namespace

CUresult CUDAAPI cuFuncGetAttribute(int* value, CUfunction_attribute attribute, CUfunction function) {
  return with_kernel(function, [&](Call& call, CUkern_st& kernel) -> CUresult {
    return value == nullptr ? CUDA_ERROR_INVALID_VALUE
                            : read_attribute(kernel, *call.driver.config.profile, attribute, value);
  });
}

CUresult CUDAAPI cuFuncSetAttribute(CUfunction function, CUfunction_attribute attribute, int value) {
  return with_kernel(function, [&](Call& call, CUkern_st& kernel) {
    return write_attribute(kernel, *call.driver.config.profile, attribute, value);
  });
}

CUresult CUDAAPI cuKernelGetAttribute(int* value, CUfunction_attribute attribute, CUkernel kernel, CUdevice device) {
  if (device < 0) return CUDA_ERROR_INVALID_DEVICE;
  return cuFuncGetAttribute(value, attribute, reinterpret_cast<CUfunction>(kernel));
}

CUresult CUDAAPI cuKernelSetAttribute(CUfunction_attribute attribute, int value, CUkernel kernel, CUdevice device) {
  if (device < 0) return CUDA_ERROR_INVALID_DEVICE;
  return cuFuncSetAttribute(reinterpret_cast<CUfunction>(kernel), attribute, value);
}

CUresult CUDAAPI cuFuncSetCacheConfig(CUfunction function, CUfunc_cache) {
  return with_kernel(function, [](Call&, CUkern_st&) { return CUDA_SUCCESS; });
}

CUresult CUDAAPI cuFuncSetSharedMemConfig(CUfunction function, CUsharedconfig) {
  return with_kernel(function, [](Call&, CUkern_st&) { return CUDA_SUCCESS; });
}

CUresult CUDAAPI cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache, CUdevice) {
  return with_kernel(kernel, [](Call&, CUkern_st&) { return CUDA_SUCCESS; });
}

CUresult CUDAAPI cuFuncGetName(const char** name, CUfunction function) {
  return with_kernel(function, [&](Call&, CUkern_st& kernel) -> CUresult {
    if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *name = kernel.name.c_str();
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuKernelGetName(const char** name, CUkernel kernel) {
  return cuFuncGetName(name, reinterpret_cast<CUfunction>(kernel));
}

CUresult CUDAAPI cuFuncGetParamInfo(CUfunction function, size_t index, size_t* offset, size_t* bytes) {
  return with_kernel(function, [&](Call&, CUkern_st& kernel) { return param_info(kernel, index, offset, bytes); });
}

CUresult CUDAAPI cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t* offset, size_t* bytes) {
  return with_kernel(kernel, [&](Call&, CUkern_st& k) { return param_info(k, index, offset, bytes); });
}

CUresult CUDAAPI cuFuncGetModule(CUmodule* module, CUfunction function) {
  return with_driver([&](Call& call) -> CUresult {
    CUfunction const f = call.driver.functions.check(function);
    if (f == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *module = f->module;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuFuncIsLoaded(CUfunctionLoadingState* state, CUfunction function) {
  return with_kernel(function, [&](Call&, CUkern_st&) -> CUresult {
    if (state == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *state = CU_FUNCTION_LOADING_STATE_LOADED;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuFuncLoad(CUfunction function) {
  return with_kernel(function, [](Call&, CUkern_st&) { return CUDA_SUCCESS; });
}

CUresult CUDAAPI cuKernelGetFunction(CUfunction* out, CUkernel kernel) {
  CUmodule module = nullptr;
  CUresult const result = with_driver([&](Call& call) -> CUresult {
    return call.driver.kernels.check(kernel) == nullptr || out == nullptr ? CUDA_ERROR_INVALID_HANDLE : CUDA_SUCCESS;
  });
  if (result != CUDA_SUCCESS) return result;
  if (CUresult const failed = cuLibraryGetModule(&module, kernel->library); failed != CUDA_SUCCESS) return failed;
  return cuModuleGetFunction(out, module, kernel->name.c_str());
}

CUresult CUDAAPI cuKernelGetLibrary(CUlibrary* out, CUkernel kernel) {
  return with_kernel(kernel, [&](Call&, CUkern_st& k) -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = k.library;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, CUfunction function, int threads,
                                                                      size_t dynamic, unsigned flags) {
  return with_kernel(function, [&](Call& call, CUkern_st& kernel) -> CUresult {
    if (blocks == nullptr || threads <= 0 || flags > CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)
      return CUDA_ERROR_INVALID_VALUE;
    *blocks = blocks_per_sm(kernel, *call.driver.config.profile, threads, dynamic);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int threads,
                                                             size_t dynamic) {
  return cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, threads, dynamic, CU_OCCUPANCY_DEFAULT);
}

CUresult CUDAAPI cuOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, CUfunction function,
                                                           CUoccupancyB2DSize of_block, size_t dynamic, int limit,
                                                           unsigned flags) {
  return with_kernel(function, [&](Call& call, CUkern_st& kernel) -> CUresult {
    if (grid == nullptr || block == nullptr || flags > CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)
      return CUDA_ERROR_INVALID_VALUE;
    Profile const& profile = *call.driver.config.profile;
    int const most = limit > 0 ? std::min(limit, max_threads(kernel)) : max_threads(kernel);
    int best_threads = 0, best_resident = 0;
    for (int threads = most; threads > 0; threads = (threads - 1) / 32 * 32) {
      std::size_t const shared = of_block != nullptr ? of_block(threads) : dynamic;
      int const resident = blocks_per_sm(kernel, profile, threads, shared) * threads;
      if (resident > best_resident) {
        best_resident = resident;
        best_threads = threads;
      }
    }
    *block = best_threads;
    *grid = best_threads == 0 ? 0 : best_resident / best_threads * profile.sm_count;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuOccupancyMaxPotentialBlockSize(int* grid, int* block, CUfunction function,
                                                  CUoccupancyB2DSize of_block, size_t dynamic, int limit) {
  return cuOccupancyMaxPotentialBlockSizeWithFlags(grid, block, function, of_block, dynamic, limit,
                                                   CU_OCCUPANCY_DEFAULT);
}

CUresult CUDAAPI cuOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, CUfunction function, int blocks, int threads) {
  return with_kernel(function, [&](Call& call, CUkern_st& kernel) -> CUresult {
    if (bytes == nullptr || blocks <= 0 || threads <= 0) return CUDA_ERROR_INVALID_VALUE;
    std::size_t const share = call.driver.config.profile->shared_per_sm.n / static_cast<std::size_t>(blocks);
    std::size_t const fixed = static_cast<std::size_t>(static_shared(kernel)) + 1024;
    *bytes =
        std::min<std::size_t>(share > fixed ? share - fixed : 0, static_cast<std::size_t>(max_dynamic_shared(kernel)));
    return CUDA_SUCCESS;
  });
}
