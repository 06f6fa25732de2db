// SPDX-License-Identifier: Apache-2.0
#include "softgpu/blas/level3.h"

using namespace tidemark::softgpu::blas;
#include <level3.inc>
