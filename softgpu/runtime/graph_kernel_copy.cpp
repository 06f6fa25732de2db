// SPDX-License-Identifier: Apache-2.0
// Nodes whose parameters are translated: kernels, copies, and the entry points that take a node of any type.
#include "softgpu/runtime/copy.h"
#include "softgpu/runtime/graph_parameters.h"
#include "softgpu/runtime/symbol.h"

using namespace tidemark::softgpu::runtime;

using Node = cudaGraphNode_t;
using Graph = cudaGraph_t;
using Executable = cudaGraphExec_t;

namespace {

// Where a new node goes.
struct Place {
  Node* node;
  Graph graph;
  const Node* dependencies;
  size_t count;
};

template <class Use>
cudaError_t with_kernel(const cudaKernelNodeParams* parameters, Use use) {
  if (parameters == nullptr) return record(cudaErrorInvalidValue);
  CUDA_KERNEL_NODE_PARAMS driver_parameters{};
  cudaError_t const error = to_driver(*parameters, driver_parameters);
  return error != cudaSuccess ? record(error) : use(&driver_parameters);
}

template <class Use>
cudaError_t with_copy(const cudaMemcpy3DParms* parameters, Use use) {
  if (parameters == nullptr) return record(cudaErrorInvalidValue);
  CUDA_MEMCPY3D copy;
  bool nothing = false;
  cudaError_t const error = to_driver(*parameters, copy, nothing);
  return error != cudaSuccess ? record(error) : use(copy);
}

cudaError_t add(const Place& at, const CUDA_MEMCPY3D& copy) {
  CUcontext context = nullptr;
  if (cudaError_t const error = current_context(context); error != cudaSuccess) return record(error);
  return forward(&Driver::cuGraphAddMemcpyNode, at.node, at.graph, at.dependencies, at.count, &copy, context);
}
cudaError_t set(Node node, const CUDA_MEMCPY3D& copy) {
  return forward(&Driver::cuGraphMemcpyNodeSetParams, node, &copy);
}
cudaError_t set(Executable executable, Node node, const CUDA_MEMCPY3D& copy) {
  CUcontext context = nullptr;
  if (cudaError_t const error = current_context(context); error != cudaSuccess) return record(error);
  return forward(&Driver::cuGraphExecMemcpyNodeSetParams, executable, node, &copy, context);
}

// A contiguous copy, to be used by one of the three above.
template <class Use>
cudaError_t with_linear(void* target, const void* source, size_t bytes, cudaMemcpyKind kind, Use use) {
  if (cudaError_t const error = check_kind(kind); error != cudaSuccess) return record(error);
  return use(linear_copy(target, source, bytes, kind));
}
template <class Use>
cudaError_t with_copy_to_symbol(const SymbolRange& range, const void* source, cudaMemcpyKind kind, Use use) {
  void* address = nullptr;
  if (cudaError_t const error = locate(range, address); error != cudaSuccess) return record(error);
  return with_linear(address, source, range.bytes, kind, use);
}
template <class Use>
cudaError_t with_copy_from_symbol(void* target, const SymbolRange& range, cudaMemcpyKind kind, Use use) {
  void* address = nullptr;
  if (cudaError_t const error = locate(range, address); error != cudaSuccess) return record(error);
  return with_linear(target, address, range.bytes, kind, use);
}

}  // namespace

cudaError_t cudaGraphAddKernelNode(Node* node, Graph graph, const Node* dependencies, size_t count,
                                   const cudaKernelNodeParams* parameters) {
  return with_kernel(parameters, [&](const CUDA_KERNEL_NODE_PARAMS* kernel) {
    return forward(&Driver::cuGraphAddKernelNode, node, graph, dependencies, count, kernel);
  });
}
cudaError_t cudaGraphKernelNodeGetParams(Node node, cudaKernelNodeParams* parameters) {
  if (parameters == nullptr) return record(cudaErrorInvalidValue);
  CUDA_KERNEL_NODE_PARAMS kernel{};
  cudaError_t const error = forward(&Driver::cuGraphKernelNodeGetParams, node, &kernel);
  if (error == cudaSuccess) *parameters = to_runtime(kernel);
  return error;
}
cudaError_t cudaGraphKernelNodeSetParams(Node node, const cudaKernelNodeParams* parameters) {
  return with_kernel(parameters, [&](const CUDA_KERNEL_NODE_PARAMS* kernel) {
    return forward(&Driver::cuGraphKernelNodeSetParams, node, kernel);
  });
}
cudaError_t cudaGraphExecKernelNodeSetParams(Executable executable, Node node, const cudaKernelNodeParams* parameters) {
  return with_kernel(parameters, [&](const CUDA_KERNEL_NODE_PARAMS* kernel) {
    return forward(&Driver::cuGraphExecKernelNodeSetParams, executable, node, kernel);
  });
}
cudaError_t cudaGraphKernelNodeCopyAttributes(Node target, Node source) {
  return forward(&Driver::cuGraphKernelNodeCopyAttributes, target, source);
}
cudaError_t cudaGraphKernelNodeGetAttribute(Node node, cudaLaunchAttributeID attribute,
                                            cudaLaunchAttributeValue* value) {
  return forward(&Driver::cuGraphKernelNodeGetAttribute, node, attribute, value);
}
cudaError_t cudaGraphKernelNodeSetAttribute(Node node, cudaLaunchAttributeID attribute,
                                            const cudaLaunchAttributeValue* value) {
  return forward(&Driver::cuGraphKernelNodeSetAttribute, node, attribute, value);
}

cudaError_t cudaGraphAddMemcpyNode(Node* node, Graph graph, const Node* dependencies, size_t count,
                                   const cudaMemcpy3DParms* parameters) {
  return with_copy(parameters, [&](const CUDA_MEMCPY3D& copy) {
    return add({node, graph, dependencies, count}, copy);
  });
}
cudaError_t cudaGraphMemcpyNodeGetParams(Node node, cudaMemcpy3DParms* parameters) {
  if (parameters == nullptr) return record(cudaErrorInvalidValue);
  CUDA_MEMCPY3D copy{};
  cudaError_t const error = forward(&Driver::cuGraphMemcpyNodeGetParams, node, &copy);
  return error != cudaSuccess ? error : record(to_runtime_copy(copy, *parameters));
}
cudaError_t cudaGraphMemcpyNodeSetParams(Node node, const cudaMemcpy3DParms* parameters) {
  return with_copy(parameters, [&](const CUDA_MEMCPY3D& copy) { return set(node, copy); });
}
cudaError_t cudaGraphExecMemcpyNodeSetParams(Executable executable, Node node, const cudaMemcpy3DParms* parameters) {
  return with_copy(parameters, [&](const CUDA_MEMCPY3D& copy) { return set(executable, node, copy); });
}

cudaError_t cudaGraphAddMemcpyNode1D(Node* node, Graph graph, const Node* dependencies, size_t count, void* target,
                                     const void* source, size_t bytes, cudaMemcpyKind kind) {
  return with_linear(target, source, bytes, kind, [&](const CUDA_MEMCPY3D& copy) {
    return add({node, graph, dependencies, count}, copy);
  });
}
cudaError_t cudaGraphMemcpyNodeSetParams1D(Node node, void* target, const void* source, size_t bytes,
                                           cudaMemcpyKind kind) {
  return with_linear(target, source, bytes, kind, [&](const CUDA_MEMCPY3D& copy) { return set(node, copy); });
}
cudaError_t cudaGraphExecMemcpyNodeSetParams1D(Executable executable, Node node, void* target, const void* source,
                                               size_t bytes, cudaMemcpyKind kind) {
  return with_linear(target, source, bytes, kind,
                     [&](const CUDA_MEMCPY3D& copy) { return set(executable, node, copy); });
}

cudaError_t cudaGraphAddMemcpyNodeToSymbol(Node* node, Graph graph, const Node* dependencies, size_t count,
                                           const void* symbol, const void* source, size_t bytes, size_t offset,
                                           cudaMemcpyKind kind) {
  return with_copy_to_symbol({symbol, offset, bytes}, source, kind, [&](const CUDA_MEMCPY3D& copy) {
    return add({node, graph, dependencies, count}, copy);
  });
}
cudaError_t cudaGraphMemcpyNodeSetParamsToSymbol(Node node, const void* symbol, const void* source, size_t bytes,
                                                 size_t offset, cudaMemcpyKind kind) {
  return with_copy_to_symbol({symbol, offset, bytes}, source, kind,
                             [&](const CUDA_MEMCPY3D& copy) { return set(node, copy); });
}
cudaError_t cudaGraphExecMemcpyNodeSetParamsToSymbol(Executable executable, Node node, const void* symbol,
                                                     const void* source, size_t bytes, size_t offset,
                                                     cudaMemcpyKind kind) {
  return with_copy_to_symbol({symbol, offset, bytes}, source, kind,
                             [&](const CUDA_MEMCPY3D& copy) { return set(executable, node, copy); });
}
cudaError_t cudaGraphAddMemcpyNodeFromSymbol(Node* node, Graph graph, const Node* dependencies, size_t count,
                                             void* target, const void* symbol, size_t bytes, size_t offset,
                                             cudaMemcpyKind kind) {
  return with_copy_from_symbol(target, {symbol, offset, bytes}, kind, [&](const CUDA_MEMCPY3D& copy) {
    return add({node, graph, dependencies, count}, copy);
  });
}
cudaError_t cudaGraphMemcpyNodeSetParamsFromSymbol(Node node, void* target, const void* symbol, size_t bytes,
                                                   size_t offset, cudaMemcpyKind kind) {
  return with_copy_from_symbol(target, {symbol, offset, bytes}, kind,
                               [&](const CUDA_MEMCPY3D& copy) { return set(node, copy); });
}
cudaError_t cudaGraphExecMemcpyNodeSetParamsFromSymbol(Executable executable, Node node, void* target,
                                                       const void* symbol, size_t bytes, size_t offset,
                                                       cudaMemcpyKind kind) {
  return with_copy_from_symbol(target, {symbol, offset, bytes}, kind,
                               [&](const CUDA_MEMCPY3D& copy) { return set(executable, node, copy); });
}

cudaError_t cudaGraphAddNode(Node* node, Graph graph, const Node* dependencies, const cudaGraphEdgeData* edges,
                             size_t count, cudaGraphNodeParams* parameters) {
  if (parameters == nullptr) return record(cudaErrorInvalidValue);
  CUgraphNodeParams driver_parameters;
  if (cudaError_t const error = to_driver(*parameters, driver_parameters); error != cudaSuccess) return record(error);
  cudaError_t const error =
      forward(&Driver::cuGraphAddNode, node, graph, dependencies, edges, count, &driver_parameters);
  if (error != cudaSuccess) return error;
  // These two types give something back.
  if (parameters->type == cudaGraphNodeTypeMemAlloc)
    parameters->alloc.dptr = reinterpret_cast<void*>(driver_parameters.alloc.dptr);
  if (parameters->type == cudaGraphNodeTypeConditional)
    parameters->conditional.phGraph_out = driver_parameters.conditional.phGraph_out;
  return cudaSuccess;
}
cudaError_t cudaGraphNodeSetParams(Node node, cudaGraphNodeParams* parameters) {
  if (parameters == nullptr) return record(cudaErrorInvalidValue);
  CUgraphNodeParams driver_parameters;
  if (cudaError_t const error = to_driver(*parameters, driver_parameters); error != cudaSuccess) return record(error);
  return forward(&Driver::cuGraphNodeSetParams, node, &driver_parameters);
}
cudaError_t cudaGraphExecNodeSetParams(Executable executable, Node node, cudaGraphNodeParams* parameters) {
  if (parameters == nullptr) return record(cudaErrorInvalidValue);
  CUgraphNodeParams driver_parameters;
  if (cudaError_t const error = to_driver(*parameters, driver_parameters); error != cudaSuccess) return record(error);
  return forward(&Driver::cuGraphExecNodeSetParams, executable, node, &driver_parameters);
}

cudaError_t cudaGraphConditionalHandleCreate(cudaGraphConditionalHandle* handle, Graph graph, unsigned int initial,
                                             unsigned int flags) {
  CUcontext context = nullptr;
  if (cudaError_t const error = current_context(context); error != cudaSuccess) return record(error);
  return forward(&Driver::cuGraphConditionalHandleCreate, handle, graph, context, initial, flags);
}
