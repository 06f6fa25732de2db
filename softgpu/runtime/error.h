// SPDX-License-Identifier: Apache-2.0
// Error codes and the calling thread's last error. An error stays until cudaGetLastError() fetches it; later successes
// do not hide it. One that has destroyed the context (a sticky one) stays even then, until the device is reset.
#pragma once
#include "softgpu/runtime/api.h"

namespace tidemark::softgpu::runtime {

// The runtime's code for a driver's: the same number where the runtime has that number, else cudaErrorUnknown.
cudaError_t to_runtime(CUresult result);
// Remembers a failure as the thread's last error, and gives it back.
cudaError_t record(cudaError_t error);
inline cudaError_t record(CUresult result) {
  return record(to_runtime(result));
}
// Errors after which the context is of no use.
bool is_sticky(cudaError_t error);
// A device was reset: sticky errors recorded so far can be fetched away again, in every thread.
void forget_sticky_errors();

}  // namespace tidemark::softgpu::runtime
