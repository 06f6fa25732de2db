// SPDX-License-Identifier: Apache-2.0
// cuBLASLt's log: each call at level 5, a failed one at level 1; to a callback or a file, off until a level is set.
#pragma once
#include "softgpu/blas/vendor.h"

namespace tidemark::softgpu::blas {

// Gives the status back.
cublasStatus_t log_lt(const char* function, cublasStatus_t status);

}  // namespace tidemark::softgpu::blas
