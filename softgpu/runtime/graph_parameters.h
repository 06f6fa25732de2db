// SPDX-License-Identifier: Apache-2.0
// Parameters of graph nodes that runtime and driver describe differently: kernels (a host stub against a handle),
// copies (elements against bytes), and the union of all of them. The driver also wants the context that a node belongs
// to.
#pragma once
#include "softgpu/runtime/context.h"

namespace tidemark::softgpu::runtime {

// enter(), and the context that is then current.
cudaError_t current_context(CUcontext& context);

cudaError_t to_driver(const cudaKernelNodeParams& parameters, CUDA_KERNEL_NODE_PARAMS& out);
cudaKernelNodeParams to_runtime(const CUDA_KERNEL_NODE_PARAMS& parameters);
cudaError_t to_driver(const cudaGraphNodeParams& parameters, CUgraphNodeParams& out);

}  // namespace tidemark::softgpu::runtime
