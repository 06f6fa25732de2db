// SPDX-License-Identifier: Apache-2.0
// Indices, parameters, shared memory, templates, linkage: bodies that nvcc and the host compiler both read.
#pragma once
#include "softgpu/kernel/portable.h"
#include "tests/unit/softgpu/kernel/bodies/types.h"

// Each thread writes where it stands, at its place in the launch.
__global__ void record_index(IndexRecord* out) {
  unsigned const in_block = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  unsigned const block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  out[block * (blockDim.x * blockDim.y * blockDim.z) + in_block] = {{threadIdx.x, threadIdx.y, threadIdx.z},
                                                                    {blockIdx.x, blockIdx.y, blockIdx.z},
                                                                    {blockDim.x, blockDim.y, blockDim.z},
                                                                    {gridDim.x, gridDim.y, gridDim.z}};
}

__global__ void vector_add(const float* __restrict__ a, const float* __restrict__ b, float* __restrict__ c, int n) {
  int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) c[i] = a[i] + b[i];
}

template <class T, int Repeat>
__global__ void __launch_bounds__(256) affine(T* x, Affine by, int n) {
  int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  for (int r = 0; i < n && r < Repeat; ++r) x[i] = static_cast<T>(x[i] * by.scale) + static_cast<T>(by.offset);
}

// Static shared memory in a template, with a type and a size of its own in each instance.
template <class T, unsigned N>
__global__ void reverse_block(Outer<Inner<T>, N>* data) {
  __shared__ Outer<Inner<T>, N> tile;
  for (unsigned i = threadIdx.x; i < N; i += blockDim.x) tile.items[i] = data[blockIdx.x].items[i];
  __syncthreads();
  for (unsigned i = threadIdx.x; i < N; i += blockDim.x) data[blockIdx.x].items[i] = tile.items[N - 1 - i];
}

template <class T>
__global__ void reverse_dynamic(T* data) {
  TIDEMARK_DYNAMIC_SHARED(T, tile);
  unsigned const t = threadIdx.x, n = blockDim.x;
  tile[t] = data[blockIdx.x * n + t];
  __syncthreads();
  data[blockIdx.x * n + t] = tile[n - 1 - t];
}

__global__ void sum_large(LargeArgument argument, unsigned* out) {
  unsigned sum = 0;
  for (unsigned word : argument.words) sum += word;
  out[threadIdx.x] = sum;
}
__global__ void no_parameters() {}
extern "C" __global__ void plain_c_name(int* out) {
  *out = 7;
}

static __global__ void static_kernel(int* out) {
  *out = 11;
}
namespace {
struct Hidden {
  int value;
};
__global__ void unnamed_kernel(int* out) {
  *out = 13;
}
template <class T>
__global__ void unnamed_template(T* out, Hidden by) {
  *out = static_cast<T>(by.value);
}
}  // namespace
namespace named {
namespace inner {
__global__ void nested_kernel(const int* const* in, int (*out)[4]) {
  (*out)[0] = **in;
}
static __global__ void nested_static_kernel(int* out) {
  *out = 17;
}
}  // namespace inner
}  // namespace named

__device__ int device_counter = 5;
__constant__ float constant_table[4] = {1, 2, 3, 4};
__constant__ const int constant_numbers[2] = {8, 9};
static __device__ int static_counter;
namespace {
__device__ int unnamed_counter;
}
namespace named {
__device__ double nested_value = 2.5;
}
__global__ void use_symbols(float* out) {
  out[0] = static_cast<float>(atomicAdd(&device_counter, 1));
  for (int i = 0; i < 4; ++i) out[1 + i] = constant_table[i];
  out[5] = static_cast<float>(named::nested_value);
  out[6] = static_cast<float>(constant_numbers[1]);
  static_counter += 1;
  unnamed_counter += 2;
}

// Reads what it has not written: the checking mode makes it show.
__global__ void read_unwritten_shared(float* out) {
  __shared__ float fixed[4];
  TIDEMARK_DYNAMIC_SHARED(float, sized);
  out[0] = fixed[1];
  out[1] = sized[0];
  __syncthreads();
  fixed[threadIdx.x] = sized[threadIdx.x] = 1.0f;
}
