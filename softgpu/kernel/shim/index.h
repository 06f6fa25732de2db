// SPDX-License-Identifier: Apache-2.0
// threadIdx and its kin: values, read from where the engine keeps them. Macros, since the names stand for the running
// thread wherever they are written.
#pragma once
#include <vector_types.h>

#include "softgpu/kernel/engine/state.h"

namespace tidemark::softgpu {

inline uint3 to_uint3(const Index3& at) {
  return uint3{static_cast<unsigned>(at.x), static_cast<unsigned>(at.y), static_cast<unsigned>(at.z)};
}
inline dim3 to_dim3(const Index3& at) {
  return dim3{static_cast<unsigned>(at.x), static_cast<unsigned>(at.y), static_cast<unsigned>(at.z)};
}

}  // namespace tidemark::softgpu

#define threadIdx (::tidemark::softgpu::to_uint3(::tidemark::softgpu::thread_state()->thread))
#define blockIdx (::tidemark::softgpu::to_uint3(::tidemark::softgpu::thread_state()->block))
#define blockDim (::tidemark::softgpu::to_dim3(::tidemark::softgpu::thread_state()->block_dim))
#define gridDim (::tidemark::softgpu::to_dim3(::tidemark::softgpu::thread_state()->grid_dim))

inline constexpr int warpSize = 32;
