// SPDX-License-Identifier: Apache-2.0
// Launches as nvcc's host code makes them, for launch_test.cpp.
#include <cuda_runtime.h>

#include "tests/unit/softgpu/cupti/kernels_body.h"

cudaError_t launch_fill(unsigned* x, unsigned value, std::size_t n, cudaStream_t stream) {
  test::fill<<<static_cast<unsigned>((n + 127) / 128), 128, 0, stream>>>(x, value, n);
  return cudaGetLastError();
}

const void* fill_stub() {
  return reinterpret_cast<const void*>(&test::fill);
}
