// SPDX-License-Identifier: Apache-2.0
// A device function and a variable defined in another file than the kernel that uses them.
#pragma once
extern __device__ float offset;
__device__ float shifted(float x);
