// SPDX-License-Identifier: Apache-2.0
// Changing executable graphs.
#include "tests/unit/softgpu/driver/graph_fixture.h"

namespace tidemark::softgpu::test {
namespace {

class GraphUpdate : public GraphTest {
 protected:
  CUgraph chain(std::vector<int> values) {
    CUgraph graph = nullptr;
    EXPECT_OK(create_graph(&graph));
    std::vector<CUgraphNode> after;
    for (int const v : values) after = {add_node(graph, after, data, v)};
    return graph;
  }
  CUgraphExecUpdateResultInfo refused(CUgraphExec exec, CUgraph graph) {
    CUgraphExecUpdateResultInfo info{};
    EXPECT_EQ(cuGraphExecUpdate(exec, graph, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    return info;
  }
};

TEST_F(GraphUpdate, WholeGraphOfTheSameShape) {
  CUgraph const graph = chain({1, 2, 3}), changed = chain({10, 20, 30});
  CUgraphExec const exec = instantiate(graph);
  OK(cuGraphLaunch(exec, stream));  // a launch under way keeps its old values
  CUgraphExecUpdateResultInfo info{};
  OK(cuGraphExecUpdate(exec, changed, &info));
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
  OK(cuGraphDestroy(changed));
  OK(cuGraphLaunch(exec, stream));
  OK(cuStreamSynchronize(stream));
  EXPECT_TRUE(all(data, 66));
  EXPECT_OK(cuGraphExecDestroy(exec));
  EXPECT_OK(cuGraphDestroy(graph));
}

TEST_F(GraphUpdate, ReasonsForRefusal) {
  CUgraph const graph = chain({1, 2});
  CUgraphExec const exec = instantiate(graph);
  CUgraphExecUpdateResultInfo info = refused(exec, chain({1, 2, 3}));
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
  EXPECT_EQ(info.errorNode, nullptr);

  CUgraph loose = nullptr;
  OK(create_graph(&loose));
  add_node(loose, {}, data, 1);
  add_node(loose, {}, data, 2);
  info = refused(exec, loose);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
  EXPECT_NE(info.errorNode, nullptr);

  CUgraph typed = nullptr;
  OK(create_graph(&typed));
  CUgraphNode const first = empty_node(typed);
  add_node(typed, {first}, data, 2);
  info = refused(exec, typed);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED);
  EXPECT_EQ(info.errorNode, first);

  CUgraph const attributed = chain({1, 2});
  CUkernelNodeAttrValue value{};
  value.cooperative = 1;
  CUgraphNode const changed = nodes_of(attributed)[1];
  OK(cuGraphKernelNodeSetAttribute(changed, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &value));
  info = refused(exec, attributed);
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_ATTRIBUTES_CHANGED);
  EXPECT_EQ(info.errorNode, changed);

  // Nothing of a refused update has happened.
  OK(cuGraphLaunch(exec, stream));
  OK(cuStreamSynchronize(stream));
  EXPECT_TRUE(all(data, 3));
}

TEST_F(GraphUpdate, SetsAndCopiesKeepTheirShape) {
  CUgraph graph = nullptr;
  OK(create_graph(&graph));
  CUDA_MEMSET_NODE_PARAMS set{};
  set.dst = data;
  set.value = 1;
  set.elementSize = 4;
  set.width = 8;
  set.height = 2;
  set.pitch = 64;
  CUgraphNode wide = nullptr, flat = nullptr;
  OK(cuGraphAddMemsetNode(&wide, graph, nullptr, 0, &set, context));
  CUDA_MEMSET_NODE_PARAMS row = set;
  row.height = 1;
  OK(cuGraphAddMemsetNode(&flat, graph, &wide, 1, &row, context));
  CUgraphExec const exec = instantiate(graph);
  set.width = 4;
  EXPECT_EQ(cuGraphExecMemsetNodeSetParams(exec, wide, &set, context), CUDA_ERROR_INVALID_VALUE);
  row.value = 9;
  row.width = 2;
  OK(cuGraphExecMemsetNodeSetParams(exec, flat, &row, context));
  OK(cuGraphLaunch(exec, stream));
  OK(cuStreamSynchronize(stream));
  auto const values = read(data);
  EXPECT_EQ(values[0], 9);
  EXPECT_EQ(values[1], 9);
  EXPECT_EQ(values[2], 1);
  EXPECT_EQ(values[16], 1);
  EXPECT_OK(cuGraphExecDestroy(exec));
  EXPECT_OK(cuGraphDestroy(graph));
}

TEST_F(GraphUpdate, SingleNodesAndNodesOfChildGraphs) {
  CUgraph const inner = chain({1});
  CUgraph graph = nullptr, inside = nullptr;
  OK(create_graph(&graph));
  CUgraphNode child = nullptr;
  OK(cuGraphAddChildGraphNode(&child, graph, nullptr, 0, inner));
  CUgraphNode const after = add_node(graph, {child}, data, 10);
  OK(cuGraphChildGraphNodeGetGraph(child, &inside));
  CUgraphExec const exec = instantiate(graph);
  CUdeviceptr to = data;
  int n = kCount, value = 200;
  void* arguments[] = {&to, &n, &value};
  CUDA_KERNEL_NODE_PARAMS const p = kernel_params(add, arguments);
  OK(cuGraphExecKernelNodeSetParams(exec, after, &p));
  value = 3000;
  OK(cuGraphExecKernelNodeSetParams(exec, nodes_of(inside)[0], &p));
  OK(cuGraphLaunch(exec, stream));
  OK(cuStreamSynchronize(stream));
  EXPECT_TRUE(all(data, 3200));
  // The child as a whole.
  CUgraph const other_inner = chain({5}), longer = chain({5, 6});
  OK(cuGraphExecChildGraphNodeSetParams(exec, child, other_inner));
  EXPECT_EQ(cuGraphExecChildGraphNodeSetParams(exec, child, longer), CUDA_ERROR_INVALID_VALUE);
  OK(cuGraphLaunch(exec, stream));
  OK(cuStreamSynchronize(stream));
  EXPECT_TRUE(all(data, 3405));
  EXPECT_EQ(cuGraphExecKernelNodeSetParams(exec, child, &p), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphExecKernelNodeSetParams(exec, nodes_of(inner)[0], &p), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(cuGraphExecDestroy(exec));
}

TEST_F(GraphUpdate, NodeParametersChangeTheGraphOnly) {
  CUgraph const graph = chain({1});
  CUgraphExec const before = instantiate(graph);
  CUdeviceptr to = data;
  int n = kCount, value = 50;
  void* arguments[] = {&to, &n, &value};
  CUDA_KERNEL_NODE_PARAMS const p = kernel_params(add, arguments);
  OK(cuGraphKernelNodeSetParams(nodes_of(graph)[0], &p));
  CUgraphExec const after = instantiate(graph);
  OK(cuGraphLaunch(before, stream));
  OK(cuGraphLaunch(after, stream));
  OK(cuStreamSynchronize(stream));
  EXPECT_TRUE(all(data, 51));
}

}  // namespace
}  // namespace tidemark::softgpu::test
