// SPDX-License-Identifier: Apache-2.0
// The kernels that the conformance tests launch: each is small and has one thing that is checked.
#pragma once
#include <cstdint>

#include "softgpu/kernel/portable.h"

namespace conformance {

// What `fill` writes; tests compute it again on the host.
TIDEMARK_HD std::uint32_t pattern(std::uint32_t seed, std::uint64_t i) {
  return (seed + 1) * 2654435761u ^ static_cast<std::uint32_t>(i * 40503u);
}

TIDEMARK_HD std::uint64_t global_index() {
  return static_cast<std::uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

__global__ void fill(std::uint32_t* p, std::uint64_t n, std::uint32_t seed) {
  std::uint64_t const i = global_index();
  if (i < n) p[i] = pattern(seed, i);
}

__global__ void add(std::uint32_t* p, std::uint64_t n, std::uint32_t value) {
  std::uint64_t const i = global_index();
  if (i < n) p[i] += value;
}

__global__ void copy_words(std::uint32_t* to, const std::uint32_t* from, std::uint64_t n) {
  std::uint64_t const i = global_index();
  if (i < n) to[i] = from[i];
}

__global__ void count_wrong(const std::uint32_t* p, std::uint64_t n, std::uint32_t seed, std::uint32_t* wrong) {
  std::uint64_t const i = global_index();
  if (i < n && p[i] != pattern(seed, i)) atomicAdd(wrong, 1u);
}

// A pointer inside a structure, members of several sizes and a hole before the last.
struct Record {
  std::uint32_t* p;
  std::uint8_t small;
  std::uint64_t n;
  std::uint16_t middle;
};

__global__ void use_record(Record r, std::uint8_t last) {
  std::uint64_t const i = global_index();
  if (i < r.n) r.p[i] = r.small + r.middle * 1000u + last * 100000000u;
}

template <class T>
__global__ void scale(T* p, std::uint64_t n, T factor) {
  std::uint64_t const i = global_index();
  if (i < n) p[i] *= factor;
}

// Each block reverses its part through dynamic shared memory.
__global__ void reverse_blocks(std::uint32_t* p) {
  TIDEMARK_DYNAMIC_SHARED(std::uint32_t, part);
  std::uint64_t const i = global_index();
  part[threadIdx.x] = p[i];
  __syncthreads();
  p[i] = part[blockDim.x - 1 - threadIdx.x];
}

// One word per thread of a grid and block in three dimensions: its linear place, from the built-in variables alone.
__global__ void write_place(std::uint32_t* p) {
  unsigned const block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  unsigned const thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  unsigned const i = block * (blockDim.x * blockDim.y * blockDim.z) + thread;
  p[i] = i + 1;
}

__global__ void __launch_bounds__(64) fill_bounded(std::uint32_t* p, std::uint32_t seed) {
  p[global_index()] = pattern(seed, global_index());
}

// Not registered for the CPU.
__global__ void without_body(std::uint32_t* p) {
  *p = 1;
}

__global__ void trap_when(std::uint32_t when) {
  if (when != 0) __trap();
}

__global__ void assert_when(std::uint32_t when) {
  assert(when == 0);
}

__global__ void store_to(std::uint32_t* p) {
  *p = 1;
}

__device__ std::uint32_t device_word = 17;
__device__ std::uint32_t device_table[8] = {1, 2, 3, 4, 5, 6, 7, 8};
__constant__ std::uint32_t constant_table[4] = {10, 20, 30, 40};
__device__ std::uint32_t untouched[4];

__global__ void read_symbols(std::uint32_t* out) {
  if (threadIdx.x < 8) out[threadIdx.x] = device_table[threadIdx.x];
  if (threadIdx.x < 4) out[8 + threadIdx.x] = constant_table[threadIdx.x];
  if (threadIdx.x == 0) out[12] = device_word;
}

__global__ void write_symbols(std::uint32_t value) {
  if (threadIdx.x == 0) device_word = value;
  if (threadIdx.x < 8) device_table[threadIdx.x] = value + threadIdx.x;
}

}  // namespace conformance

// The same as in kPtx of module_test.cpp, which a GPU compiles from its text.
extern "C" __global__ void ptx_fill(std::uint32_t* p, std::uint32_t n, std::uint32_t value) {
  unsigned const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) p[i] = value;
}
