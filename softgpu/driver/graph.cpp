// SPDX-License-Identifier: Apache-2.0
// Graphs: making, copying, walking, destroying; their edges.
#include "softgpu/driver/graph.h"

#include <algorithm>
#include <unordered_map>

#include "softgpu/driver/graph_memory.h"

using namespace tidemark;
using namespace tidemark::softgpu;

namespace tidemark::softgpu {
namespace {

struct TypeOf {
  CUgraphNodeType operator()(const Operation& operation) const { return std::visit(*this, operation); }
  CUgraphNodeType operator()(const KernelOp&) const { return CU_GRAPH_NODE_TYPE_KERNEL; }
  CUgraphNodeType operator()(const LibraryOp&) const { return CU_GRAPH_NODE_TYPE_KERNEL; }
  CUgraphNodeType operator()(const CopyOp&) const { return CU_GRAPH_NODE_TYPE_MEMCPY; }
  CUgraphNodeType operator()(const SetOp&) const { return CU_GRAPH_NODE_TYPE_MEMSET; }
  CUgraphNodeType operator()(const HostOp&) const { return CU_GRAPH_NODE_TYPE_HOST; }
  CUgraphNodeType operator()(const EmptyOp&) const { return CU_GRAPH_NODE_TYPE_EMPTY; }
  CUgraphNodeType operator()(const MemoryOp&) const { return CU_GRAPH_NODE_TYPE_EMPTY; }
  CUgraphNodeType operator()(const WordOp&) const { return CU_GRAPH_NODE_TYPE_BATCH_MEM_OP; }
  CUgraphNodeType operator()(const ChildWork&) const { return CU_GRAPH_NODE_TYPE_GRAPH; }
  CUgraphNodeType operator()(const EventWork& work) const {
    return work.waits ? CU_GRAPH_NODE_TYPE_WAIT_EVENT : CU_GRAPH_NODE_TYPE_EVENT_RECORD;
  }
  CUgraphNodeType operator()(const BatchWork&) const { return CU_GRAPH_NODE_TYPE_BATCH_MEM_OP; }
  CUgraphNodeType operator()(const AllocWork&) const { return CU_GRAPH_NODE_TYPE_MEM_ALLOC; }
  CUgraphNodeType operator()(const FreeWork&) const { return CU_GRAPH_NODE_TYPE_MEM_FREE; }
};

void connect(CUgraphNode from, CUgraphNode to, const CUgraphEdgeData& data) {
  from->dependents.push_back({to, data});
  to->dependencies.push_back({from, data});
}

auto find_edge(std::vector<Edge>& edges, CUgraphNode node) {
  return std::find_if(edges.begin(), edges.end(), [node](const Edge& e) { return e.node == node; });
}

void copy_nodes(Driver& driver, CUgraph original, CUgraph clone) {
  std::unordered_map<CUgraphNode, CUgraphNode> twin;
  for (CUgraphNode const node : original->nodes) {
    CUgraphNode const copy = add_node(driver, {.graph = clone}, node->body);
    copy->cloned_from = node->id;
    twin[node] = copy;
    if (auto* const child = std::get_if<ChildWork>(&copy->body.work)) {
      child->graph = clone_graph(driver, child->graph);
      child->graph->parent = copy;
    }
  }
  for (CUgraphNode const node : original->nodes)
    for (Edge const& e : node->dependencies) twin[node]->dependencies.push_back({twin[e.node], e.data});
  for (CUgraphNode const node : original->nodes)
    for (Edge const& e : node->dependents) twin[node]->dependents.push_back({twin[e.node], e.data});
}

}  // namespace

CUgraphNodeType type_of(const Work& work) {
  return std::visit(TypeOf{}, work);
}

bool is_valid_edge(const CUgraphEdgeData& data) {
  if (data.to_port != 0 || data.type > CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC) return false;
  if (data.from_port > CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER) return false;
  if ((data.type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC) != (data.from_port != CU_GRAPH_KERNEL_NODE_PORT_DEFAULT))
    return false;
  return std::all_of(std::begin(data.reserved), std::end(data.reserved), [](unsigned char c) { return c == 0; });
}

CUgraph make_graph(Driver& driver) {
  CUgraph const graph = driver.graph.graphs.create();
  graph->id = driver.next_id();
  graph->user_objects = UserReferences(driver);
  return graph;
}

void destroy_graph(Driver& driver, CUgraph graph) {
  for (CUgraphNode const node : graph->nodes) {
    if (auto const* const child = std::get_if<ChildWork>(&node->body.work)) destroy_graph(driver, child->graph);
    driver.graph.nodes.destroy(node);
  }
  driver.graph.graphs.destroy(graph);
}

CUgraph clone_graph(Driver& driver, CUgraph original) {
  CUgraph const clone = make_graph(driver);
  clone->cloned_from = original->id;
  clone->user_objects.add_all(original->user_objects);
  copy_nodes(driver, original, clone);
  return clone;
}

bool has_memory_nodes(const CUgraph_st& graph) {
  if (graph.memory_nodes != 0) return true;
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](CUgraphNode node) {
    auto const* const child = std::get_if<ChildWork>(&node->body.work);
    return child != nullptr && has_memory_nodes(*child->graph);
  });
}

CUresult check_place(Driver& driver, const NewNode& place) {
  std::set<CUgraphNode> seen;
  for (std::size_t i = 0; i < place.dependencies.size(); ++i) {
    CUgraphNode const node = place.dependencies[i];
    if (driver.graph.nodes.check(node) == nullptr || node->graph != place.graph) return CUDA_ERROR_INVALID_VALUE;
    if (!seen.insert(node).second) return CUDA_ERROR_INVALID_VALUE;
    if (place.edges != nullptr && !is_valid_edge(place.edges[i])) return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUgraphNode add_node(Driver& driver, const NewNode& place, NodeBody body) {
  CUgraphNode const node = driver.graph.nodes.create();
  node->graph = place.graph;
  node->id = driver.next_id();
  node->body = std::move(body);
  if (is_memory(node->body.work)) ++place.graph->memory_nodes;
  place.graph->nodes.push_back(node);
  for (std::size_t i = 0; i < place.dependencies.size(); ++i)
    connect(place.dependencies[i], node, place.edges != nullptr ? place.edges[i] : CUgraphEdgeData{});
  return node;
}

void remove_edges(CUgraphNode node) {
  for (Edge const& e : node->dependencies) e.node->dependents.erase(find_edge(e.node->dependents, node));
  for (Edge const& e : node->dependents) e.node->dependencies.erase(find_edge(e.node->dependencies, node));
}

}  // namespace tidemark::softgpu

namespace {

// Lists of the API: with no array the count is asked for; a longer array is filled up with null.
template <class T, class Get>
void fill(T* out, std::size_t capacity, std::size_t available, Get get) {
  if (out == nullptr) return;
  for (std::size_t i = 0; i < capacity; ++i) out[i] = i < available ? get(i) : T{};
}

CUresult list_nodes(const std::vector<CUgraphNode>& nodes, CUgraphNode* out, std::size_t* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  fill(out, *count, nodes.size(), [&](std::size_t i) { return nodes[i]; });
  *count = out == nullptr ? nodes.size() : std::min(*count, nodes.size());
  return CUDA_SUCCESS;
}

struct FullEdge {
  CUgraphNode from, to;
  CUgraphEdgeData data;
};

struct EdgeArrays {
  CUgraphNode* from;
  CUgraphNode* to;
  CUgraphEdgeData* data;
  std::size_t* count;
};

CUresult list_edges(const std::vector<FullEdge>& edges, const EdgeArrays& out) {
  bool const wants_nodes = out.from != nullptr || out.to != nullptr;
  if (out.count == nullptr || (out.data != nullptr && !wants_nodes)) return CUDA_ERROR_INVALID_VALUE;
  bool const plain = std::all_of(edges.begin(), edges.end(), [](const FullEdge& e) { return is_plain(e.data); });
  if (wants_nodes && out.data == nullptr && !plain) return CUDA_ERROR_LOSSY_QUERY;
  fill(out.from, *out.count, edges.size(), [&](std::size_t i) { return edges[i].from; });
  fill(out.to, *out.count, edges.size(), [&](std::size_t i) { return edges[i].to; });
  fill(out.data, *out.count, edges.size(), [&](std::size_t i) { return edges[i].data; });
  *out.count = wants_nodes ? std::min(*out.count, edges.size()) : edges.size();
  return CUDA_SUCCESS;
}

CUresult get_edges(CUgraph graph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data, std::size_t* count) {
  return with_graph(graph, [&](Call&) -> CUresult {
    if ((from == nullptr) != (to == nullptr)) return CUDA_ERROR_INVALID_VALUE;
    std::vector<FullEdge> edges;
    for (CUgraphNode const node : graph->nodes)
      for (Edge const& e : node->dependents) edges.push_back({node, e.node, e.data});
    return list_edges(edges, {from, to, data, count});
  });
}

// The other ends of a node's edges.
CUresult get_neighbours(CUgraphNode node, bool dependencies, CUgraphNode* out, CUgraphEdgeData* data,
                        std::size_t* count) {
  return with_node(node, [&](Call&) -> CUresult {
    std::vector<FullEdge> edges;
    for (Edge const& e : dependencies ? node->dependencies : node->dependents) edges.push_back({e.node, node, e.data});
    return list_edges(edges, {out, nullptr, data, count});
  });
}

bool are_nodes_of(Driver& driver, CUgraph graph, CUgraphNode from, CUgraphNode to) {
  for (CUgraphNode const node : {from, to})
    if (driver.graph.nodes.check(node) == nullptr || node->graph != graph) return false;
  return from != to;
}

CUresult change_edges(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, const CUgraphEdgeData* data,
                      std::size_t count, bool add) {
  return with_graph(graph, [&](Call& call) -> CUresult {
    if (count == 0) return CUDA_SUCCESS;
    if (from == nullptr || to == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (!add && has_memory_nodes(*graph)) return CUDA_ERROR_INVALID_VALUE;
    // All or nothing.
    std::set<std::pair<CUgraphNode, CUgraphNode>> seen;
    for (std::size_t i = 0; i < count; ++i) {
      CUgraphEdgeData const edge = data != nullptr ? data[i] : CUgraphEdgeData{};
      if (!are_nodes_of(call.driver, graph, from[i], to[i]) || !seen.emplace(from[i], to[i]).second)
        return CUDA_ERROR_INVALID_VALUE;
      auto const found = find_edge(from[i]->dependents, to[i]);
      bool const exists = found != from[i]->dependents.end();
      if (add ? exists || !is_valid_edge(edge) : !exists || std::memcmp(&found->data, &edge, sizeof edge) != 0)
        return CUDA_ERROR_INVALID_VALUE;
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (add) {
        connect(from[i], to[i], data != nullptr ? data[i] : CUgraphEdgeData{});
      } else {
        from[i]->dependents.erase(find_edge(from[i]->dependents, to[i]));
        to[i]->dependencies.erase(find_edge(to[i]->dependencies, from[i]));
      }
    }
    return CUDA_SUCCESS;
  });
}

}  // namespace

CUresult CUDAAPI cuGraphCreate(CUgraph* out, unsigned flags) {
  return with_driver([&](Call& call) -> CUresult {
    if (out == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
    *out = make_graph(call.driver);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuGraphDestroy(CUgraph graph) {
  return with_graph(graph, [&](Call& call) -> CUresult {
    if (graph->parent != nullptr || graph->capturing) return CUDA_ERROR_INVALID_VALUE;
    destroy_graph(call.driver, graph);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuGraphClone(CUgraph* out, CUgraph original) {
  return with_graph(original, [&](Call& call) -> CUresult {
    if (out == nullptr || has_memory_nodes(*original)) return CUDA_ERROR_INVALID_VALUE;
    *out = clone_graph(call.driver, original);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuGraphNodeFindInClone(CUgraphNode* out, CUgraphNode original, CUgraph clone) {
  return with_graph(clone, [&](Call& call) -> CUresult {
    if (out == nullptr || call.driver.graph.nodes.check(original) == nullptr) return CUDA_ERROR_INVALID_VALUE;
    if (clone->cloned_from != original->graph->id) return CUDA_ERROR_INVALID_VALUE;
    for (CUgraphNode const node : clone->nodes) {
      if (node->cloned_from != original->id) continue;
      *out = node;
      return CUDA_SUCCESS;
    }
    return CUDA_ERROR_INVALID_VALUE;
  });
}

CUresult CUDAAPI cuGraphDestroyNode(CUgraphNode node) {
  return with_node(node, [&](Call& call) -> CUresult {
    CUgraph const graph = node->graph;
    if (graph->capturing || has_memory_nodes(*graph)) return CUDA_ERROR_INVALID_VALUE;
    remove_edges(node);
    std::erase(graph->nodes, node);
    if (auto const* const child = std::get_if<ChildWork>(&node->body.work)) destroy_graph(call.driver, child->graph);
    call.driver.graph.nodes.destroy(node);
    return CUDA_SUCCESS;
  });
}

CUresult CUDAAPI cuGraphGetNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  return with_graph(graph, [&](Call&) { return list_nodes(graph->nodes, nodes, count); });
}

CUresult CUDAAPI cuGraphGetRootNodes(CUgraph graph, CUgraphNode* nodes, size_t* count) {
  return with_graph(graph, [&](Call&) {
    std::vector<CUgraphNode> roots;
    for (CUgraphNode const node : graph->nodes)
      if (node->dependencies.empty()) roots.push_back(node);
    return list_nodes(roots, nodes, count);
  });
}

CUresult CUDAAPI cuGraphGetEdges(CUgraph graph, CUgraphNode* from, CUgraphNode* to, size_t* count) {
  return get_edges(graph, from, to, nullptr, count);
}
CUresult CUDAAPI cuGraphGetEdges_v2(CUgraph graph, CUgraphNode* from, CUgraphNode* to, CUgraphEdgeData* data,
                                    size_t* count) {
  return get_edges(graph, from, to, data, count);
}
CUresult CUDAAPI cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode* out, size_t* count) {
  return get_neighbours(node, true, out, nullptr, count);
}
CUresult CUDAAPI cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode* out, CUgraphEdgeData* data,
                                               size_t* count) {
  return get_neighbours(node, true, out, data, count);
}
CUresult CUDAAPI cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode* out, size_t* count) {
  return get_neighbours(node, false, out, nullptr, count);
}
CUresult CUDAAPI cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode* out, CUgraphEdgeData* data,
                                                 size_t* count) {
  return get_neighbours(node, false, out, data, count);
}
CUresult CUDAAPI cuGraphAddDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to, size_t count) {
  return change_edges(graph, from, to, nullptr, count, true);
}
CUresult CUDAAPI cuGraphAddDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                           const CUgraphEdgeData* data, size_t count) {
  return change_edges(graph, from, to, data, count, true);
}
CUresult CUDAAPI cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                           size_t count) {
  return change_edges(graph, from, to, nullptr, count, false);
}
CUresult CUDAAPI cuGraphRemoveDependencies_v2(CUgraph graph, const CUgraphNode* from, const CUgraphNode* to,
                                              const CUgraphEdgeData* data, size_t count) {
  return change_edges(graph, from, to, data, count, false);
}
