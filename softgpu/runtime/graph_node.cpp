// SPDX-License-Identifier: Apache-2.0
// Nodes whose parameters mean the same to runtime and driver: memset, host, child graph, empty, events, memory,
// semaphores.
#include "softgpu/runtime/graph_parameters.h"

using namespace tidemark::softgpu::runtime;

using Node = cudaGraphNode_t;
using Graph = cudaGraph_t;
using Executable = cudaGraphExec_t;

cudaError_t cudaGraphAddMemsetNode(Node* node, Graph graph, const Node* dependencies, size_t count,
                                   const cudaMemsetParams* parameters) {
  CUcontext context = nullptr;
  if (cudaError_t const error = current_context(context); error != cudaSuccess) return record(error);
  return forward(&Driver::cuGraphAddMemsetNode, node, graph, dependencies, count, parameters, context);
}
cudaError_t cudaGraphMemsetNodeGetParams(Node node, cudaMemsetParams* parameters) {
  return forward(&Driver::cuGraphMemsetNodeGetParams, node, parameters);
}
cudaError_t cudaGraphMemsetNodeSetParams(Node node, const cudaMemsetParams* parameters) {
  return forward(&Driver::cuGraphMemsetNodeSetParams, node, parameters);
}
cudaError_t cudaGraphExecMemsetNodeSetParams(Executable executable, Node node, const cudaMemsetParams* parameters) {
  CUcontext context = nullptr;
  if (cudaError_t const error = current_context(context); error != cudaSuccess) return record(error);
  return forward(&Driver::cuGraphExecMemsetNodeSetParams, executable, node, parameters, context);
}

cudaError_t cudaGraphAddHostNode(Node* node, Graph graph, const Node* dependencies, size_t count,
                                 const cudaHostNodeParams* parameters) {
  return forward(&Driver::cuGraphAddHostNode, node, graph, dependencies, count, parameters);
}
cudaError_t cudaGraphHostNodeGetParams(Node node, cudaHostNodeParams* parameters) {
  return forward(&Driver::cuGraphHostNodeGetParams, node, parameters);
}
cudaError_t cudaGraphHostNodeSetParams(Node node, const cudaHostNodeParams* parameters) {
  return forward(&Driver::cuGraphHostNodeSetParams, node, parameters);
}
cudaError_t cudaGraphExecHostNodeSetParams(Executable executable, Node node, const cudaHostNodeParams* parameters) {
  return forward(&Driver::cuGraphExecHostNodeSetParams, executable, node, parameters);
}

cudaError_t cudaGraphAddChildGraphNode(Node* node, Graph graph, const Node* dependencies, size_t count, Graph child) {
  return forward(&Driver::cuGraphAddChildGraphNode, node, graph, dependencies, count, child);
}
cudaError_t cudaGraphChildGraphNodeGetGraph(Node node, Graph* child) {
  return forward(&Driver::cuGraphChildGraphNodeGetGraph, node, child);
}
cudaError_t cudaGraphExecChildGraphNodeSetParams(Executable executable, Node node, Graph child) {
  return forward(&Driver::cuGraphExecChildGraphNodeSetParams, executable, node, child);
}
cudaError_t cudaGraphAddEmptyNode(Node* node, Graph graph, const Node* dependencies, size_t count) {
  return forward(&Driver::cuGraphAddEmptyNode, node, graph, dependencies, count);
}

cudaError_t cudaGraphAddEventRecordNode(Node* node, Graph graph, const Node* dependencies, size_t count,
                                        cudaEvent_t event) {
  return forward(&Driver::cuGraphAddEventRecordNode, node, graph, dependencies, count, event);
}
cudaError_t cudaGraphEventRecordNodeGetEvent(Node node, cudaEvent_t* event) {
  return forward(&Driver::cuGraphEventRecordNodeGetEvent, node, event);
}
cudaError_t cudaGraphEventRecordNodeSetEvent(Node node, cudaEvent_t event) {
  return forward(&Driver::cuGraphEventRecordNodeSetEvent, node, event);
}
cudaError_t cudaGraphExecEventRecordNodeSetEvent(Executable executable, Node node, cudaEvent_t event) {
  return forward(&Driver::cuGraphExecEventRecordNodeSetEvent, executable, node, event);
}
cudaError_t cudaGraphAddEventWaitNode(Node* node, Graph graph, const Node* dependencies, size_t count,
                                      cudaEvent_t event) {
  return forward(&Driver::cuGraphAddEventWaitNode, node, graph, dependencies, count, event);
}
cudaError_t cudaGraphEventWaitNodeGetEvent(Node node, cudaEvent_t* event) {
  return forward(&Driver::cuGraphEventWaitNodeGetEvent, node, event);
}
cudaError_t cudaGraphEventWaitNodeSetEvent(Node node, cudaEvent_t event) {
  return forward(&Driver::cuGraphEventWaitNodeSetEvent, node, event);
}
cudaError_t cudaGraphExecEventWaitNodeSetEvent(Executable executable, Node node, cudaEvent_t event) {
  return forward(&Driver::cuGraphExecEventWaitNodeSetEvent, executable, node, event);
}

cudaError_t cudaGraphAddMemAllocNode(Node* node, Graph graph, const Node* dependencies, size_t count,
                                     cudaMemAllocNodeParams* parameters) {
  return forward(&Driver::cuGraphAddMemAllocNode, node, graph, dependencies, count, parameters);
}
cudaError_t cudaGraphMemAllocNodeGetParams(Node node, cudaMemAllocNodeParams* parameters) {
  return forward(&Driver::cuGraphMemAllocNodeGetParams, node, parameters);
}
cudaError_t cudaGraphAddMemFreeNode(Node* node, Graph graph, const Node* dependencies, size_t count, void* pointer) {
  return forward(&Driver::cuGraphAddMemFreeNode, node, graph, dependencies, count, pointer);
}
cudaError_t cudaGraphMemFreeNodeGetParams(Node node, void* pointer) {
  return forward(&Driver::cuGraphMemFreeNodeGetParams, node, static_cast<CUdeviceptr*>(pointer));
}

cudaError_t cudaGraphAddExternalSemaphoresSignalNode(Node* node, Graph graph, const Node* dependencies, size_t count,
                                                     const cudaExternalSemaphoreSignalNodeParams* parameters) {
  return forward(&Driver::cuGraphAddExternalSemaphoresSignalNode, node, graph, dependencies, count, parameters);
}
cudaError_t cudaGraphExternalSemaphoresSignalNodeGetParams(Node node,
                                                           cudaExternalSemaphoreSignalNodeParams* parameters) {
  return forward(&Driver::cuGraphExternalSemaphoresSignalNodeGetParams, node, parameters);
}
cudaError_t cudaGraphExternalSemaphoresSignalNodeSetParams(Node node,
                                                           const cudaExternalSemaphoreSignalNodeParams* parameters) {
  return forward(&Driver::cuGraphExternalSemaphoresSignalNodeSetParams, node, parameters);
}
cudaError_t cudaGraphExecExternalSemaphoresSignalNodeSetParams(
    Executable executable, Node node, const cudaExternalSemaphoreSignalNodeParams* parameters) {
  return forward(&Driver::cuGraphExecExternalSemaphoresSignalNodeSetParams, executable, node, parameters);
}
cudaError_t cudaGraphAddExternalSemaphoresWaitNode(Node* node, Graph graph, const Node* dependencies, size_t count,
                                                   const cudaExternalSemaphoreWaitNodeParams* parameters) {
  return forward(&Driver::cuGraphAddExternalSemaphoresWaitNode, node, graph, dependencies, count, parameters);
}
cudaError_t cudaGraphExternalSemaphoresWaitNodeGetParams(Node node, cudaExternalSemaphoreWaitNodeParams* parameters) {
  return forward(&Driver::cuGraphExternalSemaphoresWaitNodeGetParams, node, parameters);
}
cudaError_t cudaGraphExternalSemaphoresWaitNodeSetParams(Node node,
                                                         const cudaExternalSemaphoreWaitNodeParams* parameters) {
  return forward(&Driver::cuGraphExternalSemaphoresWaitNodeSetParams, node, parameters);
}
cudaError_t cudaGraphExecExternalSemaphoresWaitNodeSetParams(Executable executable, Node node,
                                                             const cudaExternalSemaphoreWaitNodeParams* parameters) {
  return forward(&Driver::cuGraphExecExternalSemaphoresWaitNodeSetParams, executable, node, parameters);
}
