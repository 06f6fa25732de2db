// SPDX-License-Identifier: Apache-2.0
#include "softgpu/kernel/register.h"
#include "tests/unit/softgpu/kernel/bodies/list.h"

#define REGISTER(...) SOFTGPU_KERNEL(__VA_ARGS__);
#define REGISTER_FLAT(...) SOFTGPU_FLAT_KERNEL(__VA_ARGS__);
#define REGISTER_SYMBOL(...) SOFTGPU_SYMBOL(__VA_ARGS__);
TEST_KERNELS(REGISTER)
TEST_FLAT_KERNELS(REGISTER_FLAT)
TEST_SYMBOLS(REGISTER_SYMBOL)

// Only here: device code has no exceptions.
__global__ void throwing(int yes) {
  if (yes) throw yes;
}
SOFTGPU_KERNEL(throwing);
void serial_kernel(int*) noexcept {}
SOFTGPU_SERIAL_KERNEL(serial_kernel);
