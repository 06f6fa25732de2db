// SPDX-License-Identifier: Apache-2.0
#include "kernels/elementwise_body.h"
#include "kernels/register_cpu.h"

namespace k = tidemark::kernels;

#define REGISTER_ACTIVATION(Math)                                  \
  TIDEMARK_REGISTER(k::activation_values<k::Math, float>);         \
  TIDEMARK_REGISTER(k::activation_values<k::Math, __half>);        \
  TIDEMARK_REGISTER(k::activation_values<k::Math, __nv_bfloat16>); \
  TIDEMARK_REGISTER(k::activation_slopes<k::Math, float>);         \
  TIDEMARK_REGISTER(k::activation_slopes<k::Math, __half>);        \
  TIDEMARK_REGISTER(k::activation_slopes<k::Math, __nv_bfloat16>)
REGISTER_ACTIVATION(ReluMath);
REGISTER_ACTIVATION(GeluMath);
REGISTER_ACTIVATION(SigmoidMath);
REGISTER_ACTIVATION(TanhMath);
TIDEMARK_REGISTER_TYPES(k::add_elements);
TIDEMARK_REGISTER_TYPES(k::add_bias_rows);
TIDEMARK_REGISTER_TYPES(k::dropout_elements);
TIDEMARK_REGISTER_TYPES(k::dropout_repeat);
TIDEMARK_REGISTER_TYPES(k::dropout_gradients);
TIDEMARK_REGISTER_TYPES(k::narrow_elements);
TIDEMARK_REGISTER_TYPES(k::narrow_strided);
