// SPDX-License-Identifier: Apache-2.0
// Executable graphs: instantiation, flags, destruction.
#include "softgpu/driver/graph_exec.h"

#include <algorithm>
#include <cstdio>
#include <unordered_map>

#include "softgpu/driver/graph_memory.h"

using namespace tidemark;
using namespace tidemark::softgpu;

namespace tidemark::softgpu {

ExecGraph take_snapshot(const CUgraph_st& graph) {
  ExecGraph made;
  std::unordered_map<CUgraphNode, std::size_t> place;
  for (CUgraphNode const node : graph.nodes) place.emplace(node, place.size());
  made.nodes.reserve(graph.nodes.size());
  for (CUgraphNode const node : graph.nodes) {
    ExecNode& copy = made.nodes.emplace_back();
    copy.origin = node->id;
    copy.body = node->body;
    for (Edge const& e : node->dependencies) copy.dependencies.push_back(place.at(e.node));
    if (auto* const child = std::get_if<ChildWork>(&copy.body.work)) {
      copy.child = std::make_unique<ExecGraph>(take_snapshot(*child->graph));
      child->graph = nullptr;  // the program's, and it may go
    }
  }
  return made;
}

CUgraph graph_of(Driver& driver, const ExecGraph& snapshot) {
  CUgraph const graph = make_graph(driver);
  for (ExecNode const& node : snapshot.nodes) {
    NodeBody body = node.body;
    if (!node.enabled) body.work = Operation{EmptyOp{}};
    CUgraphNode const made = add_node(driver, {.graph = graph}, std::move(body));
    if (node.child == nullptr) continue;
    CUgraph const child = graph_of(driver, *node.child);
    child->parent = made;
    std::get<ChildWork>(made->body.work) = {.graph = child};
  }
  for (std::size_t i = 0; i < snapshot.nodes.size(); ++i)
    for (std::size_t const d : snapshot.nodes[i].dependencies) {
      graph->nodes[d]->dependents.push_back({graph->nodes[i], {}});
      graph->nodes[i]->dependencies.push_back({graph->nodes[d], {}});
    }
  return graph;
}

ExecNode* find_node(ExecGraph& graph, std::uint64_t origin) {
  for (ExecNode& node : graph.nodes) {
    if (node.origin == origin) return &node;
    if (node.child != nullptr)
      if (ExecNode* const inside = find_node(*node.child, origin)) return inside;
  }
  return nullptr;
}

void destroy_executable(Driver& driver, CUgraphExec exec) {
  // Launches under way own what they need; the lanes serve others once they are idle.
  for (CUstream const lane : exec->lanes)
    if (lane != nullptr) lane->context->spare_lanes.push_back(lane);
  for (auto& [device, backing] : exec->backings) drop_backing(driver, device, backing);
  CUgraph const graph = driver.graph.graphs.check(exec->graph);
  if (graph != nullptr && graph->id == exec->graph_id) --graph->executables;
  driver.graph.execs.destroy(exec);
}

void drop_executables(Driver& driver, CUcontext context) {
  std::vector<CUgraphExec> gone;
  driver.graph.execs.for_each([&](CUgraphExec_st& exec) {
    auto const& lanes = exec.plan.lanes;
    auto const& own = exec.lanes;
    if (exec.context == context || std::find(lanes.begin(), lanes.end(), context) != lanes.end() ||
        std::any_of(own.begin(), own.end(), [&](CUstream s) { return s != nullptr && s->context == context; }))
      gone.push_back(&exec);
  });
  for (CUgraphExec const exec : gone) destroy_executable(driver, exec);
}

}  // namespace tidemark::softgpu

namespace {

struct Instantiation {
  CUgraphExec exec = nullptr;
  CUresult result = CUDA_SUCCESS;
  CUgraphInstantiateResult reason = CUDA_GRAPH_INSTANTIATE_SUCCESS;
  CUgraphNode node = nullptr;
};

Instantiation failed(CUresult result) {
  return {.result = result, .reason = CUDA_GRAPH_INSTANTIATE_ERROR};
}

void add_user_objects(const CUgraph_st& graph, UserReferences& all) {
  all.add_all(graph.user_objects);
  for (CUgraphNode const node : graph.nodes)
    if (auto const* const child = std::get_if<ChildWork>(&node->body.work)) add_user_objects(*child->graph, all);
}

CUgraphNode node_with_id(Driver& driver, std::uint64_t id) {
  CUgraphNode found = nullptr;
  driver.graph.nodes.for_each([&](CUgraphNode_st& node) {
    if (node.id == id) found = &node;
  });
  return found;
}

CUresult check_flags(std::uint64_t flags) {
  constexpr std::uint64_t kKnown = CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH |
                                   CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD | CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH |
                                   CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
  if ((flags & ~kKnown) != 0) return CUDA_ERROR_INVALID_VALUE;
  if ((flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH) == 0) return CUDA_SUCCESS;
  if ((flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH) != 0) return CUDA_ERROR_INVALID_VALUE;
  return static_cast<CUresult>(softgpu_not_supported("a graph's launch from the device"));
}

bool fits_devices(Driver& driver, const Plan& plan) {
  return std::all_of(plan.backing.begin(), plan.backing.end(), [&](auto const& need) {
    return need.second <= driver.device(need.first)->ledger->usage().capacity_bytes;
  });
}

Instantiation instantiate(Call& call, CUgraph graph, std::uint64_t flags) {
  Driver& driver = call.driver;
  if (driver.graph.graphs.check(graph) == nullptr || graph->capturing) return failed(CUDA_ERROR_INVALID_VALUE);
  auto const* const inside = graph->parent != nullptr ? std::get_if<ChildWork>(&graph->parent->body.work) : nullptr;
  if (inside != nullptr && inside->moved) return failed(CUDA_ERROR_INVALID_VALUE);
  if (CUresult const wrong = check_flags(flags); wrong != CUDA_SUCCESS) return failed(wrong);
  // The addresses of memory nodes are the graph's: two executable graphs would use them at once.
  if (graph->executables != 0 && has_memory_nodes(*graph)) return failed(CUDA_ERROR_INVALID_VALUE);
  ExecGraph snapshot = take_snapshot(*graph);
  Planned planned = make_plan(snapshot);
  if (planned.in_cycle != nullptr)
    return {.result = CUDA_ERROR_INVALID_VALUE,
            .reason = CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE,
            .node = node_with_id(driver, planned.in_cycle->origin)};
  if (!fits_devices(driver, planned.plan)) return failed(CUDA_ERROR_OUT_OF_MEMORY);
  CUgraphExec const exec = driver.graph.execs.create();
  exec->id = driver.next_id();
  exec->graph = graph;
  exec->graph_id = graph->id;
  exec->context = call.context;
  exec->flags = flags & ~std::uint64_t{CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD};
  exec->snapshot = std::move(snapshot);
  exec->plan = std::move(planned.plan);
  exec->lanes.resize(exec->plan.lanes.size());
  exec->user_objects = std::make_shared<UserReferences>(driver);
  add_user_objects(*graph, *exec->user_objects);
  ++graph->executables;
  return {.exec = exec};
}

CUresult instantiate_with_log(CUgraphExec* out, CUgraph graph, CUgraphNode* error_node, char* log, size_t log_bytes) {
  return with_context([&](Call& call) -> CUresult {
    if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
    Instantiation const made = instantiate(call, graph, 0);
    if (error_node != nullptr) *error_node = made.node;
    if (log != nullptr && log_bytes != 0)
      std::snprintf(log, log_bytes, "%s", made.node != nullptr ? "the graph has a cycle" : "");
    if (made.result == CUDA_SUCCESS) *out = made.exec;
    return made.result;
  });
}

}  // namespace

CUresult CUDAAPI cuGraphInstantiate(CUgraphExec* out, CUgraph graph, CUgraphNode* error_node, char* log,
                                    size_t log_bytes) {
  return instantiate_with_log(out, graph, error_node, log, log_bytes);
}

CUresult CUDAAPI cuGraphInstantiate_v2(CUgraphExec* out, CUgraph graph, CUgraphNode* error_node, char* log,
                                       size_t log_bytes) {
  return instantiate_with_log(out, graph, error_node, log, log_bytes);
}

CUresult CUDAAPI cuGraphInstantiateWithFlags(CUgraphExec* out, CUgraph graph, unsigned long long flags) {
  return with_context([&](Call& call) -> CUresult {
    // The upload needs a stream, which only the form with parameters has.
    if (out == nullptr || (flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD) != 0) return CUDA_ERROR_INVALID_VALUE;
    Instantiation const made = instantiate(call, graph, flags);
    if (made.result == CUDA_SUCCESS) *out = made.exec;
    return made.result;
  });
}

CUresult CUDAAPI cuGraphInstantiateWithParams(CUgraphExec* out, CUgraph graph, CUDA_GRAPH_INSTANTIATE_PARAMS* params) {
  return with_context([&](Call& call) -> CUresult {
    if (params == nullptr) return CUDA_ERROR_INVALID_VALUE;
    bool const uploads = (params->flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD) != 0;
    CUstream const stream = uploads ? stream_of(call, params->hUploadStream) : nullptr;
    Instantiation made = out == nullptr                 ? failed(CUDA_ERROR_INVALID_VALUE)
                         : uploads && stream == nullptr ? failed(CUDA_ERROR_INVALID_HANDLE)
                                                        : instantiate(call, graph, params->flags);
    if (made.result == CUDA_SUCCESS && uploads) {
      if (CUresult const wrong = upload_graph(call, made.exec, stream); wrong != CUDA_SUCCESS) {
        destroy_executable(call.driver, made.exec);
        made = failed(wrong);
      }
    }
    params->hErrNode_out = made.node;
    params->result_out = made.reason;
    if (made.result == CUDA_SUCCESS) *out = made.exec;
    return made.result;
  });
}

CUresult CUDAAPI cuGraphExecGetFlags(CUgraphExec exec, cuuint64_t* flags) {
  return with_executable(exec, [&](Call&) -> CUresult {
    if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
    *flags = exec->flags;
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuGraphExecDestroy(CUgraphExec exec) {
  return with_driver([&](Call& call) -> CUresult {
    if (call.driver.graph.execs.check(exec) == nullptr) return CUDA_ERROR_INVALID_VALUE;
    destroy_executable(call.driver, exec);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuGraphLaunch(CUgraphExec exec, CUstream handle) {
  return with_executable(exec, [&](Call& call) -> CUresult {
    CUstream const stream = stream_of(call, handle);
    if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    fault_slow(call.driver, SlowCall::GraphLaunch);
    return launch_graph(call, exec, stream);
  });
}

CUresult CUDAAPI cuGraphUpload(CUgraphExec exec, CUstream handle) {
  return with_executable(exec, [&](Call& call) -> CUresult {
    CUstream const stream = stream_of(call, handle);
    return stream == nullptr ? CUDA_ERROR_INVALID_HANDLE : upload_graph(call, exec, stream);
  });
}
