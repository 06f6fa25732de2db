// SPDX-License-Identifier: Apache-2.0
#include "softgpu/runtime/graph_parameters.h"

#include <cstring>

#include "softgpu/runtime/copy.h"
#include "softgpu/runtime/module.h"

namespace tidemark::softgpu::runtime {

cudaError_t current_context(CUcontext& context) {
  if (cudaError_t const error = enter(); error != cudaSuccess) return error;
  return to_runtime(call(&Driver::cuCtxGetCurrent, &context));
}

namespace {

// The kernel parameters in a node of its own and in the union have two types with one set of names.
template <class From, class To>
cudaError_t kernel_to_driver(const From& from, To& to) {
  Callable callable;
  if (cudaError_t const error = find_callable(from.func, callable); error != cudaSuccess) return error;
  to.func = callable.function;
  to.kern = callable.kernel;
  to.ctx = nullptr;  // the current one
  to.gridDimX = from.gridDim.x;
  to.gridDimY = from.gridDim.y;
  to.gridDimZ = from.gridDim.z;
  to.blockDimX = from.blockDim.x;
  to.blockDimY = from.blockDim.y;
  to.blockDimZ = from.blockDim.z;
  to.sharedMemBytes = from.sharedMemBytes;
  to.kernelParams = from.kernelParams;
  to.extra = from.extra;
  return cudaSuccess;
}

}  // namespace

cudaError_t to_driver(const cudaKernelNodeParams& from, CUDA_KERNEL_NODE_PARAMS& to) {
  return kernel_to_driver(from, to);
}

cudaKernelNodeParams to_runtime(const CUDA_KERNEL_NODE_PARAMS& from) {
  // A captured launch may come back as a function that is a kernel in disguise: both are looked for among the kernels.
  CUkernel const kernel = from.kern != nullptr ? from.kern : reinterpret_cast<CUkernel>(from.func);
  void* const symbol = symbol_of(kernel);
  if (symbol == from.kern)
    remember(from.kern);
  else if (symbol == from.func)
    remember(from.func);
  cudaKernelNodeParams to{};
  to.func = symbol;
  to.gridDim = dim3(from.gridDimX, from.gridDimY, from.gridDimZ);
  to.blockDim = dim3(from.blockDimX, from.blockDimY, from.blockDimZ);
  to.sharedMemBytes = from.sharedMemBytes;
  to.kernelParams = from.kernelParams;
  to.extra = from.extra;
  return to;
}

cudaError_t to_driver(const cudaGraphNodeParams& from, CUgraphNodeParams& to) {
  static_assert(sizeof from == sizeof to && sizeof from.reserved1 == sizeof to.reserved1);
  std::memset(&to, 0, sizeof to);
  to.type = convert<CUgraphNodeType>(from.type);
  CUcontext context = nullptr;
  if (cudaError_t const error = current_context(context); error != cudaSuccess) return error;
  switch (from.type) {
    case cudaGraphNodeTypeKernel: return kernel_to_driver(from.kernel, to.kernel);
    case cudaGraphNodeTypeMemcpy: {
      bool nothing = false;
      to.memcpy.flags = from.memcpy.flags;
      to.memcpy.copyCtx = context;
      return to_driver(from.memcpy.copyParams, to.memcpy.copyParams, nothing);
    }
    default: break;
  }
  // The others have one layout; where the driver's is longer, its last member is a context.
  std::memcpy(to.reserved1, from.reserved1, sizeof to.reserved1);
  if (from.type == cudaGraphNodeTypeMemset) to.memset.ctx = context;
  if (from.type == cudaGraphNodeTypeConditional) to.conditional.ctx = context;
  return cudaSuccess;
}

}  // namespace tidemark::softgpu::runtime
