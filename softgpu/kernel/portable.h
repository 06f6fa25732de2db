// SPDX-License-Identifier: Apache-2.0
// The one header a kernel body includes. A body compiles twice: by nvcc for a GPU and by the host compiler for softgpu
// (there this brings in the shim). It holds no <<<>>>: launches stay in the .cu file.
#pragma once

#if defined(__CUDACC__)

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cassert>
#include <cstdio>

#define TIDEMARK_DYNAMIC_SHARED(T, name)                                         \
  extern __shared__ __align__(16) unsigned char tidemark_dynamic_shared_bytes[]; \
  T* const name = reinterpret_cast<T*>(tidemark_dynamic_shared_bytes)

#else

#include "softgpu/kernel/cuda_shim.h"

#define TIDEMARK_DYNAMIC_SHARED(T, name) T* const name = static_cast<T*>(::tidemark::softgpu::dynamic_shared())

#endif

// TIDEMARK_DYNAMIC_SHARED(float, tile); — tile points to the launch's dynamic shared memory, aligned to 16 bytes.

// For arithmetic that host code, a reference for instance, calls too.
#define TIDEMARK_HD __host__ __device__ __forceinline__
