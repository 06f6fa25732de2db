// SPDX-License-Identifier: Apache-2.0
// Nodes of every type: adding, reading and changing. Each typed entry point is the general one with its parameters put
// into the union.
#include <algorithm>

#include "softgpu/driver/graph.h"
#include "softgpu/driver/graph_memory.h"
#include "softgpu/driver/graph_params.h"

using namespace tidemark;
using namespace tidemark::softgpu;

namespace {

// Memory nodes follow rules of their graph.
CUresult admit_memory(Driver& driver, CUgraph graph, const CUgraphNodeParams& params, NodeBody& body) {
  bool const frees = params.type == CU_GRAPH_NODE_TYPE_MEM_FREE;
  if (!frees && params.type != CU_GRAPH_NODE_TYPE_MEM_ALLOC) return CUDA_SUCCESS;
  if (graph->parent != nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!frees) {
    std::get<AllocWork>(body.work).allocation->owner = graph->id;
    return CUDA_SUCCESS;
  }
  auto allocation = find_freeable(driver, graph, params.free.dptr);
  if (allocation == nullptr) return CUDA_ERROR_INVALID_VALUE;
  allocation->freed_in.insert(graph->id);
  body.work = FreeWork{std::move(allocation)};
  return CUDA_SUCCESS;
}

CUresult add(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies, const CUgraphEdgeData* edges,
             size_t count, CUgraphNodeParams& params) {
  return with_context([&](Call& call) -> CUresult {
    Driver& driver = call.driver;
    if (out == nullptr || (dependencies == nullptr && count != 0)) return CUDA_ERROR_INVALID_VALUE;
    NewNode const place{.graph = graph, .dependencies = {dependencies, count}, .edges = edges};
    if (driver.graph.graphs.check(graph) == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (CUresult const wrong = check_place(driver, place); wrong != CUDA_SUCCESS) return wrong;
    bool const moves_itself = params.type == CU_GRAPH_NODE_TYPE_GRAPH && params.graph.graph == graph &&
                              params.graph.ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
    if (moves_itself) return CUDA_ERROR_INVALID_VALUE;
    NodeBody body;
    if (params.type != CU_GRAPH_NODE_TYPE_MEM_FREE)
      if (CUresult const wrong = describe_work(call, params, &body); wrong != CUDA_SUCCESS) return wrong;
    if (CUresult const wrong = admit_memory(driver, graph, params, body); wrong != CUDA_SUCCESS) return wrong;
    // Describing a cooperative kernel lets go of the lock.
    if (driver.graph.graphs.check(graph) == nullptr || check_place(driver, place) != CUDA_SUCCESS)
      return CUDA_ERROR_INVALID_VALUE;
    CUgraphNode const node = add_node(driver, place, std::move(body));
    if (auto const* const child = std::get_if<ChildWork>(&node->body.work)) child->graph->parent = node;
    if (auto const* const alloc = std::get_if<AllocWork>(&node->body.work))
      params.alloc.dptr = alloc->allocation->block->address;
    *out = node;
    return CUDA_SUCCESS;
  });
}

CUresult get(CUgraphNode node, CUgraphNodeType type, CUgraphNodeParams& out) {
  return with_node(node, [&](Call& call) -> CUresult {
    if (type_of(node->body.work) != type) return CUDA_ERROR_INVALID_VALUE;
    return params_of(call.driver, node, &out);
  });
}

CUresult set(CUgraphNode node, const CUgraphNodeParams& params) {
  return with_context([&](Call& call) -> CUresult {
    if (call.driver.graph.nodes.check(node) == nullptr || type_of(node->body.work) != params.type)
      return CUDA_ERROR_INVALID_VALUE;
    if (is_memory(node->body.work)) return CUDA_ERROR_NOT_SUPPORTED;
    NodeBody body{.attributes = node->body.attributes};
    if (CUresult const wrong = describe_work(call, params, &body); wrong != CUDA_SUCCESS) return wrong;
    if (call.driver.graph.nodes.check(node) == nullptr) return CUDA_ERROR_INVALID_VALUE;
    CUgraph old = nullptr;
    if (auto const* const child = std::get_if<ChildWork>(&node->body.work)) old = child->graph;
    // The typed setters name no context: the node stays in its own.
    if (params.type == CU_GRAPH_NODE_TYPE_MEMCPY && params.memcpy.copyCtx == nullptr) body.context = node->body.context;
    if (params.type == CU_GRAPH_NODE_TYPE_MEMSET && params.memset.ctx == nullptr) body.context = node->body.context;
    node->body = std::move(body);
    if (auto const* const child = std::get_if<ChildWork>(&node->body.work)) child->graph->parent = node;
    if (old != nullptr) destroy_graph(call.driver, old);
    return CUDA_SUCCESS;
  });
}

template <class Params, class Part>
CUresult add_typed(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies, size_t count, const Params* params,
                   Part part) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUgraphNodeParams all = part(*params);
  return add(out, graph, dependencies, nullptr, count, all);
}

template <class Params, class Part>
CUresult get_typed(CUgraphNode node, CUgraphNodeType type, Params* out, Part part) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUgraphNodeParams all{};
  CUresult const result = get(node, type, all);
  if (result == CUDA_SUCCESS) part(all, *out);
  return result;
}

template <class Params, class Part>
CUresult set_typed(CUgraphNode node, const Params* params, Part part) {
  return params == nullptr ? CUDA_ERROR_INVALID_VALUE : set(node, part(*params));
}

}  // namespace

CUresult CUDAAPI cuGraphAddNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                                CUgraphNodeParams* params) {
  return cuGraphAddNode_v2(out, graph, dependencies, nullptr, count, params);
}
CUresult CUDAAPI cuGraphAddNode_v2(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies,
                                   const CUgraphEdgeData* edges, size_t count, CUgraphNodeParams* params) {
  return !is_clean(params) ? CUDA_ERROR_INVALID_VALUE : add(out, graph, dependencies, edges, count, *params);
}
CUresult CUDAAPI cuGraphNodeSetParams(CUgraphNode node, CUgraphNodeParams* params) {
  return !is_clean(params) ? CUDA_ERROR_INVALID_VALUE : set(node, *params);
}
CUresult CUDAAPI cuGraphNodeGetType(CUgraphNode node, CUgraphNodeType* type) {
  return with_node(node, [&](Call&) -> CUresult {
    if (type == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *type = type_of(node->body.work);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuGraphAddKernelNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                                      const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  return add_typed(out, graph, dependencies, count, params, kernel_part<CUDA_KERNEL_NODE_PARAMS_v1>);
}
CUresult CUDAAPI cuGraphAddKernelNode_v2(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                                         const CUDA_KERNEL_NODE_PARAMS_v2* params) {
  return add_typed(out, graph, dependencies, count, params, kernel_part<CUDA_KERNEL_NODE_PARAMS_v2>);
}
CUresult CUDAAPI cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1* out) {
  return get_typed(node, CU_GRAPH_NODE_TYPE_KERNEL, out, read_kernel<CUDA_KERNEL_NODE_PARAMS_v1>);
}
CUresult CUDAAPI cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v2* out) {
  return get_typed(node, CU_GRAPH_NODE_TYPE_KERNEL, out, read_kernel<CUDA_KERNEL_NODE_PARAMS_v2>);
}
CUresult CUDAAPI cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  return set_typed(node, params, kernel_part<CUDA_KERNEL_NODE_PARAMS_v1>);
}
CUresult CUDAAPI cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v2* params) {
  return set_typed(node, params, kernel_part<CUDA_KERNEL_NODE_PARAMS_v2>);
}

CUresult CUDAAPI cuGraphAddMemcpyNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                                      const CUDA_MEMCPY3D* params, CUcontext context) {
  return add_typed(out, graph, dependencies, count, params,
                   [=](const CUDA_MEMCPY3D& p) { return copy_part(p, context); });
}
CUresult CUDAAPI cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D* out) {
  return get_typed(node, CU_GRAPH_NODE_TYPE_MEMCPY, out,
                   [](const CUgraphNodeParams& p, CUDA_MEMCPY3D& o) { o = p.memcpy.copyParams; });
}
CUresult CUDAAPI cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D* params) {
  return set_typed(node, params, [](const CUDA_MEMCPY3D& p) { return copy_part(p, nullptr); });
}

CUresult CUDAAPI cuGraphAddMemsetNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                                      const CUDA_MEMSET_NODE_PARAMS* params, CUcontext context) {
  return add_typed(out, graph, dependencies, count, params,
                   [=](const CUDA_MEMSET_NODE_PARAMS& p) { return set_part(p, context); });
}
CUresult CUDAAPI cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS* out) {
  return get_typed(node, CU_GRAPH_NODE_TYPE_MEMSET, out, [](const CUgraphNodeParams& p, CUDA_MEMSET_NODE_PARAMS& o) {
    o = {p.memset.dst, p.memset.pitch, p.memset.value, p.memset.elementSize, p.memset.width, p.memset.height};
  });
}
CUresult CUDAAPI cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* params) {
  return set_typed(node, params, [](const CUDA_MEMSET_NODE_PARAMS& p) { return set_part(p, nullptr); });
}

CUresult CUDAAPI cuGraphAddHostNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                                    const CUDA_HOST_NODE_PARAMS* params) {
  return add_typed(out, graph, dependencies, count, params, host_part);
}
CUresult CUDAAPI cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS* out) {
  return get_typed(node, CU_GRAPH_NODE_TYPE_HOST, out, [](const CUgraphNodeParams& p, CUDA_HOST_NODE_PARAMS& o) {
    o = {p.host.fn, p.host.userData};
  });
}
CUresult CUDAAPI cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS* params) {
  return set_typed(node, params, host_part);
}

CUresult CUDAAPI cuGraphAddChildGraphNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies,
                                          size_t count, CUgraph child) {
  return add_typed(out, graph, dependencies, count, &child, child_part);
}
CUresult CUDAAPI cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph* out) {
  return get_typed(node, CU_GRAPH_NODE_TYPE_GRAPH, out,
                   [](const CUgraphNodeParams& p, CUgraph& o) { o = p.graph.graph; });
}
CUresult CUDAAPI cuGraphAddEmptyNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies, size_t count) {
  CUgraphNodeParams params = of_type(CU_GRAPH_NODE_TYPE_EMPTY);
  return add(out, graph, dependencies, nullptr, count, params);
}

CUresult CUDAAPI cuGraphAddEventRecordNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies,
                                           size_t count, CUevent event) {
  return add_typed(out, graph, dependencies, count, &event, record_part);
}
CUresult CUDAAPI cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent* out) {
  return get_typed(node, CU_GRAPH_NODE_TYPE_EVENT_RECORD, out,
                   [](const CUgraphNodeParams& p, CUevent& o) { o = p.eventRecord.event; });
}
CUresult CUDAAPI cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event) {
  return set_typed(node, &event, record_part);
}
CUresult CUDAAPI cuGraphAddEventWaitNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                                         CUevent event) {
  return add_typed(out, graph, dependencies, count, &event, wait_part);
}
CUresult CUDAAPI cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent* out) {
  return get_typed(node, CU_GRAPH_NODE_TYPE_WAIT_EVENT, out,
                   [](const CUgraphNodeParams& p, CUevent& o) { o = p.eventWait.event; });
}
CUresult CUDAAPI cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event) {
  return set_typed(node, &event, wait_part);
}

CUresult CUDAAPI cuGraphAddMemAllocNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                                        CUDA_MEM_ALLOC_NODE_PARAMS* params) {
  if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
  CUgraphNodeParams all = of_type(CU_GRAPH_NODE_TYPE_MEM_ALLOC);
  all.alloc = {params->poolProps, params->accessDescs, params->accessDescCount, params->bytesize, 0};
  CUresult const result = add(out, graph, dependencies, nullptr, count, all);
  if (result == CUDA_SUCCESS) params->dptr = all.alloc.dptr;
  return result;
}
CUresult CUDAAPI cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS* out) {
  return get_typed(
      node, CU_GRAPH_NODE_TYPE_MEM_ALLOC, out, [](const CUgraphNodeParams& p, CUDA_MEM_ALLOC_NODE_PARAMS& o) {
        o = {p.alloc.poolProps, p.alloc.accessDescs, p.alloc.accessDescCount, p.alloc.bytesize, p.alloc.dptr};
      });
}
CUresult CUDAAPI cuGraphAddMemFreeNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies, size_t count,
                                       CUdeviceptr address) {
  CUgraphNodeParams params = of_type(CU_GRAPH_NODE_TYPE_MEM_FREE);
  params.free.dptr = address;
  return add(out, graph, dependencies, nullptr, count, params);
}
CUresult CUDAAPI cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr* out) {
  return get_typed(node, CU_GRAPH_NODE_TYPE_MEM_FREE, out,
                   [](const CUgraphNodeParams& p, CUdeviceptr& o) { o = p.free.dptr; });
}

CUresult CUDAAPI cuGraphAddBatchMemOpNode(CUgraphNode* out, CUgraph graph, const CUgraphNode* dependencies,
                                          size_t count, const CUDA_BATCH_MEM_OP_NODE_PARAMS* params) {
  return add_typed(out, graph, dependencies, count, params, batch_part);
}
CUresult CUDAAPI cuGraphBatchMemOpNodeGetParams(CUgraphNode node, CUDA_BATCH_MEM_OP_NODE_PARAMS* out) {
  return get_typed(node, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, out,
                   [](const CUgraphNodeParams& p, CUDA_BATCH_MEM_OP_NODE_PARAMS& o) {
                     o = {p.memOp.ctx, p.memOp.count, p.memOp.paramArray, p.memOp.flags};
                   });
}
CUresult CUDAAPI cuGraphBatchMemOpNodeSetParams(CUgraphNode node, const CUDA_BATCH_MEM_OP_NODE_PARAMS* params) {
  return set_typed(node, params, batch_part);
}

CUresult CUDAAPI cuGraphKernelNodeSetAttribute(CUgraphNode node, CUkernelNodeAttrID attribute,
                                               const CUkernelNodeAttrValue* value) {
  return with_node(node, [&](Call&) -> CUresult {
    return value == nullptr ? CUDA_ERROR_INVALID_VALUE : set_kernel_attribute(node->body, attribute, *value);
  });
}
CUresult CUDAAPI cuGraphKernelNodeGetAttribute(CUgraphNode node, CUkernelNodeAttrID attribute,
                                               CUkernelNodeAttrValue* value) {
  return with_node(node, [&](Call&) -> CUresult {
    if (value == nullptr || type_of(node->body.work) != CU_GRAPH_NODE_TYPE_KERNEL) return CUDA_ERROR_INVALID_VALUE;
    if (attribute < CU_LAUNCH_ATTRIBUTE_IGNORE || attribute > CU_LAUNCH_ATTRIBUTE_MAX) return CUDA_ERROR_INVALID_VALUE;
    auto const found = node->body.attributes.find(attribute);
    *value = found != node->body.attributes.end() ? found->second : CUkernelNodeAttrValue{};
    return CUDA_SUCCESS;
  });
}
CUresult CUDAAPI cuGraphKernelNodeCopyAttributes(CUgraphNode to, CUgraphNode from) {
  return with_node(to, [&](Call& call) -> CUresult {
    if (call.driver.graph.nodes.check(from) == nullptr || to->body.context != from->body.context)
      return CUDA_ERROR_INVALID_VALUE;
    if (type_of(to->body.work) != CU_GRAPH_NODE_TYPE_KERNEL || type_of(from->body.work) != CU_GRAPH_NODE_TYPE_KERNEL)
      return CUDA_ERROR_INVALID_VALUE;
    for (auto const& [attribute, value] : from->body.attributes)
      if (CUresult const wrong = set_kernel_attribute(to->body, attribute, value); wrong != CUDA_SUCCESS) return wrong;
    return CUDA_SUCCESS;
  });
}
