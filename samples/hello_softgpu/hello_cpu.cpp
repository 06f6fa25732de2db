// SPDX-License-Identifier: Apache-2.0
// The sample's kernels for the software device: becomes hello_softgpu.softgpu.so beside the program.
#include "softgpu/kernel/cuda_shim.h"

// The shim stands first: it gives the kernels' words (threadIdx, __shared__, ...) their meaning.
#include "samples/hello_softgpu/hello_body.h"
#include "softgpu/kernel/register.h"

SOFTGPU_FLAT_KERNEL(hello::fill);
SOFTGPU_FLAT_KERNEL(hello::add);
SOFTGPU_KERNEL(hello::block_sum);
