// SPDX-License-Identifier: Apache-2.0
// What the copy entry points share: reading a cudaMemcpyKind, and the two ends of a copy of any shape.
#pragma once
#include "softgpu/runtime/array.h"

namespace tidemark::softgpu::runtime {

// Which end of a copy is a CUDA array; arrays live on the device, so they rule some kinds out.
struct ArrayEnds {
  bool source = false;
  bool target = false;
};
// cudaErrorInvalidMemcpyDirection unless the kind exists and fits the ends.
cudaError_t check_kind(cudaMemcpyKind kind, ArrayEnds arrays = {});
CUmemorytype source_type(cudaMemcpyKind kind);
CUmemorytype target_type(cudaMemcpyKind kind);

// The driver's form of a 3D copy. An empty extent is valid and copies nothing: `nothing` is then set.
cudaError_t to_driver(const cudaMemcpy3DParms& parameters, CUDA_MEMCPY3D& out, bool& nothing);
// The runtime's form of a 3D copy that the driver describes (of a graph's node).
cudaError_t to_runtime_copy(const CUDA_MEMCPY3D& copy, cudaMemcpy3DParms& out);

// A contiguous copy as the driver's 3D form, for graph nodes.
CUDA_MEMCPY3D linear_copy(void* target, const void* source, std::size_t bytes, cudaMemcpyKind kind);

}  // namespace tidemark::softgpu::runtime
