// SPDX-License-Identifier: Apache-2.0
// Kernel launches: the <<<>>> protocol of nvcc's host code and the functions.
#include <runtime_launch.h>  // generated

#include <cstdint>

#include "softgpu/runtime/module.h"

using namespace tidemark::softgpu::runtime;

namespace {

struct Configuration {
  uint3 grid, block;
  std::size_t shared_bytes;
  cudaStream_t stream;
};

// <<<>>> pushes, the host stub pops. They nest when a kernel's argument is computed by a function that launches; deeper
// nesting than this does not occur in practice and is refused. A plain array: it must not have a destructor.
constexpr unsigned kNesting = 64;
struct Pending {
  Configuration stack[kNesting];
  unsigned depth;
};
constinit thread_local Pending pending{};

CUlaunchConfig to_driver(const cudaLaunchConfig_t& config) {
  CUlaunchConfig out{};
  out.gridDimX = config.gridDim.x;
  out.gridDimY = config.gridDim.y;
  out.gridDimZ = config.gridDim.z;
  out.blockDimX = config.blockDim.x;
  out.blockDimY = config.blockDim.y;
  out.blockDimZ = config.blockDim.z;
  out.sharedMemBytes = static_cast<unsigned>(config.dynamicSmemBytes);
  out.hStream = config.stream;
  out.attrs = convert<CUlaunchAttribute*>(config.attrs);
  out.numAttrs = config.numAttrs;
  return out;
}

// A launch that names its dimensions badly is an invalid configuration to the runtime, an invalid value to the driver.
cudaError_t check_configuration(const dim3& grid, const dim3& block, std::size_t shared_bytes) {
  bool const empty = grid.x == 0 || grid.y == 0 || grid.z == 0 || block.x == 0 || block.y == 0 || block.z == 0;
  bool const too_many_threads = std::uint64_t{block.x} * block.y * block.z > 1024;
  bool const too_large = block.z > 64 || grid.x > 0x7fffffffU || grid.y > 65535 || grid.z > 65535;
  return empty || too_many_threads || too_large || shared_bytes > 0xffffffffU ? cudaErrorInvalidConfiguration
                                                                              : cudaSuccess;
}

cudaError_t launch(CUfunction function, dim3 grid, dim3 block, void** arguments, std::size_t shared_bytes,
                   cudaStream_t stream) {
  cudaError_t const fits = check_configuration(grid, block, shared_bytes);
  if (fits != cudaSuccess) return record(fits);
  return forward(&Driver::cuLaunchKernel, function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                 static_cast<unsigned>(shared_bytes), stream, arguments, static_cast<void**>(nullptr));
}

}  // namespace

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared_bytes, CUstream_st* stream) {
  Pending& mine = pending;
  if (mine.depth == kNesting) {
    (void)record(cudaErrorInvalidConfiguration);
    return 1;
  }
  mine.stack[mine.depth++] = {{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, shared_bytes, stream};
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, size_t* shared_bytes, void* stream) {
  Pending& mine = pending;
  if (mine.depth == 0) return record(cudaErrorMissingConfiguration);
  Configuration const& top = mine.stack[--mine.depth];
  *grid = dim3(top.grid);
  *block = dim3(top.block);
  *shared_bytes = top.shared_bytes;
  *static_cast<cudaStream_t*>(stream) = top.stream;
  return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                               cudaStream_t stream) {
  if (kernel == nullptr) {  // __cudaGetKernel failed before; say why if the reason is the driver
    cudaError_t const driver = initialize_driver();
    return record(driver != cudaSuccess ? driver : cudaErrorInvalidDeviceFunction);
  }
  return launch(reinterpret_cast<CUfunction>(kernel), grid, block, arguments, shared_bytes, stream);
}

cudaError_t cudaLaunchKernel(const void* func, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                             cudaStream_t stream) {
  Callable callable;
  if (cudaError_t const error = find_callable(func, callable); error != cudaSuccess) return record(error);
  return launch(callable.launchable(), grid, block, arguments, shared_bytes, stream);
}

cudaError_t cudaLaunchCooperativeKernel(const void* func, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                                        cudaStream_t stream) {
  Callable callable;
  if (cudaError_t const error = find_callable(func, callable); error != cudaSuccess) return record(error);
  cudaError_t const fits = check_configuration(grid, block, shared_bytes);
  if (fits != cudaSuccess) return record(fits);
  return forward(&Driver::cuLaunchCooperativeKernel, callable.launchable(), grid.x, grid.y, grid.z, block.x, block.y,
                 block.z, static_cast<unsigned>(shared_bytes), stream, arguments);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* func, void** arguments) {
  if (config == nullptr) return record(cudaErrorInvalidValue);
  Callable callable;
  if (cudaError_t const error = find_callable(func, callable); error != cudaSuccess) return record(error);
  cudaError_t const fits = check_configuration(config->gridDim, config->blockDim, config->dynamicSmemBytes);
  if (fits != cudaSuccess) return record(fits);
  CUlaunchConfig const driver_config = to_driver(*config);
  return forward(&Driver::cuLaunchKernelEx, &driver_config, callable.launchable(), arguments,
                 static_cast<void**>(nullptr));
}

cudaError_t cudaOccupancyMaxPotentialClusterSize(int* size, const void* func, const cudaLaunchConfig_t* config) {
  if (config == nullptr) return record(cudaErrorInvalidValue);
  Callable callable;
  if (cudaError_t const error = find_callable(func, callable); error != cudaSuccess) return record(error);
  CUlaunchConfig const driver_config = to_driver(*config);
  return forward(&Driver::cuOccupancyMaxPotentialClusterSize, size, callable.launchable(), &driver_config);
}

cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, const void* func, const cudaLaunchConfig_t* config) {
  if (config == nullptr) return record(cudaErrorInvalidValue);
  Callable callable;
  if (cudaError_t const error = find_callable(func, callable); error != cudaSuccess) return record(error);
  CUlaunchConfig const driver_config = to_driver(*config);
  return forward(&Driver::cuOccupancyMaxActiveClusters, clusters, callable.launchable(), &driver_config);
}
