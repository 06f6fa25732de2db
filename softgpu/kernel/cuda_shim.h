// SPDX-License-Identifier: Apache-2.0
// CUDA's device language for the host compiler: lets g++ and clang compile the body of a kernel. Types come from the
// toolkit's public headers, everything that nvcc has built in from the files below.
//
// What is not here does not compile, rather than doing something else: inline PTX, textures and surfaces, device-side
// launch, cuda::barrier and pipelines, clusters, tensor cores (wmma), the SIMD-in-a-word intrinsics (__vadd4 and so
// on).
#pragma once
#include <cassert>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "softgpu/kernel/shim/keywords.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "softgpu/kernel/shim/atomic.h"
#include "softgpu/kernel/shim/convert.h"
#include "softgpu/kernel/shim/float_math.h"
#include "softgpu/kernel/shim/half_math.h"
#include "softgpu/kernel/shim/index.h"
#include "softgpu/kernel/shim/integer.h"
#include "softgpu/kernel/shim/memory.h"
#include "softgpu/kernel/shim/special_math.h"
#include "softgpu/kernel/shim/sync.h"
