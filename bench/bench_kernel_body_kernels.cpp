// SPDX-License-Identifier: Apache-2.0
// The kernels of bench_kernel_body; extern "C", so that it finds them by plain names.
#include "softgpu/kernel/portable.h"
#include "softgpu/kernel/register.h"

extern "C" __global__ void flat_add(const float* a, const float* b, float* c, int n) {
  int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) c[i] = a[i] + b[i];
}
extern "C" __global__ void empty_thread(int) {}
extern "C" __global__ void barriers(int count) {
  for (int i = 0; i < count; ++i) __syncthreads();
}
extern "C" __global__ void shuffles(float* out, int count) {
  float value = static_cast<float>(threadIdx.x);
  for (int i = 0; i < count; ++i) value += __shfl_xor_sync(0xffffffffu, value, 1 << i % 5);
  if (value < 0) *out = value;
}
extern "C" __global__ void reduce_in_shared(const float* in, float* out) {
  __shared__ float part[1024];
  unsigned const t = threadIdx.x;
  part[t] = in[t];
  __syncthreads();
  for (unsigned step = blockDim.x / 2; step > 0; step /= 2) {
    if (t < step) part[t] += part[t + step];
    __syncthreads();
  }
  if (t == 0) *out = part[0];
}

SOFTGPU_FLAT_KERNEL(flat_add);
SOFTGPU_KERNEL(empty_thread);
SOFTGPU_KERNEL(barriers);
SOFTGPU_KERNEL(shuffles);
SOFTGPU_KERNEL(reduce_in_shared);
