// SPDX-License-Identifier: Apache-2.0
// Kernels as objects: attributes, names, occupancy, libraries; and the variables of device code.
#include "softgpu/runtime/module.h"

using namespace tidemark::softgpu::runtime;

namespace {

// Finds what `func` means, in a context, and gives it to `use` with the current device; `use` returns a CUresult.
template <class Use>
cudaError_t with_callable(const void* func, Use use) {
  if (cudaError_t const error = enter(); error != cudaSuccess) return record(error);
  Callable callable;
  if (cudaError_t const error = find_callable(func, callable); error != cudaSuccess) return record(error);
  int device = 0;
  if (cudaError_t const error = current_device(device); error != cudaSuccess) return record(error);
  return record(use(callable, device));
}

CUresult get_attribute(const Callable& c, int device, CUfunction_attribute attribute, int& value) {
  if (c.function != nullptr) return call(&Driver::cuFuncGetAttribute, &value, attribute, c.function);
  return call(&Driver::cuKernelGetAttribute, &value, attribute, c.kernel, device);
}

CUresult set_attribute(const Callable& c, int device, CUfunction_attribute attribute, int value) {
  if (c.function != nullptr) return call(&Driver::cuFuncSetAttribute, c.function, attribute, value);
  return call(&Driver::cuKernelSetAttribute, attribute, value, c.kernel, device);
}

CUresult fill(cudaFuncAttributes& out, const Callable& callable, int device) {
  out = {};
  CUresult result = CUDA_SUCCESS;
  auto const get = [&](CUfunction_attribute attribute) {
    int value = 0;
    CUresult const one = get_attribute(callable, device, attribute, value);
    if (one != CUDA_SUCCESS && result == CUDA_SUCCESS) result = one;
    return value;
  };
  out.sharedSizeBytes = static_cast<size_t>(get(CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES));
  out.constSizeBytes = static_cast<size_t>(get(CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES));
  out.localSizeBytes = static_cast<size_t>(get(CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES));
  out.maxThreadsPerBlock = get(CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
  out.numRegs = get(CU_FUNC_ATTRIBUTE_NUM_REGS);
  out.ptxVersion = get(CU_FUNC_ATTRIBUTE_PTX_VERSION);
  out.binaryVersion = get(CU_FUNC_ATTRIBUTE_BINARY_VERSION);
  out.cacheModeCA = get(CU_FUNC_ATTRIBUTE_CACHE_MODE_CA);
  out.maxDynamicSharedSizeBytes = get(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
  out.preferredShmemCarveout = get(CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
  out.clusterDimMustBeSet = get(CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET);
  out.requiredClusterWidth = get(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH);
  out.requiredClusterHeight = get(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT);
  out.requiredClusterDepth = get(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH);
  out.clusterSchedulingPolicyPreference = get(CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE);
  out.nonPortableClusterSizeAllowed = get(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
  return result;
}

}  // namespace

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* func) {
  if (attributes == nullptr) return record(cudaErrorInvalidValue);
  return with_callable(func, [&](const Callable& c, int device) { return fill(*attributes, c, device); });
}

cudaError_t cudaFuncSetAttribute(const void* func, cudaFuncAttribute attribute, int value) {
  return with_callable(func, [&](const Callable& c, int device) {
    return set_attribute(c, device, convert<CUfunction_attribute>(attribute), value);
  });
}

cudaError_t cudaFuncSetCacheConfig(const void* func, cudaFuncCache config) {
  return with_callable(func, [&](const Callable& c, int device) {
    auto const wanted = convert<CUfunc_cache>(config);
    return c.function != nullptr ? call(&Driver::cuFuncSetCacheConfig, c.function, wanted)
                                 : call(&Driver::cuKernelSetCacheConfig, c.kernel, wanted, device);
  });
}

cudaError_t cudaFuncSetSharedMemConfig(const void* func, cudaSharedMemConfig config) {
  return with_callable(func, [&](const Callable& c, int) {
    return call(&Driver::cuFuncSetSharedMemConfig, c.launchable(), convert<CUsharedconfig>(config));
  });
}

cudaError_t cudaFuncGetName(const char** name, const void* func) {
  return with_callable(func, [&](const Callable& c, int) {
    return c.function != nullptr ? call(&Driver::cuFuncGetName, name, c.function)
                                 : call(&Driver::cuKernelGetName, name, c.kernel);
  });
}

cudaError_t cudaFuncGetParamInfo(const void* func, size_t index, size_t* offset, size_t* bytes) {
  return with_callable(func, [&](const Callable& c, int) {
    return c.function != nullptr ? call(&Driver::cuFuncGetParamInfo, c.function, index, offset, bytes)
                                 : call(&Driver::cuKernelGetParamInfo, c.kernel, index, offset, bytes);
  });
}

cudaError_t cudaGetKernel(cudaKernel_t* kernel, const void* entry) {
  if (kernel == nullptr) return record(cudaErrorInvalidValue);
  return with_callable(entry, [&](const Callable& c, int) {
    *kernel = c.kernel;
    return c.kernel != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
  });
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t* function, const void* symbol) {
  if (function == nullptr) return record(cudaErrorInvalidValue);
  return with_callable(symbol, [&](const Callable& c, int) {
    *function = c.function;
    CUresult const result =
        c.function != nullptr ? CUDA_SUCCESS : call(&Driver::cuKernelGetFunction, function, c.kernel);
    if (result == CUDA_SUCCESS) remember(*function);
    return result;
  });
}

cudaError_t cudaKernelSetAttributeForDevice(cudaKernel_t kernel, cudaFuncAttribute attribute, int value, int device) {
  if (cudaError_t const error = check_device(device); error != cudaSuccess) return record(error);
  return forward(&Driver::cuKernelSetAttribute, attribute, value, kernel, device);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* func, int block_size,
                                                          size_t dynamic_shared_bytes) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, func, block_size, dynamic_shared_bytes,
                                                                cudaOccupancyDefault);
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* func, int block_size,
                                                                   size_t dynamic_shared_bytes, unsigned int flags) {
  return with_callable(func, [&](const Callable& c, int) {
    return call(&Driver::cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, blocks, c.launchable(), block_size,
                dynamic_shared_bytes, flags);
  });
}

cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* bytes, const void* func, int blocks, int block_size) {
  return with_callable(func, [&](const Callable& c, int) {
    return call(&Driver::cuOccupancyAvailableDynamicSMemPerBlock, bytes, c.launchable(), blocks, block_size);
  });
}

cudaError_t cudaLibraryLoadData(cudaLibrary_t* library, const void* code, cudaJitOption* options, void** option_values,
                                unsigned int option_count, cudaLibraryOption* library_options,
                                void** library_option_values, unsigned int library_option_count) {
  return forward_without_context(&Driver::cuLibraryLoadData, library, code, options, option_values, option_count,
                                 library_options, library_option_values, library_option_count);
}
cudaError_t cudaLibraryLoadFromFile(cudaLibrary_t* library, const char* path, cudaJitOption* options,
                                    void** option_values, unsigned int option_count, cudaLibraryOption* library_options,
                                    void** library_option_values, unsigned int library_option_count) {
  return forward_without_context(&Driver::cuLibraryLoadFromFile, library, path, options, option_values, option_count,
                                 library_options, library_option_values, library_option_count);
}
cudaError_t cudaLibraryUnload(cudaLibrary_t library) {
  return forward_without_context(&Driver::cuLibraryUnload, library);
}

cudaError_t cudaLibraryGetKernel(cudaKernel_t* kernel, cudaLibrary_t library, const char* name) {
  cudaError_t const error = forward_without_context(&Driver::cuLibraryGetKernel, kernel, library, name);
  if (error == cudaSuccess) remember(*kernel);
  return error;
}
cudaError_t cudaLibraryGetKernelCount(unsigned int* count, cudaLibrary_t library) {
  return forward_without_context(&Driver::cuLibraryGetKernelCount, count, library);
}
cudaError_t cudaLibraryEnumerateKernels(cudaKernel_t* kernels, unsigned int count, cudaLibrary_t library) {
  unsigned there = 0;
  cudaError_t error = cudaLibraryGetKernelCount(&there, library);
  if (error == cudaSuccess)
    error = forward_without_context(&Driver::cuLibraryEnumerateKernels, kernels, count, library);
  for (unsigned i = 0; error == cudaSuccess && i < count && i < there; ++i) remember(kernels[i]);
  return error;
}
cudaError_t cudaLibraryGetGlobal(void** pointer, size_t* bytes, cudaLibrary_t library, const char* name) {
  return forward(&Driver::cuLibraryGetGlobal, pointer, bytes, library, name);
}
cudaError_t cudaLibraryGetManaged(void** pointer, size_t* bytes, cudaLibrary_t library, const char* name) {
  return forward(&Driver::cuLibraryGetManaged, pointer, bytes, library, name);
}
cudaError_t cudaLibraryGetUnifiedFunction(void** function, cudaLibrary_t library, const char* symbol) {
  return forward(&Driver::cuLibraryGetUnifiedFunction, function, library, symbol);
}
