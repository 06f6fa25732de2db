// SPDX-License-Identifier: Apache-2.0
// Every entry point by plain name and version.
#pragma once
#define __CUDA_API_VERSION_INTERNAL
#pragma GCC visibility push(default)
#include <cuda.h>
#pragma GCC visibility pop

namespace tidemark::softgpu {

// The newest symbol of that name that is not newer than `version`. status may be null.
CUresult look_up(const char* name, void** out, int version, cuuint64_t flags, CUdriverProcAddressQueryResult* status);

}  // namespace tidemark::softgpu
