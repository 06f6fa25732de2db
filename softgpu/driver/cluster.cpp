// SPDX-License-Identifier: Apache-2.0
// Thread block clusters: devices from compute capability 9.0 on have them. Here a cluster is a shape, and what fits.
#include <algorithm>

#include "softgpu/driver/function.h"
#include "softgpu/driver/launch.h"
#include "softgpu/driver/module.h"
#include "softgpu/interface/softgpu.h"

using namespace tidemark;
using namespace tidemark::softgpu;

namespace {

constexpr unsigned kPortableSize = 8, kLargestSize = 16;

bool has_clusters(const Driver& driver) {
  return driver.config.profile->compute_major >= 9;
}

CUresult refuse() {
  return static_cast<CUresult>(softgpu_not_supported("a thread block cluster on a device without them"));
}

unsigned largest_size(const CUkern_st& kernel) {
  auto const set = kernel.attributes.find(CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);
  return set != kernel.attributes.end() && set->second != 0 ? kLargestSize : kPortableSize;
}

// f(kernel, most blocks at a time on one multiprocessor)
template <class F>
CUresult with_cluster_config(int* out, CUfunction function, const CUlaunchConfig* config, F f) {
  return with_driver([&](Call& call) -> CUresult {
    CUkernel const kernel = kernel_of(call, function);
    if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (out == nullptr || config == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (!has_clusters(call.driver)) return refuse();
    std::uint64_t const threads = std::uint64_t{config->blockDimX} * config->blockDimY * config->blockDimZ;
    if (threads == 0 || threads > 1024) return CUDA_ERROR_INVALID_VALUE;
    Profile const& profile = *call.driver.config.profile;
    return f(*kernel, profile, blocks_per_sm(*kernel, profile, static_cast<int>(threads), config->sharedMemBytes));
  });
}

}  // namespace

CUresult tidemark::softgpu::check_cluster(const CUkern_st& kernel, const SoftgpuLaunch& shape, const SoftgpuDim& c) {
  Driver const& driver = Driver::get();
  std::uint64_t const blocks = std::uint64_t{c.x} * c.y * c.z;
  if (blocks == 1) return CUDA_SUCCESS;
  if (!has_clusters(driver)) return refuse();
  bool const fits = c.x != 0 && c.y != 0 && c.z != 0 && blocks <= largest_size(kernel);
  if (!fits || shape.grid.x % c.x != 0 || shape.grid.y % c.y != 0 || shape.grid.z % c.z != 0)
    return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  // On the CPU the blocks of a cluster would have to see each other's shared memory.
  if (driver.dry_run) return CUDA_SUCCESS;
  return static_cast<CUresult>(softgpu_not_supported("cuLaunchKernelEx with thread block clusters in execute mode"));
}

CUresult CUDAAPI cuOccupancyMaxPotentialClusterSize(int* size, CUfunction function, const CUlaunchConfig* config) {
  return with_cluster_config(size, function, config, [&](const CUkern_st& kernel, const Profile&, int per_sm) {
    *size = per_sm == 0 ? 0 : static_cast<int>(largest_size(kernel));
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuOccupancyMaxActiveClusters(int* clusters, CUfunction function, const CUlaunchConfig* config) {
  return with_cluster_config(clusters, function, config,
                             [&](const CUkern_st& kernel, const Profile& profile, int per_sm) -> CUresult {
                               unsigned size = 1;
                               for (unsigned i = 0; i < config->numAttrs; ++i)
                                 if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
                                   auto const& c = config->attrs[i].value.clusterDim;
                                   size = c.x * c.y * c.z;
                                 }
                               if (size == 0 || size > largest_size(kernel)) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
                               *clusters = per_sm * profile.sm_count / static_cast<int>(size);
                               return CUDA_SUCCESS;
                             });
}
