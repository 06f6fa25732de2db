// SPDX-License-Identifier: Apache-2.0
// Device queries: what the profile says, in the API's words.
#include <array>
#include <cstdio>
#include <cstring>

#include "softgpu/driver/driver.h"

using namespace tidemark;
using namespace tidemark::softgpu;

namespace {

int as_int(Bytes b) {
  return static_cast<int>(b.n);
}

// Facts of the card. Nothing: not a property of the profile.
std::optional<int> profile_attribute(const Driver& driver, CUdevice_attribute attribute) {
  Profile const& p = *driver.config.profile;
  bool const old = p.capacity_only();
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: return p.sm_count;
    case CU_DEVICE_ATTRIBUTE_CLOCK_RATE: return p.clock_mhz * 1000;
    case CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE: return p.memory_clock_mhz * 1000;
    case CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH: return p.bus_width_bits;
    case CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE: return as_int(p.l2_cache);
    // A card older than CUDA 13 knows gives its capacity only; the rest is the oldest architecture that CUDA 13 runs
    // on.
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: return old ? 7 : p.compute_major;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: return old ? 5 : p.compute_minor;
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR: return as_int(p.shared_per_sm);
    case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: return as_int(p.shared_per_block_optin);
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: return p.threads_per_sm;
    case CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR: return p.blocks_per_sm;
    case CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE: return p.compute_major >= 8 ? as_int(p.l2_cache) / 4 * 3 : 0;
    case CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE: return p.compute_major >= 8 ? 134213632 : 0;
    case CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH: return p.compute_major >= 9 ? 1 : 0;
    default: return std::nullopt;
  }
}

struct Fixed {
  CUdevice_attribute attribute;
  int value;
};

// The same on every card that CUDA 13 supports, and what the software device can and cannot do.
constexpr std::array kFixed = {
    Fixed{CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
    Fixed{CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
    Fixed{CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
    Fixed{CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
    Fixed{CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647},
    Fixed{CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
    Fixed{CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
    Fixed{CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
    Fixed{CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, 65536},
    Fixed{CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
    Fixed{CU_DEVICE_ATTRIBUTE_MAX_PITCH, 2147483647},
    Fixed{CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
    Fixed{CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR, 65536},
    Fixed{CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, 512},
    Fixed{CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT, 512},
    Fixed{CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT, 32},
    Fixed{CU_DEVICE_ATTRIBUTE_GPU_OVERLAP, 1},
    Fixed{CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY, 1},
    Fixed{CU_DEVICE_ATTRIBUTE_COMPUTE_MODE, CU_COMPUTEMODE_DEFAULT},
    Fixed{CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS, 1},
    Fixed{CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT, 2},
    Fixed{CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING, 1},
    Fixed{CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED, 1},
    Fixed{CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED, 1},
    Fixed{CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED, 1},
    Fixed{CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY, 1},
    Fixed{CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS, 1},
    Fixed{CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS, 0},
    Fixed{CU_DEVICE_ATTRIBUTE_DIRECT_MANAGED_MEM_ACCESS_FROM_HOST, 0},
    Fixed{CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED, 0},
    Fixed{CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO, 2},
    Fixed{CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED, 1},
    Fixed{CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, 1},
    Fixed{CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_MEM_OPS_V1, 1},
    Fixed{CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS_V1, 1},
    Fixed{CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR_V1, 1},
    Fixed{CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1},
    Fixed{CU_DEVICE_ATTRIBUTE_CAN_FLUSH_REMOTE_WRITES, 0},
    Fixed{CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 1},
    Fixed{CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1},
    Fixed{CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 0},
    Fixed{CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK, 1024},
    Fixed{CU_DEVICE_ATTRIBUTE_READ_ONLY_HOST_REGISTER_SUPPORTED, 1},
    Fixed{CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED, 1},
    Fixed{CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS, 1},
    Fixed{CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_WAIT_VALUE_NOR, 1},
    Fixed{CU_DEVICE_ATTRIBUTE_UNIFIED_FUNCTION_POINTERS, 0},
    Fixed{CU_DEVICE_ATTRIBUTE_NUMA_ID, -1},
    Fixed{CU_DEVICE_ATTRIBUTE_HOST_NUMA_ID, -1},
};

int attribute_of(const Driver& driver, CUdevice_attribute attribute, CUdevice device) {
  if (attribute == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID) return device + 1;
  if (attribute == CU_DEVICE_ATTRIBUTE_MULTI_GPU_BOARD_GROUP_ID) return device;
  if (auto const value = profile_attribute(driver, attribute)) return *value;
  for (Fixed const& f : kFixed)
    if (f.attribute == attribute) return f.value;
  return 0;  // limits of textures and surfaces, which are refused, and features that a software device has not
}

}  // namespace

CUresult CUDAAPI cuDeviceGetCount(int* count) {
  return with_driver([&](Call& call) -> CUresult {
    if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *count = static_cast<int>(call.driver.devices.size());
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuDeviceGet(CUdevice* device, int ordinal) {
  return with_device(ordinal, [&](Call&, Device&) -> CUresult {
    if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *device = ordinal;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuDeviceGetName(char* name, int length, CUdevice device) {
  return with_device(device, [&](Call& call, Device&) -> CUresult {
    if (name == nullptr || length <= 0) return CUDA_ERROR_INVALID_VALUE;
    std::snprintf(name, static_cast<std::size_t>(length), "%s", call.driver.config.device_name().c_str());
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  return with_device(device, [&](Call&, Device&) -> CUresult {
    if (uuid == nullptr) return CUDA_ERROR_INVALID_VALUE;
    device_uuid(device, reinterpret_cast<unsigned char*>(uuid->bytes));
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  return cuDeviceGetUuid_v2(uuid, device);
}

CUresult CUDAAPI cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  return with_device(device, [&](Call& call, Device&) -> CUresult {
    if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *bytes = call.driver.config.memory.n;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  return with_device(device, [&](Call& call, Device&) -> CUresult {
    if (value == nullptr || attribute <= 0 || attribute >= CU_DEVICE_ATTRIBUTE_MAX) return CUDA_ERROR_INVALID_VALUE;
    *value = attribute_of(call.driver, attribute, device);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuDeviceComputeCapability(int* major, int* minor, CUdevice device) {
  if (major == nullptr || minor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUresult const result = cuDeviceGetAttribute(major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  return result != CUDA_SUCCESS ? result
                                : cuDeviceGetAttribute(minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
}

CUresult CUDAAPI cuDeviceGetProperties(CUdevprop* properties, CUdevice device) {
  return with_device(device, [&](Call& call, Device&) -> CUresult {
    if (properties == nullptr) return CUDA_ERROR_INVALID_VALUE;
    auto const get = [&](CUdevice_attribute a) { return attribute_of(call.driver, a, device); };
    *properties = {.maxThreadsPerBlock = 1024,
                   .maxThreadsDim = {1024, 1024, 64},
                   .maxGridSize = {2147483647, 65535, 65535},
                   .sharedMemPerBlock = get(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK),
                   .totalConstantMemory = get(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY),
                   .SIMDWidth = 32,
                   .memPitch = get(CU_DEVICE_ATTRIBUTE_MAX_PITCH),
                   .regsPerBlock = get(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK),
                   .clockRate = get(CU_DEVICE_ATTRIBUTE_CLOCK_RATE),
                   .textureAlign = get(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT)};
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuDeviceGetPCIBusId(char* text, int length, CUdevice device) {
  return with_device(device, [&](Call&, Device&) -> CUresult {
    if (text == nullptr || length <= 0) return CUDA_ERROR_INVALID_VALUE;
    std::array<char, 32> full{};
    std::snprintf(full.data(), full.size(), "0000:%02x:00.0", device + 1);
    if (std::strlen(full.data()) + 1 > static_cast<std::size_t>(length)) return CUDA_ERROR_INVALID_VALUE;
    std::memcpy(text, full.data(), std::strlen(full.data()) + 1);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuDeviceGetByPCIBusId(CUdevice* device, const char* text) {
  return with_driver([&](Call& call) -> CUresult {
    if (device == nullptr || text == nullptr) return CUDA_ERROR_INVALID_VALUE;
    unsigned domain = 0, bus = 0, slot = 0, function = 0;
    // [domain:]bus:device[.function], as lspci writes it.
    if (std::sscanf(text, "%x:%x:%x.%x", &domain, &bus, &slot, &function) < 3) {
      domain = 0;
      if (std::sscanf(text, "%x:%x.%x", &bus, &slot, &function) < 2) return CUDA_ERROR_INVALID_VALUE;
    }
    if (domain != 0 || slot != 0 || function != 0 || bus == 0 || bus > call.driver.devices.size())
      return CUDA_ERROR_INVALID_DEVICE;
    *device = static_cast<CUdevice>(bus) - 1;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
  return with_device(device, [&](Call& call, Device&) -> CUresult {
    if (can == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (call.driver.device(peer) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    *can = device != peer;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuDeviceGetP2PAttribute(int* value, CUdevice_P2PAttribute attribute, CUdevice source,
                                         CUdevice destination) {
  return with_device(source, [&](Call& call, Device&) -> CUresult {
    if (value == nullptr || source == destination) return CUDA_ERROR_INVALID_VALUE;
    if (call.driver.device(destination) == nullptr) return CUDA_ERROR_INVALID_DEVICE;
    switch (attribute) {
      case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK: *value = 0; return CUDA_SUCCESS;
      case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
      case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
      case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED: *value = 1; return CUDA_SUCCESS;
      default: return CUDA_ERROR_INVALID_VALUE;
    }
  });
}

CUresult CUDAAPI cuDeviceGetTexture1DLinearMaxWidth(size_t* width, CUarray_format, unsigned, CUdevice) {
  if (width != nullptr) *width = 0;
  return static_cast<CUresult>(softgpu_not_supported("cuDeviceGetTexture1DLinearMaxWidth"));
}
