// SPDX-License-Identifier: Apache-2.0
#include "softgpu/blas/level1.h"

using namespace tidemark::softgpu::blas;
#include <level1.inc>
