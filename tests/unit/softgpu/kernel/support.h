// SPDX-License-Identifier: Apache-2.0
// Opens the test kernels' library as the device does, and launches from it.
#pragma once
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "softgpu/kernel/registry.h"

namespace tidemark::softgpu::testing {

const SoftgpuKernelLibrary& library();
// By its readable name without return type and parameters: "vector_add", "affine<float, 1>".
const SoftgpuKernel& kernel(std::string_view name);
const SoftgpuSymbol& symbol(std::string_view name);
std::string readable(const char* mangled);

struct Shape {
  SoftgpuDim grid{1, 1, 1}, block{1, 1, 1};
  unsigned dynamic_shared_bytes = 0;
  unsigned os_threads = 1;  // the blocks are divided among them
  bool cooperative = false;
};
SoftgpuKernelStatus launch_with(const SoftgpuKernel& kernel, const Shape& shape, std::vector<void*> params);

// The arguments must have the parameters' own types.
template <class... A>
SoftgpuKernelStatus launch(std::string_view name, const Shape& shape, A... args) {
  return launch_with(kernel(name), shape, {static_cast<void*>(&args)...});
}

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

}  // namespace tidemark::softgpu::testing
