// SPDX-License-Identifier: Apache-2.0
// The CUDA C++ standard library and tensor cores: barriers, asynchronous copies, atomics with scopes, wmma.
#include <mma.h>

#include <cuda/atomic>
#include <cuda/barrier>
#include <cuda/std/tuple>

#include "tests/integration/programs/check.h"

__global__ void pipeline(const int* in, int* out) {
  __shared__ int stage[128];
#pragma nv_diag_suppress static_var_with_dynamic_init
  __shared__ cuda::barrier<cuda::thread_scope_block> ready;
  if (threadIdx.x == 0) init(&ready, blockDim.x);
  __syncthreads();
  cuda::memcpy_async(&stage[threadIdx.x], &in[threadIdx.x], sizeof(int), ready);
  ready.arrive_and_wait();
  cuda::atomic_ref<int, cuda::thread_scope_device>(*out).fetch_add(stage[127 - threadIdx.x]);
}

__global__ void product(const half* a, const half* b, float* c) {
  using namespace nvcuda;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::col_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> fc;
  wmma::fill_fragment(fc, 0.0f);
  wmma::load_matrix_sync(fa, a, 16);
  wmma::load_matrix_sync(fb, b, 16);
  wmma::mma_sync(fc, fa, fb, fc);
  wmma::store_matrix_sync(c, fc, 16, wmma::mem_row_major);
}

int main(int argc, char** argv) {
  int *in = nullptr, *out = nullptr, sum = -1;
  half *a = nullptr, *b = nullptr;
  float* c = nullptr;
  CHECK(cudaMalloc(&in, 128 * sizeof(int)));
  CHECK(cudaMalloc(&out, sizeof(int)));
  CHECK(cudaMalloc(&a, 256 * sizeof(half)));
  CHECK(cudaMalloc(&b, 256 * sizeof(half)));
  CHECK(cudaMalloc(&c, 256 * sizeof(float)));
  CHECK(cudaMemset(in, 0, 128 * sizeof(int)));
  CHECK(cudaMemset(out, 0, sizeof(int)));
  pipeline<<<1, 128>>>(in, out);
  CHECK(cudaGetLastError());
  product<<<1, 32>>>(a, b, c);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(&sum, out, sizeof sum, cudaMemcpyDeviceToHost));
  if (values_count(argc, argv)) REQUIRE(sum == 0);
  for (void* const p : {static_cast<void*>(in), static_cast<void*>(out), static_cast<void*>(a), static_cast<void*>(b),
                        static_cast<void*>(c)})
    CHECK(cudaFree(p));
  return 0;
}
