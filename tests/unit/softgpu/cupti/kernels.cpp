// SPDX-License-Identifier: Apache-2.0
// CPU bodies of the tests' kernels.
#include "softgpu/kernel/cuda_shim.h"
// The shim first: it gives the kernels' words their meaning.
#include "softgpu/kernel/register.h"
#include "tests/unit/softgpu/cupti/kernels_body.h"

SOFTGPU_FLAT_KERNEL(test::fill);
SOFTGPU_FLAT_KERNEL(test::nothing);
