// SPDX-License-Identifier: Apache-2.0
// Arithmetic: each body applies a set of functions to an input.
#pragma once
#include "softgpu/kernel/portable.h"
#include "tests/unit/softgpu/kernel/bodies/types.h"

__global__ void integer_functions(const unsigned long long* in, IntegerResults* out, int n) {
  int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  unsigned long long const wide = in[i], other = in[n - 1 - i];
  auto const a = static_cast<unsigned>(wide), b = static_cast<unsigned>(wide >> 32);
  IntegerResults& r = out[i];
  r.population = __popc(a);
  r.leading = __clz(static_cast<int>(a));
  r.first = __ffs(static_cast<int>(a));
  r.wide_population = __popcll(wide);
  r.wide_leading = __clzll(static_cast<long long>(wide));
  r.wide_first = __ffsll(static_cast<long long>(wide));
  r.product24 = __mul24(static_cast<int>(a), static_cast<int>(b));
  r.high = __mulhi(static_cast<int>(a), static_cast<int>(b));
  r.average = __hadd(static_cast<int>(a), static_cast<int>(b));
  r.rounded_average = __rhadd(static_cast<int>(a), static_cast<int>(b));
  r.dot = __dp4a(static_cast<int>(a), static_cast<int>(b), 5);
  r.reversed = __brev(a);
  r.permuted = __byte_perm(a, b, 0x7360);
  r.left = __funnelshift_l(a, b, 40);
  r.left_clamped = __funnelshift_lc(a, b, 40);
  r.right = __funnelshift_r(a, b, 7);
  r.right_clamped = __funnelshift_rc(a, b, 33);
  r.unsigned_product24 = __umul24(a, b);
  r.unsigned_high = __umulhi(a, b);
  r.distance = __sad(static_cast<int>(a), static_cast<int>(b), 3);
  r.unsigned_distance = __usad(a, b, 3);
  r.wide_reversed = __brevll(wide);
  r.unsigned_wide_high = __umul64hi(wide, other);
  r.wide_high = __mul64hi(static_cast<long long>(wide), static_cast<long long>(other));
}

__global__ void float_functions(const float* in, FloatResults* out, int n) {
  int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  float const a = in[i], b = in[n - 1 - i];
  FloatResults& r = out[i];
  r.add_rn = __fadd_rn(a, b);
  r.add_rz = __fadd_rz(a, b);
  r.add_ru = __fadd_ru(a, b);
  r.add_rd = __fadd_rd(a, b);
  r.mul_rn = __fmul_rn(a, b);
  r.mul_rz = __fmul_rz(a, b);
  r.div_rn = __fdiv_rn(a, b);
  r.div_ru = __fdiv_ru(a, b);
  r.root_rd = __fsqrt_rd(fabsf(a));
  r.fma_rz = __fmaf_rz(a, b, a);
  r.saturated = __saturatef(a);
  r.reciprocal_root = rsqrtf(fabsf(a));
  r.fast_exp = __expf(fminf(a, 50.0f));
  r.least = min(a, b);
  r.most = fmaxf(a, b);
  r.narrowed_rz = __double2float_rz(static_cast<double>(a) / 3.0);
  r.from_int_rd = __int2float_rd(__float_as_int(a));
  r.to_int_rn = __float2int_rn(a);
  r.to_int_rz = __float2int_rz(a);
  r.to_int_ru = __float2int_ru(a);
  r.to_int_rd = __float2int_rd(a);
  r.bits = __float_as_int(a);
  r.to_uint_rz = __float2uint_rz(a);
  r.to_ll_rn = __float2ll_rn(a);
}

__device__ __forceinline__ int whole_up(__half x) {
  return __half2int_ru(x);
}
__device__ __forceinline__ int whole_up(__nv_bfloat16 x) {
  return __bfloat162int_ru(x);
}
template <class H>
__global__ void half_functions(const H* in, HalfResults<H>* out, int n) {
  int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  H const a = in[3 * i], b = in[3 * i + 1], c = in[3 * i + 2];
  out[i] = {a + b, a - b, a * b, a / b, __hfma(a, b, c), hsqrt(a), hexp(a), hrint(a), whole_up(a)};
}
__global__ void half2_functions(const __half2* in, __half2* out) {
  __half2 const x = in[threadIdx.x];
  out[threadIdx.x] = __hfma2(x, x, __shfl_xor_sync(0xffffffffu, x, 1));
}

__global__ void vector_types(const float4* in, float4* out, int2* pairs) {
  float4 const v = __ldg(&in[threadIdx.x]);
  out[threadIdx.x] = make_float4(v.w, v.z, v.y, v.x);
  __stcs(&pairs[threadIdx.x], make_int2(static_cast<int>(v.x), static_cast<int>(warpSize)));
}
__global__ void print_and_time(long long* ticks, int value) {
  long long const begin = clock64();
  printf("thread %u says %d\n", threadIdx.x, value);
  ticks[threadIdx.x] = clock64() - begin;
}
