// SPDX-License-Identifier: Apache-2.0
// Kernels that go wrong.
#pragma once
#include "softgpu/kernel/portable.h"

#undef NDEBUG
#include <cassert>

__global__ void trap_in(unsigned thread) {
  if (threadIdx.x == thread) __trap();
  __syncthreads();
}
__global__ void assert_below(unsigned limit) {
  assert(threadIdx.x < limit && "too far");
}

// Half of a warp waits at the barrier, the other half for the whole warp.
__global__ void divergent_barrier(int* out) {
  if (threadIdx.x % 32 < 16)
    __syncthreads();
  else
    __syncwarp(0xffffffffu);
  out[threadIdx.x] = 1;
}
// Lane 0 makes another call than the rest.
__global__ void different_calls(int* out) {
  if (threadIdx.x == 0)
    out[0] = static_cast<int>(__ballot_sync(0xffffffffu, 1));
  else
    out[threadIdx.x] = __shfl_sync(0xffffffffu, 1, 0);
}
__global__ void mask_without_caller(int* out) {
  out[threadIdx.x] = __shfl_sync(0x1u, 1, 0);
}
__global__ void barrier_if(int yes) {
  if (yes) __syncthreads();
}
__global__ void shuffle_if(int* out, int yes) {
  if (yes) out[0] = __shfl_sync(0xffffffffu, yes, 0);
}

__device__ __noinline__ int descend(int depth, int* out) {
  volatile int frame[256];
  for (int i = 0; i < 256; ++i) frame[i] = depth + i;
  if (depth > 0) out[0] += descend(depth - 1, out);
  return frame[depth % 256];
}
// Each level is more than a KiB of stack.
__global__ void recurse(int depth, int* out) {
  int const deepest = descend(depth, out);
  __syncthreads();
  if (threadIdx.x == 0) out[1] = deepest;
}
__global__ void store_to(int* address) {
  *address = 1;
}
__global__ void divide_by(int divisor, int* out) {
  *out = static_cast<int>(threadIdx.x + 1) / divisor;
}
__global__ void overrun_shared(unsigned at) {
  TIDEMARK_DYNAMIC_SHARED(unsigned char, bytes);
  bytes[at] = 1;
}
