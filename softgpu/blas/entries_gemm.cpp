// SPDX-License-Identifier: Apache-2.0
#include "softgpu/blas/gemm_api.h"

using namespace tidemark::softgpu::blas;
#include <gemm.inc>
