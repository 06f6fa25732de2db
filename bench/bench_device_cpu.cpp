// SPDX-License-Identifier: Apache-2.0
#include "softgpu/kernel/cuda_shim.h"
#include "softgpu/kernel/register.h"

__global__ void empty() {}

SOFTGPU_FLAT_KERNEL(empty);
