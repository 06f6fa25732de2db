// SPDX-License-Identifier: Apache-2.0
// Executable graphs: a snapshot of a graph, and the plan by which a launch queues it.
//
// The snapshot keeps the nodes in the order of their adding with their edges in order, child graphs inside; updates
// replace bodies, never the shape. The plan is the snapshot with child graphs unfolded, in a topological order; each
// step stands in a lane, a chain of steps that follow one another. A launch queues one lane behind the work of its
// stream and the others on streams of ours, with waits where edges cross (docs/decisions/0005-graph-launch.md). What is
// queued refers to neither: an executable graph may be changed or destroyed while it runs. All under the engine's lock.
#pragma once
#include "softgpu/driver/graph.h"

namespace tidemark::softgpu {

struct ExecGraph;

struct ExecNode {
  std::uint64_t origin = 0;  // id of the node it was made from
  NodeBody body;
  bool enabled = true;
  std::vector<std::size_t> dependencies;  // by place in the graph
  std::unique_ptr<ExecGraph> child;
};

struct ExecGraph {
  std::vector<ExecNode> nodes;
};

struct Step {
  ExecNode* node = nullptr;  // null: the begin or the end of a child graph
  std::vector<std::size_t> dependencies;
  std::size_t lane = 0;
};

struct Plan {
  std::vector<Step> steps;
  std::vector<CUcontext> lanes;          // whose work each lane holds; null: any
  std::vector<std::size_t> memory;       // steps that allocate or free
  std::map<int, std::uint64_t> backing;  // physical bytes by device
};

// Makes the plan; the node of a cycle when there is one.
struct Planned {
  Plan plan;
  const ExecNode* in_cycle = nullptr;
};
Planned make_plan(ExecGraph& graph);

}  // namespace tidemark::softgpu

struct CUgraphExec_st {
  std::uint64_t id = 0;
  std::uint64_t graph_id = 0;
  CUgraph graph = nullptr;  // may be gone: graph_id tells
  CUcontext context = nullptr;
  std::uint64_t flags = 0;
  tidemark::softgpu::ExecGraph snapshot;
  tidemark::softgpu::Plan plan;
  std::vector<CUstream> lanes;                    // as many as the plan's; null until a launch needs it
  tidemark::Ref<tidemark::softgpu::Ticket> last;  // the newest launch's end: launches come one after another
  std::map<int, std::shared_ptr<tidemark::softgpu::GraphBacking>> backings;
  std::shared_ptr<tidemark::softgpu::UserReferences> user_objects;  // also kept by launches under way
};

namespace tidemark::softgpu {

ExecGraph take_snapshot(const CUgraph_st& graph);
// A graph with the snapshot's work, for a launch that is captured.
CUgraph graph_of(Driver& driver, const ExecGraph& snapshot);
ExecNode* find_node(ExecGraph& graph, std::uint64_t origin);
CUresult launch_graph(Call& call, CUgraphExec exec, CUstream stream);
CUresult upload_graph(Call& call, CUgraphExec exec, CUstream stream);
void destroy_executable(Driver& driver, CUgraphExec exec);
// The context goes, and with it the executable graphs that need it.
void drop_executables(Driver& driver, CUcontext context);

template <class F>
CUresult with_executable(CUgraphExec exec, F f) {
  return with_context([&](Call& call) -> CUresult {
    return call.driver.graph.execs.check(exec) == nullptr ? CUDA_ERROR_INVALID_VALUE : f(call);
  });
}

}  // namespace tidemark::softgpu
