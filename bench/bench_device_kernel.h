// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cuda_runtime_api.h>

namespace bench {
void launch_empty(cudaStream_t stream);
}
