// SPDX-License-Identifier: Apache-2.0
#include "tests/integration/programs/several_files/separable.h"

__device__ float offset = 1;
__device__ float shifted(float x) {
  return x + offset;
}
