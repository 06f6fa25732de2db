// SPDX-License-Identifier: Apache-2.0
#include "softgpu/kernel/cuda_shim.h"

// The shim stands first: it gives the kernels' words their meaning.
#include "softgpu/kernel/register.h"
#include "tests/integration/options/bodies.h"

SOFTGPU_FLAT_KERNEL(used::touch);
