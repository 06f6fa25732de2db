// SPDX-License-Identifier: Apache-2.0
// Changing an executable graph: node by node, or all at once by a graph of the same shape.
#include <algorithm>
#include <unordered_map>

#include "softgpu/driver/graph_exec.h"
#include "softgpu/driver/graph_memory.h"
#include "softgpu/driver/graph_params.h"

using namespace tidemark;
using namespace tidemark::softgpu;

namespace {

using Reason = CUgraphExecUpdateResult;

template <class T>
const T* operation_of(const NodeBody& body) {
  auto const* const operation = std::get_if<Operation>(&body.work);
  return operation != nullptr ? std::get_if<T>(operation) : nullptr;
}

// -1: the host's.
int device_of(Driver& driver, std::uintptr_t address) {
  Block const* const block = driver.blocks.find(address);
  return block != nullptr && !block->is_host() ? block->device : -1;
}

int attribute_of(const NodeBody& body, int id, int CUlaunchAttributeValue::*member) {
  auto const found = body.attributes.find(id);
  return found != body.attributes.end() ? found->second.*member : 0;
}

Reason check_kernel(const NodeBody& before, const NodeBody& after, std::uint64_t flags) {
  auto const* const was = operation_of<KernelOp>(before);
  auto const* const is = operation_of<KernelOp>(after);
  // A library's work has no parameters that the program could compare.
  if (was == nullptr || is == nullptr) return CU_GRAPH_EXEC_UPDATE_SUCCESS;
  if (before.context != after.context) return CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE;
  if (was->launch.cooperative != is->launch.cooperative) return CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED;
  bool const priorities = (flags & CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY) != 0;
  auto const priority = [](const NodeBody& body) {
    return attribute_of(body, CU_LAUNCH_ATTRIBUTE_PRIORITY, &CUlaunchAttributeValue::priority);
  };
  return priorities && priority(before) != priority(after) ? CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED
                                                           : CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

Reason check_copy_change(Driver& driver, const CopyOp& was, const CopyOp& is) {
  bool const same = was.described->srcMemoryType == is.described->srcMemoryType &&
                    was.described->dstMemoryType == is.described->dstMemoryType &&
                    device_of(driver, was.source) == device_of(driver, is.source) &&
                    device_of(driver, was.destination) == device_of(driver, is.destination);
  return same && is.bytes() != 0 ? CU_GRAPH_EXEC_UPDATE_SUCCESS : CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
}

Reason check_set_change(Driver& driver, const SetOp& was, const SetOp& is) {
  bool const flat = was.height == 1 && is.height == 1;
  bool const same_shape = was.width == is.width && was.height == is.height && was.pitch == is.pitch &&
                          was.element_bytes == is.element_bytes;
  bool const same_device = device_of(driver, was.destination) == device_of(driver, is.destination);
  return same_device && (flat || same_shape) ? CU_GRAPH_EXEC_UPDATE_SUCCESS
                                             : CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
}

Reason check_batch(const BatchWork& was, const BatchWork& is) {
  bool const same = std::equal(was.operations.begin(), was.operations.end(), is.operations.begin(), is.operations.end(),
                               [](auto const& a, auto const& b) { return a.operation == b.operation; });
  return same ? CU_GRAPH_EXEC_UPDATE_SUCCESS : CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
}

// Whether the work of a node may become this.
Reason check_change(Driver& driver, const NodeBody& before, const NodeBody& after, std::uint64_t flags) {
  if (type_of(before.work) != type_of(after.work)) return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
  switch (type_of(before.work)) {
    case CU_GRAPH_NODE_TYPE_KERNEL: return check_kernel(before, after, flags);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
      return check_copy_change(driver, *operation_of<CopyOp>(before), *operation_of<CopyOp>(after));
    case CU_GRAPH_NODE_TYPE_MEMSET:
      return check_set_change(driver, *operation_of<SetOp>(before), *operation_of<SetOp>(after));
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
      return check_batch(std::get<BatchWork>(before.work), std::get<BatchWork>(after.work));
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
      return std::get<AllocWork>(before.work).allocation == std::get<AllocWork>(after.work).allocation
                 ? CU_GRAPH_EXEC_UPDATE_SUCCESS
                 : CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED;
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
      return std::get<FreeWork>(before.work).allocation == std::get<FreeWork>(after.work).allocation
                 ? CU_GRAPH_EXEC_UPDATE_SUCCESS
                 : CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED;
    default: return CU_GRAPH_EXEC_UPDATE_SUCCESS;
  }
}

// Pairs the nodes of the executable graph with those of a graph, from the exits upwards along the edges' order.
class Pairing {
 public:
  Pairing(Driver& driver, std::uint64_t flags) : driver_(driver), flags_(flags) {}
  CUgraphExecUpdateResultInfo failure{};

  bool match(ExecGraph& before, CUgraph after) {
    if (before.nodes.size() != after->nodes.size()) return fail(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
    std::unordered_map<const ExecNode*, CUgraphNode> pair;
    std::unordered_map<CUgraphNode, const ExecNode*> back;
    std::vector<ExecNode*> open;
    auto const join = [&](ExecNode* node, CUgraphNode with) {
      auto const [there, fresh] = pair.emplace(node, with);
      auto const [here, fresh_back] = back.emplace(with, node);
      if (fresh && fresh_back) open.push_back(node);
      return there->second == with && here->second == node;
    };
    std::vector<ExecNode*> const old_exits = exits(before);
    std::size_t next = 0;
    for (CUgraphNode const node : after->nodes) {
      if (!node->dependents.empty()) continue;
      if (next == old_exits.size()) return fail(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, node);
      join(old_exits[next++], node);
    }
    while (!open.empty()) {
      ExecNode* const node = open.back();
      open.pop_back();
      CUgraphNode const with = pair[node];
      if (node->dependencies.size() != with->dependencies.size())
        return fail(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, with);
      for (std::size_t i = 0; i < node->dependencies.size(); ++i)
        if (!join(&before.nodes[node->dependencies[i]], with->dependencies[i].node))
          return fail(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED, with, with->dependencies[i].node);
      if (!match_node(*node, with)) return false;
    }
    return pair.size() == before.nodes.size() || fail(CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
  }

  // All or nothing.
  void apply() {
    for (auto& [node, with] : changes_) {
      NodeBody body = with->body;
      if (auto* const child = std::get_if<ChildWork>(&body.work)) child->graph = nullptr;
      node->body = std::move(body);
    }
  }

 private:
  bool fail(Reason reason, CUgraphNode node = nullptr, CUgraphNode from = nullptr) {
    failure = {.result = reason, .errorNode = node, .errorFromNode = from};
    return false;
  }
  bool match_node(ExecNode& node, CUgraphNode with) {
    Reason const reason = check_change(driver_, node.body, with->body, flags_);
    if (reason != CU_GRAPH_EXEC_UPDATE_SUCCESS) return fail(reason, with);
    if (node.child != nullptr && !match(*node.child, std::get<ChildWork>(with->body.work).graph)) return false;
    changes_.emplace_back(&node, with);
    return true;
  }
  static std::vector<ExecNode*> exits(ExecGraph& graph) {
    std::vector<bool> followed(graph.nodes.size());
    for (ExecNode const& node : graph.nodes)
      for (std::size_t const d : node.dependencies) followed[d] = true;
    std::vector<ExecNode*> found;
    for (std::size_t i = 0; i < graph.nodes.size(); ++i)
      if (!followed[i]) found.push_back(&graph.nodes[i]);
    return found;
  }

  Driver& driver_;
  std::uint64_t flags_;
  std::vector<std::pair<ExecNode*, CUgraphNode>> changes_;
};

CUgraphExecUpdateResultInfo update(Call& call, CUgraphExec exec, CUgraph graph) {
  if (call.driver.graph.graphs.check(graph) == nullptr || graph->capturing)
    return {.result = CU_GRAPH_EXEC_UPDATE_ERROR, .errorNode = nullptr, .errorFromNode = nullptr};
  auto const* const inside = graph->parent != nullptr ? std::get_if<ChildWork>(&graph->parent->body.work) : nullptr;
  if (inside != nullptr && inside->moved)
    return {.result = CU_GRAPH_EXEC_UPDATE_ERROR, .errorNode = nullptr, .errorFromNode = nullptr};
  Pairing pairing(call.driver, exec->flags);
  if (!pairing.match(exec->snapshot, graph)) return pairing.failure;
  pairing.apply();
  // The new work may need other objects; what launches under way need they hold themselves.
  auto objects = std::make_shared<UserReferences>(call.driver);
  objects->add_all(*exec->user_objects);
  objects->add_all(graph->user_objects);
  exec->user_objects = std::move(objects);
  return {.result = CU_GRAPH_EXEC_UPDATE_SUCCESS, .errorNode = nullptr, .errorFromNode = nullptr};
}

CUresult update_executable(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo* out) {
  return with_executable(exec, [&](Call& call) -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *out = update(call, exec, graph);
    switch (out->result) {
      case CU_GRAPH_EXEC_UPDATE_SUCCESS: return CUDA_SUCCESS;
      case CU_GRAPH_EXEC_UPDATE_ERROR: return CUDA_ERROR_INVALID_VALUE;
      default: return CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE;
    }
  });
}

// Single nodes have tighter rules for copies and sets than a whole update.
bool is_flat_change(const NodeBody& before, const NodeBody& after) {
  if (auto const* const was = operation_of<CopyOp>(before)) {
    auto const& is = *operation_of<CopyOp>(after);
    return was->height == 1 && was->depth == 1 && is.height == 1 && is.depth == 1;
  }
  return true;
}

CUresult set_child(Call& call, ExecNode& node, CUgraph graph, std::uint64_t flags) {
  if (node.child == nullptr || call.driver.graph.graphs.check(graph) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  Pairing pairing(call.driver, flags);
  if (!pairing.match(*node.child, graph)) return CUDA_ERROR_INVALID_VALUE;
  pairing.apply();
  return CUDA_SUCCESS;
}

CUresult set(CUgraphExec exec, CUgraphNode handle, const CUgraphNodeParams& params) {
  return with_executable(exec, [&](Call& call) -> CUresult {
    Driver& driver = call.driver;
    if (driver.graph.nodes.check(handle) == nullptr) return CUDA_ERROR_INVALID_VALUE;
    ExecNode* node = find_node(exec->snapshot, handle->id);
    if (node == nullptr || type_of(node->body.work) != params.type) return CUDA_ERROR_INVALID_VALUE;
    if (is_memory(node->body.work)) return CUDA_ERROR_NOT_SUPPORTED;
    if (params.type == CU_GRAPH_NODE_TYPE_GRAPH) return set_child(call, *node, params.graph.graph, exec->flags);
    std::uint64_t const id = handle->id;
    NodeBody body{.attributes = node->body.attributes};
    if (CUresult const wrong = describe_work(call, params, &body); wrong != CUDA_SUCCESS) return wrong;
    // Describing a cooperative kernel lets go of the lock.
    if (driver.graph.execs.check(exec) == nullptr) return CUDA_ERROR_INVALID_VALUE;
    node = find_node(exec->snapshot, id);
    if (node == nullptr || check_change(driver, node->body, body, exec->flags) != CU_GRAPH_EXEC_UPDATE_SUCCESS ||
        !is_flat_change(node->body, body))
      return CUDA_ERROR_INVALID_VALUE;
    node->body = std::move(body);
    return CUDA_SUCCESS;
  });
}

template <class Params, class Part>
CUresult set_typed(CUgraphExec exec, CUgraphNode node, const Params* params, Part part) {
  return params == nullptr ? CUDA_ERROR_INVALID_VALUE : set(exec, node, part(*params));
}

// Only these can be switched off.
ExecNode* find_switchable(Driver& driver, CUgraphExec exec, CUgraphNode handle) {
  if (driver.graph.nodes.check(handle) == nullptr) return nullptr;
  ExecNode* const node = find_node(exec->snapshot, handle->id);
  if (node == nullptr) return nullptr;
  CUgraphNodeType const type = type_of(node->body.work);
  bool const can =
      type == CU_GRAPH_NODE_TYPE_KERNEL || type == CU_GRAPH_NODE_TYPE_MEMCPY || type == CU_GRAPH_NODE_TYPE_MEMSET;
  return can ? node : nullptr;
}

}  // namespace

CUresult CUDAAPI cuGraphExecUpdate_v2(CUgraphExec exec, CUgraph graph, CUgraphExecUpdateResultInfo* out) {
  return update_executable(exec, graph, out);
}
CUresult CUDAAPI cuGraphExecUpdate(CUgraphExec exec, CUgraph graph, CUgraphNode* error_node,
                                   CUgraphExecUpdateResult* reason) {
  CUgraphExecUpdateResultInfo info{};
  CUresult const result = update_executable(exec, graph, &info);
  if (error_node != nullptr) *error_node = info.errorNode;
  if (reason != nullptr) *reason = info.result;
  return result;
}

CUresult CUDAAPI cuGraphExecNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraphNodeParams* params) {
  return !is_clean(params) ? CUDA_ERROR_INVALID_VALUE : set(exec, node, *params);
}
CUresult CUDAAPI cuGraphExecKernelNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                const CUDA_KERNEL_NODE_PARAMS_v1* params) {
  return set_typed(exec, node, params, kernel_part<CUDA_KERNEL_NODE_PARAMS_v1>);
}
CUresult CUDAAPI cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
                                                   const CUDA_KERNEL_NODE_PARAMS_v2* params) {
  return set_typed(exec, node, params, kernel_part<CUDA_KERNEL_NODE_PARAMS_v2>);
}
CUresult CUDAAPI cuGraphExecMemcpyNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D* params,
                                                CUcontext context) {
  return set_typed(exec, node, params, [=](const CUDA_MEMCPY3D& p) { return copy_part(p, context); });
}
CUresult CUDAAPI cuGraphExecMemsetNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                const CUDA_MEMSET_NODE_PARAMS* params, CUcontext context) {
  return set_typed(exec, node, params, [=](const CUDA_MEMSET_NODE_PARAMS& p) { return set_part(p, context); });
}
CUresult CUDAAPI cuGraphExecHostNodeSetParams(CUgraphExec exec, CUgraphNode node, const CUDA_HOST_NODE_PARAMS* params) {
  return set_typed(exec, node, params, host_part);
}
CUresult CUDAAPI cuGraphExecChildGraphNodeSetParams(CUgraphExec exec, CUgraphNode node, CUgraph child) {
  return set_typed(exec, node, &child, child_part);
}
CUresult CUDAAPI cuGraphExecEventRecordNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) {
  return set_typed(exec, node, &event, record_part);
}
CUresult CUDAAPI cuGraphExecEventWaitNodeSetEvent(CUgraphExec exec, CUgraphNode node, CUevent event) {
  return set_typed(exec, node, &event, wait_part);
}
CUresult CUDAAPI cuGraphExecBatchMemOpNodeSetParams(CUgraphExec exec, CUgraphNode node,
                                                    const CUDA_BATCH_MEM_OP_NODE_PARAMS* params) {
  return set_typed(exec, node, params, batch_part);
}

CUresult CUDAAPI cuGraphNodeSetEnabled(CUgraphExec exec, CUgraphNode handle, unsigned enabled) {
  return with_executable(exec, [&](Call& call) -> CUresult {
    ExecNode* const node = find_switchable(call.driver, exec, handle);
    if (node == nullptr) return CUDA_ERROR_INVALID_VALUE;
    node->enabled = enabled != 0;
    return CUDA_SUCCESS;
  });
}
CUresult CUDAAPI cuGraphNodeGetEnabled(CUgraphExec exec, CUgraphNode handle, unsigned* enabled) {
  return with_executable(exec, [&](Call& call) -> CUresult {
    ExecNode const* const node = find_switchable(call.driver, exec, handle);
    if (node == nullptr || enabled == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *enabled = node->enabled ? 1 : 0;
    return CUDA_SUCCESS;
  });
}
