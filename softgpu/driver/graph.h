// SPDX-License-Identifier: Apache-2.0
// Graphs as the program builds them: nodes, what each of them does, and the edges between them.
//
// A node's work is an Operation, as a stream would be given it, or one of the kinds that only graphs have. Nodes belong
// to their graph, a child graph belongs to its node; edges are kept at both ends in the order in which they were added,
// since an update pairs them by that order. All of it belongs to the engine's lock.
#pragma once
#include <cstring>
#include <map>
#include <set>
#include <span>

#include "softgpu/driver/operation.h"

namespace tidemark::softgpu {

struct ChildWork {
  CUgraph graph = nullptr;
  bool moved = false;  // the program gave the graph itself, not a copy of it
};
struct EventWork {
  CUevent event = nullptr;
  bool waits = false;
};
struct BatchWork {
  std::vector<CUstreamBatchMemOpParams> operations;
  unsigned flags = 0;
};
struct AllocWork {
  std::shared_ptr<GraphAllocation> allocation;
};
struct FreeWork {
  std::shared_ptr<GraphAllocation> allocation;
};

using Work = std::variant<Operation, ChildWork, EventWork, BatchWork, AllocWork, FreeWork>;
CUgraphNodeType type_of(const Work& work);
inline bool is_memory(const Work& work) {
  return std::holds_alternative<AllocWork>(work) || std::holds_alternative<FreeWork>(work);
}

// All of a node but its place: what an executable graph keeps of it, and what an update replaces.
struct NodeBody {
  Work work;
  CUcontext context = nullptr;  // null: whichever the launch stream has
  std::map<int, CUlaunchAttributeValue> attributes;
  std::vector<MemoryOp> marks;  // what an allocator above said about its blocks right after the node's capture
};

struct Edge {
  CUgraphNode node;
  CUgraphEdgeData data;
};

// What a user object's references are counted by: the graph, its clones and executable graphs each hold their own.
class UserReferences {
 public:
  UserReferences() = default;
  explicit UserReferences(Driver& driver) : driver_(&driver) {}
  UserReferences(UserReferences&& other) noexcept : driver_(other.driver_), held_(std::move(other.held_)) {
    other.held_.clear();
  }
  UserReferences& operator=(UserReferences&& other) noexcept {
    std::swap(driver_, other.driver_);
    std::swap(held_, other.held_);
    return *this;
  }
  ~UserReferences();
  // With `take` false the references are the caller's that become this holder's.
  void add(CUuserObject object, unsigned count, bool take);
  // False: it holds fewer.
  bool release(CUuserObject object, unsigned count);
  void add_all(const UserReferences& other);

 private:
  Driver* driver_ = nullptr;
  std::map<CUuserObject, unsigned> held_;
};

}  // namespace tidemark::softgpu

struct CUuserObject_st {
  void* pointer = nullptr;
  CUhostFn destroy = nullptr;
  std::uint64_t references = 0;
};

struct CUgraphNode_st {
  CUgraph graph = nullptr;
  std::uint64_t id = 0;
  std::uint64_t cloned_from = 0;  // the original's id
  tidemark::softgpu::NodeBody body;
  std::vector<tidemark::softgpu::Edge> dependencies, dependents;
  // What the program was given by the last query of a kernel's parameters: the memory is the node's.
  std::vector<void*> argument_pointers;
  std::array<void*, 5> extra{};
  std::size_t packed_bytes = 0;
};

struct CUgraph_st {
  std::uint64_t id = 0;
  std::uint64_t cloned_from = 0;
  std::vector<CUgraphNode> nodes;  // in the order of their adding
  CUgraphNode parent = nullptr;    // the node whose child graph this is
  bool capturing = false;
  std::size_t memory_nodes = 0;  // its own, not its children's
  std::size_t executables = 0;
  tidemark::softgpu::UserReferences user_objects;
};

namespace tidemark::softgpu {

struct GraphObjects {
  HandlePool<CUgraph_st> graphs;
  HandlePool<CUgraphNode_st> nodes{1u << 22};
  HandlePool<CUgraphExec_st> execs;
  HandlePool<CUuserObject_st> user_objects;
};

CUgraph make_graph(Driver& driver);
// With its nodes and child graphs.
void destroy_graph(Driver& driver, CUgraph graph);
CUgraph clone_graph(Driver& driver, CUgraph original);
// Whether it or a child graph allocates or frees.
bool has_memory_nodes(const CUgraph_st& graph);

// Where a new node goes.
struct NewNode {
  CUgraph graph = nullptr;
  std::span<const CUgraphNode> dependencies;
  const CUgraphEdgeData* edges = nullptr;  // null: all plain
};
// The dependencies are checked: nodes of the graph, none twice.
CUresult check_place(Driver& driver, const NewNode& place);
CUgraphNode add_node(Driver& driver, const NewNode& place, NodeBody body);
void remove_edges(CUgraphNode node);

// Work out of the API's description of a node, checked; and the way back. `node` keeps what the description points to.
CUresult describe_work(Call& call, const CUgraphNodeParams& params, NodeBody* out);
CUresult params_of(Driver& driver, CUgraphNode node, CUgraphNodeParams* out);
// A copy as the general form would describe it.
CUDA_MEMCPY3D describe_copy(Driver& driver, const CopyOp& op);
CUresult set_kernel_attribute(NodeBody& body, int attribute, const CUlaunchAttributeValue& value);

inline bool is_plain(const CUgraphEdgeData& data) {
  static constexpr CUgraphEdgeData kPlain{};
  return std::memcmp(&data, &kPlain, sizeof data) == 0;
}
bool is_valid_edge(const CUgraphEdgeData& data);

template <class F>
CUresult with_graph(CUgraph graph, F f) {
  return with_driver([&](Call& call) -> CUresult {
    return call.driver.graph.graphs.check(graph) == nullptr ? CUDA_ERROR_INVALID_VALUE : f(call);
  });
}
template <class F>
CUresult with_node(CUgraphNode node, F f) {
  return with_driver([&](Call& call) -> CUresult {
    return call.driver.graph.nodes.check(node) == nullptr ? CUDA_ERROR_INVALID_VALUE : f(call);
  });
}

}  // namespace tidemark::softgpu
