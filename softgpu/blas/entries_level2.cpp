// SPDX-License-Identifier: Apache-2.0
#include "softgpu/blas/level2_update.h"

using namespace tidemark::softgpu::blas;
#include <level2.inc>
