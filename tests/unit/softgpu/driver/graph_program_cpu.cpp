// SPDX-License-Identifier: Apache-2.0
#include "softgpu/kernel/cuda_shim.h"
#include "softgpu/kernel/register.h"
// The shim first.
#include "tests/unit/softgpu/driver/graph_program_body.h"

SOFTGPU_KERNEL(graph_program::axpy);
SOFTGPU_KERNEL(graph_program::fill<float>);
SOFTGPU_KERNEL(graph_program::block_sum);
