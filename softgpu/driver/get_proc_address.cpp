// SPDX-License-Identifier: Apache-2.0
#include "softgpu/driver/procs.h"

using tidemark::softgpu::look_up;

CUresult CUDAAPI cuGetProcAddress_v2(const char* symbol, void** function, int version, cuuint64_t flags,
                                     CUdriverProcAddressQueryResult* status) {
  return look_up(symbol, function, version, flags, status);
}

CUresult CUDAAPI cuGetProcAddress(const char* symbol, void** function, int version, cuuint64_t flags) {
  return look_up(symbol, function, version, flags, nullptr);
}
