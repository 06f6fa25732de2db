// SPDX-License-Identifier: Apache-2.0
// Functions that only CUDA has: special functions, norms, rarer intrinsics.
#pragma once
#include "softgpu/kernel/portable.h"
#include "tests/unit/softgpu/kernel/bodies/types.h"

__global__ void special_functions(const double* in, SpecialResults* out, int n) {
  int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  double const x = in[i];
  double const all[] = {x, 2 * x, 3 * x, 4 * x, 5 * x};
  float const f = static_cast<float>(x);
  float const floats[] = {f, 2 * f, 3 * f};
  out[i] = {erfinv(x),        erfcinv(x),   normcdfinv(x),   erfcx(x),           cyl_bessel_i0(x),
            cyl_bessel_i1(x), norm(5, all), rnorm(5, all),   norm4d(x, x, x, x), rnorm3d(x, x, x),
            fdivide(x, 3.0),  erfinvf(f),   normf(3, floats)};
}

__global__ void rarer_intrinsics(const unsigned* in, RarerResults* out, int n) {
  int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i >= n) return;
  unsigned const a = in[i], b = in[n - 1 - i];
  auto const sa = static_cast<int>(a), sb = static_cast<int>(b);
  unsigned long long const wide = static_cast<unsigned long long>(a) << 32 | b;
  out[i] = {__dp2a_lo(sa, sb, 7),
            __dp2a_hi(sa, sb, 7),
            __dp2a_lo(a, b, 7u),
            __dp2a_hi(a, b, 7u),
            __fns(a, b % 32, static_cast<int>(b >> 8) % 9 - 4),
            ullmax(wide, a),
            __int2bfloat16_rz(sa),
            __int2bfloat16_ru(sa),
            __int2bfloat16_rd(sa),
            __ull2bfloat16_ru(wide),
            __hcmadd(__half2(1.0f, 2.0f), __half2(3.0f, 4.0f), __half2(0.5f, 0.25f))};
}
