// SPDX-License-Identifier: Apache-2.0
// Graphs as a whole: making, walking, instantiating, launching, updating; user objects.
#include "softgpu/runtime/context.h"

using namespace tidemark::softgpu::runtime;

using Node = cudaGraphNode_t;

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned int flags) {
  return forward(&Driver::cuGraphCreate, graph, flags);
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  return forward(&Driver::cuGraphDestroy, graph);
}
cudaError_t cudaGraphClone(cudaGraph_t* clone, cudaGraph_t original) {
  return forward(&Driver::cuGraphClone, clone, original);
}
cudaError_t cudaGraphNodeFindInClone(Node* node, Node original, cudaGraph_t clone) {
  return forward(&Driver::cuGraphNodeFindInClone, node, original, clone);
}
cudaError_t cudaGraphNodeGetType(Node node, cudaGraphNodeType* type) {
  return forward(&Driver::cuGraphNodeGetType, node, type);
}
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, Node* nodes, size_t* count) {
  return forward(&Driver::cuGraphGetNodes, graph, nodes, count);
}
cudaError_t cudaGraphGetRootNodes(cudaGraph_t graph, Node* nodes, size_t* count) {
  return forward(&Driver::cuGraphGetRootNodes, graph, nodes, count);
}
cudaError_t cudaGraphGetEdges(cudaGraph_t graph, Node* from, Node* to, cudaGraphEdgeData* edges, size_t* count) {
  return forward(&Driver::cuGraphGetEdges, graph, from, to, edges, count);
}
cudaError_t cudaGraphNodeGetDependencies(Node node, Node* dependencies, cudaGraphEdgeData* edges, size_t* count) {
  return forward(&Driver::cuGraphNodeGetDependencies, node, dependencies, edges, count);
}
cudaError_t cudaGraphNodeGetDependentNodes(Node node, Node* dependents, cudaGraphEdgeData* edges, size_t* count) {
  return forward(&Driver::cuGraphNodeGetDependentNodes, node, dependents, edges, count);
}
cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const Node* from, const Node* to,
                                     const cudaGraphEdgeData* edges, size_t count) {
  return forward(&Driver::cuGraphAddDependencies, graph, from, to, edges, count);
}
cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const Node* from, const Node* to,
                                        const cudaGraphEdgeData* edges, size_t count) {
  return forward(&Driver::cuGraphRemoveDependencies, graph, from, to, edges, count);
}
cudaError_t cudaGraphDestroyNode(Node node) {
  return forward(&Driver::cuGraphDestroyNode, node);
}
cudaError_t cudaGraphDebugDotPrint(cudaGraph_t graph, const char* path, unsigned int flags) {
  return forward(&Driver::cuGraphDebugDotPrint, graph, path, flags);
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags) {
  return forward(&Driver::cuGraphInstantiateWithFlags, executable, graph, flags);
}
cudaError_t cudaGraphInstantiateWithFlags(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long flags) {
  return forward(&Driver::cuGraphInstantiateWithFlags, executable, graph, flags);
}
cudaError_t cudaGraphInstantiateWithParams(cudaGraphExec_t* executable, cudaGraph_t graph,
                                           cudaGraphInstantiateParams* parameters) {
  return forward(&Driver::cuGraphInstantiateWithParams, executable, graph, parameters);
}
cudaError_t cudaGraphExecGetFlags(cudaGraphExec_t executable, unsigned long long* flags) {
  return forward(&Driver::cuGraphExecGetFlags, executable, flags);
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  return forward(&Driver::cuGraphExecDestroy, executable);
}
cudaError_t cudaGraphUpload(cudaGraphExec_t executable, cudaStream_t stream) {
  return forward(&Driver::cuGraphUpload, executable, stream);
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  return forward(&Driver::cuGraphLaunch, executable, stream);
}
cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph, cudaGraphExecUpdateResultInfo* result) {
  return forward(&Driver::cuGraphExecUpdate, executable, graph, result);
}
cudaError_t cudaGraphNodeSetEnabled(cudaGraphExec_t executable, Node node, unsigned int enabled) {
  return forward(&Driver::cuGraphNodeSetEnabled, executable, node, enabled);
}
cudaError_t cudaGraphNodeGetEnabled(cudaGraphExec_t executable, Node node, unsigned int* enabled) {
  return forward(&Driver::cuGraphNodeGetEnabled, executable, node, enabled);
}

cudaError_t cudaUserObjectCreate(cudaUserObject_t* object, void* pointer, cudaHostFn_t destroy, unsigned int references,
                                 unsigned int flags) {
  return forward(&Driver::cuUserObjectCreate, object, pointer, destroy, references, flags);
}
cudaError_t cudaUserObjectRetain(cudaUserObject_t object, unsigned int count) {
  return forward(&Driver::cuUserObjectRetain, object, count);
}
cudaError_t cudaUserObjectRelease(cudaUserObject_t object, unsigned int count) {
  return forward(&Driver::cuUserObjectRelease, object, count);
}
cudaError_t cudaGraphRetainUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned int count,
                                      unsigned int flags) {
  return forward(&Driver::cuGraphRetainUserObject, graph, object, count, flags);
}
cudaError_t cudaGraphReleaseUserObject(cudaGraph_t graph, cudaUserObject_t object, unsigned int count) {
  return forward(&Driver::cuGraphReleaseUserObject, graph, object, count);
}
