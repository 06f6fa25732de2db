// SPDX-License-Identifier: Apache-2.0
#include "softgpu/blas/extension.h"

using namespace tidemark::softgpu::blas;
#include <extension.inc>
