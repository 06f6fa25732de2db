// SPDX-License-Identifier: Apache-2.0
#include "softgpu/blas/level1_ex.h"

using namespace tidemark::softgpu::blas;
#include <level1_ex.inc>
