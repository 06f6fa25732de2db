// SPDX-License-Identifier: Apache-2.0
// From the runtime's types to the driver's. The two APIs give most things the same representation under two names:
// enumerations with equal values, handles to the same objects, structs of equal layout. convert<P>() allows exactly the
// pairs below, so that a wrong argument does not compile.
#pragma once
#include <cstddef>
#include <type_traits>

#include "softgpu/runtime/api.h"

namespace tidemark::softgpu::runtime {

// Whether a pointer to B may be passed as a pointer to A: listed pairs only.
template <class A, class B>
inline constexpr bool kSameLayout = false;

#define SOFTGPU_SAME_LAYOUT(driver_type, runtime_type)                 \
  template <>                                                          \
  inline constexpr bool kSameLayout<driver_type, runtime_type> = true; \
  static_assert(sizeof(driver_type) == sizeof(runtime_type) && alignof(driver_type) == alignof(runtime_type))

SOFTGPU_SAME_LAYOUT(CUmemPoolProps, cudaMemPoolProps);
SOFTGPU_SAME_LAYOUT(CUmemLocation, cudaMemLocation);
SOFTGPU_SAME_LAYOUT(CUmemAccessDesc, cudaMemAccessDesc);
SOFTGPU_SAME_LAYOUT(CUmemPoolPtrExportData, cudaMemPoolPtrExportData);
SOFTGPU_SAME_LAYOUT(CUmemcpyAttributes, cudaMemcpyAttributes);
SOFTGPU_SAME_LAYOUT(CUDA_MEMCPY3D_BATCH_OP, cudaMemcpy3DBatchOp);
SOFTGPU_SAME_LAYOUT(CUDA_ARRAY_SPARSE_PROPERTIES, cudaArraySparseProperties);
SOFTGPU_SAME_LAYOUT(CUDA_ARRAY_MEMORY_REQUIREMENTS, cudaArrayMemoryRequirements);
SOFTGPU_SAME_LAYOUT(CUipcMemHandle, cudaIpcMemHandle_t);
SOFTGPU_SAME_LAYOUT(CUipcEventHandle, cudaIpcEventHandle_t);
SOFTGPU_SAME_LAYOUT(CUlaunchAttribute, cudaLaunchAttribute);
SOFTGPU_SAME_LAYOUT(CUlaunchAttributeValue, cudaLaunchAttributeValue);
SOFTGPU_SAME_LAYOUT(CUgraphEdgeData, cudaGraphEdgeData);
SOFTGPU_SAME_LAYOUT(CUDA_HOST_NODE_PARAMS, cudaHostNodeParams);
SOFTGPU_SAME_LAYOUT(CUDA_MEMSET_NODE_PARAMS, cudaMemsetParams);
SOFTGPU_SAME_LAYOUT(CUDA_MEM_ALLOC_NODE_PARAMS, cudaMemAllocNodeParams);
SOFTGPU_SAME_LAYOUT(CUDA_EXT_SEM_SIGNAL_NODE_PARAMS, cudaExternalSemaphoreSignalNodeParams);
SOFTGPU_SAME_LAYOUT(CUDA_EXT_SEM_WAIT_NODE_PARAMS, cudaExternalSemaphoreWaitNodeParams);
SOFTGPU_SAME_LAYOUT(CUDA_GRAPH_INSTANTIATE_PARAMS, cudaGraphInstantiateParams);
SOFTGPU_SAME_LAYOUT(CUgraphExecUpdateResultInfo, cudaGraphExecUpdateResultInfo);
SOFTGPU_SAME_LAYOUT(CUDA_EXTERNAL_MEMORY_HANDLE_DESC, cudaExternalMemoryHandleDesc);
SOFTGPU_SAME_LAYOUT(CUDA_EXTERNAL_MEMORY_BUFFER_DESC, cudaExternalMemoryBufferDesc);
SOFTGPU_SAME_LAYOUT(CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC, cudaExternalSemaphoreHandleDesc);
SOFTGPU_SAME_LAYOUT(CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS, cudaExternalSemaphoreSignalParams);
SOFTGPU_SAME_LAYOUT(CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS, cudaExternalSemaphoreWaitParams);

// Opaque objects with two names, and words that hold a device address.
// Either may be passed by itself or, where it is given back, by a pointer to it.
#define SOFTGPU_SAME_OBJECT(driver_type, runtime_type)                                                               \
  template <>                                                                                                        \
  inline constexpr bool kSameLayout<std::remove_pointer_t<driver_type>, std::remove_pointer_t<runtime_type>> = true; \
  template <>                                                                                                        \
  inline constexpr bool kSameLayout<driver_type, runtime_type> = true

SOFTGPU_SAME_OBJECT(CUarray, cudaArray_t);
SOFTGPU_SAME_OBJECT(CUmipmappedArray, cudaMipmappedArray_t);
SOFTGPU_SAME_OBJECT(CUexternalMemory, cudaExternalMemory_t);
SOFTGPU_SAME_OBJECT(CUexternalSemaphore, cudaExternalSemaphore_t);
template <>
inline constexpr bool kSameLayout<CUdeviceptr, void*> = true;
template <>
inline constexpr bool kSameLayout<CUdeviceptr, const void*> = true;
template <>
inline constexpr bool kSameLayout<const CUgraphEdgeData*, const cudaGraphEdgeData*> = true;
template <>
inline constexpr bool kSameLayout<cuuint64_t, unsigned long long> = true;
static_assert(sizeof(cuuint64_t) == sizeof(unsigned long long));
static_assert(sizeof(CUdeviceptr) == sizeof(void*));

template <class P, class A>
P convert(A argument) {
  if constexpr (std::is_convertible_v<A, P>) {
    return argument;
  } else if constexpr (std::is_enum_v<P> && std::is_enum_v<A>) {
    return static_cast<P>(argument);
  } else if constexpr (std::is_same_v<P, CUdeviceptr> && std::is_pointer_v<A>) {
    return reinterpret_cast<CUdeviceptr>(argument);
  } else {
    static_assert(std::is_pointer_v<P> && std::is_pointer_v<A>, "no conversion between these types");
    using To = std::remove_cv_t<std::remove_pointer_t<P>>;
    using From = std::remove_cv_t<std::remove_pointer_t<A>>;
    constexpr bool kEnums = std::is_enum_v<To> && std::is_enum_v<From>;
    static_assert(kEnums || std::is_same_v<To, From> || kSameLayout<To, From>,
                  "add the pair to SOFTGPU_SAME_LAYOUT if their layouts are equal");
    // The driver's prototypes are not const where the runtime's are; it does not write through them.
    return const_cast<P>(reinterpret_cast<std::add_pointer_t<std::add_const_t<std::remove_pointer_t<P>>>>(argument));
  }
}

// Values that pass through convert() as numbers: if a toolkit ever renumbers one side, this file stops compiling.
template <class A, class B>
constexpr bool same_value(A a, B b) {
  return static_cast<long long>(a) == static_cast<long long>(b);
}
static_assert(same_value(CU_STREAM_CAPTURE_STATUS_INVALIDATED, cudaStreamCaptureStatusInvalidated));
static_assert(same_value(CU_STREAM_CAPTURE_MODE_RELAXED, cudaStreamCaptureModeRelaxed));
static_assert(same_value(CU_MEMPOOL_ATTR_USED_MEM_HIGH, cudaMemPoolAttrUsedMemHigh));
static_assert(same_value(CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT, cudaMemLocationTypeHostNumaCurrent));
static_assert(same_value(CU_MEM_ACCESS_FLAGS_PROT_READWRITE, cudaMemAccessFlagsProtReadWrite));
static_assert(same_value(CU_MEM_ADVISE_UNSET_ACCESSED_BY, cudaMemAdviseUnsetAccessedBy));
static_assert(same_value(CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_ID,
                         cudaMemRangeAttributeLastPrefetchLocationId));
static_assert(same_value(CU_LIMIT_PERSISTING_L2_CACHE_SIZE, cudaLimitPersistingL2CacheSize));
static_assert(same_value(CU_FUNC_CACHE_PREFER_EQUAL, cudaFuncCachePreferEqual));
static_assert(same_value(CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE, cudaSharedMemBankSizeEightByte));
static_assert(same_value(CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, cudaFuncAttributeMaxDynamicSharedMemorySize));
static_assert(same_value(CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE,
                         cudaFuncAttributeClusterSchedulingPolicyPreference));
static_assert(same_value(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, cudaDevAttrMultiProcessorCount));
static_assert(same_value(CU_DEVICE_ATTRIBUTE_HOST_MEMORY_POOLS_SUPPORTED, cudaDevAttrHostMemoryPoolsSupported));
static_assert(same_value(CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED, cudaDevP2PAttrCudaArrayAccessSupported));
static_assert(same_value(CU_GRAPH_NODE_TYPE_CONDITIONAL, cudaGraphNodeTypeConditional));
static_assert(same_value(CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH, cudaGraphMemAttrReservedMemHigh));
static_assert(same_value(CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
                         cudaLaunchAttributePreferredSharedMemoryCarveout));
static_assert(same_value(CU_JIT_CACHE_MODE, cudaJitCacheMode));
static_assert(same_value(CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED, cudaGraphExecUpdateErrorAttributesChanged));
static_assert(same_value(CUDA_GRAPH_INSTANTIATE_CONDITIONAL_HANDLE_UNUSED,
                         cudaGraphInstantiateConditionalHandleUnused));

}  // namespace tidemark::softgpu::runtime
