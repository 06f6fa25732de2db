// SPDX-License-Identifier: Apache-2.0
// A kernel library as a later version of softgpu might make it.
#include "softgpu/kernel/registry.h"

extern "C" __attribute__((visibility("default"))) const SoftgpuKernelLibrary* softgpu_kernel_library() {
  static constexpr SoftgpuKernelLibrary kLibrary{.abi = SOFTGPU_KERNEL_ABI + 1};
  return &kLibrary;
}
