// SPDX-License-Identifier: Apache-2.0
// For the _cpu.cpp files alone: registers a kernel template for each element type. None has a barrier: divide.h.
#pragma once
#include "kernels/divide.h"
#include "softgpu/kernel/register.h"

#define TIDEMARK_REGISTER(...)                                       \
  SOFTGPU_LAUNCH_BOUNDS(::tidemark::kernels::kThreads, __VA_ARGS__); \
  SOFTGPU_FLAT_KERNEL(__VA_ARGS__)
#define TIDEMARK_REGISTER_TYPES(kernel) \
  TIDEMARK_REGISTER(kernel<float>);     \
  TIDEMARK_REGISTER(kernel<__half>);    \
  TIDEMARK_REGISTER(kernel<__nv_bfloat16>)
