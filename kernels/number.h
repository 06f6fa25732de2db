// SPDX-License-Identifier: Apache-2.0
// The types that activations are stored in. Arithmetic is always that of float: a kernel widens what it reads and
// rounds once, to nearest even, where it stores.
#pragma once
#include "softgpu/kernel/portable.h"

namespace tidemark::kernels {

TIDEMARK_HD float widen(float x) {
  return x;
}
TIDEMARK_HD float widen(__half x) {
  return __half2float(x);
}
TIDEMARK_HD float widen(__nv_bfloat16 x) {
  return __bfloat162float(x);
}

template <class T>
TIDEMARK_HD T narrow(float x);
template <>
TIDEMARK_HD float narrow<float>(float x) {
  return x;
}
template <>
TIDEMARK_HD __half narrow<__half>(float x) {
  return __float2half_rn(x);
}
template <>
TIDEMARK_HD __nv_bfloat16 narrow<__nv_bfloat16>(float x) {
  return __float2bfloat16_rn(x);
}

}  // namespace tidemark::kernels
