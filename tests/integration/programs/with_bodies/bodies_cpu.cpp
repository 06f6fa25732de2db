// SPDX-License-Identifier: Apache-2.0
#include "softgpu/kernel/register.h"
#include "tests/integration/programs/with_bodies/bodies.h"

SOFTGPU_FLAT_KERNEL(evaluate<float>);
SOFTGPU_FLAT_KERNEL(evaluate<__half>);
SOFTGPU_KERNEL(total);
SOFTGPU_SYMBOL(polynomial);
SOFTGPU_SYMBOL(rounds);
