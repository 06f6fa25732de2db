// SPDX-License-Identifier: Apache-2.0
// Graphs as the program builds them.
#include <unistd.h>

#include <fstream>
#include <sstream>

#include "tests/unit/softgpu/driver/graph_fixture.h"

namespace tidemark::softgpu::test {
namespace {

using GraphStructure = GraphTest;

TEST_F(GraphStructure, RefusesBadArguments) {
  CUgraph graph = nullptr;
  EXPECT_EQ(cuGraphCreate(nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphCreate(&graph, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphDestroy(nullptr), CUDA_ERROR_INVALID_VALUE);
  OK(create_graph(&graph));
  CUgraphNode node = nullptr;
  CUgraphNode const foreign = reinterpret_cast<CUgraphNode>(graph);
  EXPECT_EQ(cuGraphAddEmptyNode(&node, graph, &foreign, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphAddEmptyNode(&node, graph, nullptr, 1), CUDA_ERROR_INVALID_VALUE);
  CUgraphNode const a = empty_node(graph);
  CUgraphNode const twice[] = {a, a};
  EXPECT_EQ(cuGraphAddEmptyNode(&node, graph, twice, 2), CUDA_ERROR_INVALID_VALUE);
  CUDA_HOST_NODE_PARAMS host{};
  EXPECT_EQ(cuGraphAddHostNode(&node, graph, nullptr, 0, &host), CUDA_ERROR_INVALID_VALUE);
  CUDA_MEMSET_NODE_PARAMS set{};
  set.dst = data;
  set.elementSize = 3;
  set.width = set.height = 1;
  EXPECT_EQ(cuGraphAddMemsetNode(&node, graph, nullptr, 0, &set, context), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(cuGraphDestroy(graph));
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphStructure, ListsNodesRootsAndEdges) {
  CUgraph graph = nullptr;
  OK(create_graph(&graph));
  CUgraphNode const a = empty_node(graph), b = empty_node(graph, {a}), c = empty_node(graph, {a}),
                    d = empty_node(graph, {b, c});
  EXPECT_EQ(nodes_of(graph), (std::vector<CUgraphNode>{a, b, c, d}));
  CUgraphNode list[6];
  std::size_t n = 6;
  OK(cuGraphGetRootNodes(graph, list, &n));
  EXPECT_EQ(n, 1u);
  EXPECT_EQ(list[0], a);
  EXPECT_EQ(list[1], nullptr);
  CUgraphNode from[6], to[6];
  n = 6;
  OK(cuGraphGetEdges(graph, from, to, nullptr, &n));
  EXPECT_EQ(n, 4u);
  n = 2;
  OK(cuGraphNodeGetDependencies(d, list, nullptr, &n));
  EXPECT_EQ(n, 2u);
  EXPECT_EQ(list[0], b);
  EXPECT_EQ(list[1], c);
  OK(cuGraphNodeGetDependentNodes(a, nullptr, nullptr, &n));
  EXPECT_EQ(n, 2u);
  EXPECT_OK(cuGraphDestroy(graph));
}

TEST_F(GraphStructure, AddsAndRemovesEdges) {
  CUgraph graph = nullptr;
  OK(create_graph(&graph));
  CUgraphNode const a = empty_node(graph), b = empty_node(graph);
  OK(cuGraphAddDependencies(graph, &a, &b, nullptr, 1));
  EXPECT_EQ(cuGraphAddDependencies(graph, &a, &b, nullptr, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphAddDependencies(graph, &a, &a, nullptr, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphRemoveDependencies(graph, &b, &a, nullptr, 1), CUDA_ERROR_INVALID_VALUE);
  OK(cuGraphRemoveDependencies(graph, &a, &b, nullptr, 1));
  std::size_t n = 9;
  OK(cuGraphGetEdges(graph, nullptr, nullptr, nullptr, &n));
  EXPECT_EQ(n, 0u);
  EXPECT_OK(cuGraphDestroy(graph));
}

TEST_F(GraphStructure, EdgeDataIsNotLostInSilence) {
  CUgraph graph = nullptr;
  OK(create_graph(&graph));
  CUgraphNode const a = add_node(graph, {}, data, 1), b = add_node(graph, {}, data, 2);
  CUgraphEdgeData edge{};
  edge.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
  EXPECT_EQ(cuGraphAddDependencies(graph, &a, &b, &edge, 1), CUDA_ERROR_INVALID_VALUE);
  edge.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
  OK(cuGraphAddDependencies(graph, &a, &b, &edge, 1));
  CUgraphNode from = nullptr, to = nullptr;
  std::size_t n = 1;
  EXPECT_EQ(cuGraphGetEdges(graph, &from, &to, nullptr, &n), CUDA_ERROR_LOSSY_QUERY);
  CUgraphEdgeData found{};
  OK(cuGraphGetEdges(graph, &from, &to, &found, &n));
  EXPECT_EQ(found.from_port, CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC);
  EXPECT_OK(cuGraphDestroy(graph));
}

TEST_F(GraphStructure, DestroyedNodeLeavesNoEdges) {
  CUgraph graph = nullptr;
  OK(create_graph(&graph));
  CUgraphNode const a = empty_node(graph), b = empty_node(graph, {a}), c = empty_node(graph, {b});
  OK(cuGraphDestroyNode(b));
  EXPECT_EQ(nodes_of(graph), (std::vector<CUgraphNode>{a, c}));
  std::size_t n = 9;
  OK(cuGraphNodeGetDependencies(c, nullptr, nullptr, &n));
  EXPECT_EQ(n, 0u);
  CUgraphNodeType type;
  EXPECT_EQ(cuGraphNodeGetType(b, &type), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(cuGraphDestroy(graph));
}

TEST_F(GraphStructure, CloneIsIndependent) {
  CUgraph graph = nullptr, clone = nullptr;
  OK(create_graph(&graph));
  CUgraphNode const a = add_node(graph, {}, data, 1), b = add_node(graph, {a}, data, 10);
  OK(cuGraphClone(&clone, graph));
  CUgraphNode found = nullptr;
  OK(cuGraphNodeFindInClone(&found, b, clone));
  EXPECT_EQ(found, nodes_of(clone)[1]);
  EXPECT_EQ(cuGraphNodeFindInClone(&found, b, graph), CUDA_ERROR_INVALID_VALUE);
  OK(cuGraphDestroyNode(found));
  EXPECT_EQ(cuGraphNodeFindInClone(&found, b, clone), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(node_count(graph), 2u);
  CUgraphExec const exec = instantiate(clone);
  OK(cuGraphDestroy(graph));
  OK(cuGraphDestroy(clone));
  OK(cuGraphLaunch(exec, stream));
  OK(cuStreamSynchronize(stream));
  EXPECT_TRUE(all(data, 1));
  EXPECT_OK(cuGraphExecDestroy(exec));
}

TEST_F(GraphStructure, CycleIsFoundAtInstantiation) {
  CUgraph graph = nullptr;
  OK(create_graph(&graph));
  CUgraphNode const a = empty_node(graph), b = empty_node(graph, {a}), c = empty_node(graph, {b});
  OK(cuGraphAddDependencies(graph, &c, &b, nullptr, 1));
  CUgraphExec exec = nullptr;
  EXPECT_EQ(cuGraphInstantiate(&exec, graph, 0), CUDA_ERROR_INVALID_VALUE);
  CUDA_GRAPH_INSTANTIATE_PARAMS params{};
  EXPECT_EQ(cuGraphInstantiateWithParams(&exec, graph, &params), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(params.result_out, CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE);
  EXPECT_TRUE(params.hErrNode_out == b || params.hErrNode_out == c);
  EXPECT_OK(cuGraphDestroy(graph));
}

TEST_F(GraphStructure, ParametersComeBackAsTheyWereSet) {
  CUgraph graph = nullptr;
  OK(create_graph(&graph));
  CUgraphNode const kernel = add_node(graph, {}, data, 42);
  CUDA_KERNEL_NODE_PARAMS k{};
  OK(cuGraphKernelNodeGetParams(kernel, &k));
  EXPECT_EQ(k.func, add);
  EXPECT_EQ(k.gridDimX, 4u);
  ASSERT_NE(k.kernelParams, nullptr);
  EXPECT_EQ(*static_cast<CUdeviceptr*>(k.kernelParams[0]), data);
  EXPECT_EQ(*static_cast<int*>(k.kernelParams[2]), 42);

  CUDA_MEMSET_NODE_PARAMS set{};
  set.dst = data;
  set.value = 7;
  set.elementSize = 4;
  set.width = 16;
  set.height = 1;
  CUgraphNode node = nullptr;
  OK(cuGraphAddMemsetNode(&node, graph, nullptr, 0, &set, context));
  CUDA_MEMSET_NODE_PARAMS set_back{};
  OK(cuGraphMemsetNodeGetParams(node, &set_back));
  EXPECT_EQ(set_back.dst, data);
  EXPECT_EQ(set_back.value, 7u);
  EXPECT_EQ(set_back.width, 16u);

  int host[4] = {};
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = data;
  copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.dstHost = host;
  copy.WidthInBytes = sizeof host;
  copy.Height = copy.Depth = 1;
  OK(cuGraphAddMemcpyNode(&node, graph, nullptr, 0, &copy, context));
  CUDA_MEMCPY3D copy_back{};
  OK(cuGraphMemcpyNodeGetParams(node, &copy_back));
  EXPECT_EQ(copy_back.dstHost, host);
  EXPECT_EQ(copy_back.srcDevice, data);
  EXPECT_EQ(cuGraphMemsetNodeGetParams(node, &set_back), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(cuGraphDestroy(graph));
}

TEST_F(GraphStructure, KernelArgumentsAsOneBuffer) {
  CUgraph graph = nullptr;
  OK(create_graph(&graph));
  struct {
    CUdeviceptr to;
    int n, value;
  } packed{data, kCount, 9};
  std::size_t bytes = sizeof packed;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
  CUDA_KERNEL_NODE_PARAMS p = kernel_params(add, nullptr);
  p.extra = extra;
  CUgraphNode node = nullptr;
  OK(cuGraphAddKernelNode(&node, graph, nullptr, 0, &p));
  CUDA_KERNEL_NODE_PARAMS back{};
  OK(cuGraphKernelNodeGetParams(node, &back));
  EXPECT_EQ(back.kernelParams, nullptr);
  ASSERT_NE(back.extra, nullptr);
  EXPECT_EQ(*static_cast<std::size_t*>(back.extra[3]), bytes);
  // What is read can be set again.
  OK(cuGraphKernelNodeSetParams(node, &back));
  CUgraphExec const exec = instantiate(graph);
  OK(cuGraphLaunch(exec, stream));
  OK(cuStreamSynchronize(stream));
  EXPECT_TRUE(all(data, 9));
  EXPECT_OK(cuGraphExecDestroy(exec));
  EXPECT_OK(cuGraphDestroy(graph));
}

TEST_F(GraphStructure, KernelAttributes) {
  CUgraph graph = nullptr;
  OK(create_graph(&graph));
  CUgraphNode const a = add_node(graph, {}, data, 1), b = add_node(graph, {}, data, 2), c = empty_node(graph);
  CUkernelNodeAttrValue value{};
  value.priority = -3;
  OK(cuGraphKernelNodeSetAttribute(a, CU_LAUNCH_ATTRIBUTE_PRIORITY, &value));
  OK(cuGraphKernelNodeCopyAttributes(b, a));
  CUkernelNodeAttrValue found{};
  OK(cuGraphKernelNodeGetAttribute(b, CU_LAUNCH_ATTRIBUTE_PRIORITY, &found));
  EXPECT_EQ(found.priority, -3);
  EXPECT_EQ(cuGraphKernelNodeGetAttribute(c, CU_LAUNCH_ATTRIBUTE_PRIORITY, &found), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphKernelNodeCopyAttributes(c, a), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(cuGraphDestroy(graph));
}

TEST_F(GraphStructure, GeneralAddNodeOfEveryType) {
  CUgraph graph = nullptr, child = nullptr;
  CUevent event = nullptr;
  OK(create_graph(&graph));
  OK(create_graph(&child));
  OK(cuEventCreate(&event, CU_EVENT_DEFAULT));
  auto const put = [&](auto fill_in, CUgraphNodeType type) {
    CUgraphNodeParams p{};
    p.type = type;
    fill_in(p);
    CUgraphNode node = nullptr;
    EXPECT_OK(cuGraphAddNode(&node, graph, nullptr, nullptr, 0, &p)) << type;
    EXPECT_EQ(type_of(node), type);
    return node;
  };
  put([](CUgraphNodeParams&) {}, CU_GRAPH_NODE_TYPE_EMPTY);
  put([&](CUgraphNodeParams& p) { p.graph.graph = child; }, CU_GRAPH_NODE_TYPE_GRAPH);
  put([&](CUgraphNodeParams& p) { p.eventRecord.event = event; }, CU_GRAPH_NODE_TYPE_EVENT_RECORD);
  put([&](CUgraphNodeParams& p) { p.eventWait.event = event; }, CU_GRAPH_NODE_TYPE_WAIT_EVENT);
  put([](CUgraphNodeParams& p) { p.host.fn = [](void*) {}; }, CU_GRAPH_NODE_TYPE_HOST);
  CUstreamBatchMemOpParams word{};
  word.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  word.writeValue.address = data;
  word.writeValue.value = 5;
  CUgraphNode const batch = put(
      [&](CUgraphNodeParams& p) {
        p.memOp.ctx = context;
        p.memOp.count = 1;
        p.memOp.paramArray = &word;
      },
      CU_GRAPH_NODE_TYPE_BATCH_MEM_OP);
  CUDA_BATCH_MEM_OP_NODE_PARAMS back{};
  OK(cuGraphBatchMemOpNodeGetParams(batch, &back));
  EXPECT_EQ(back.count, 1u);
  CUgraphNodeParams p{};
  p.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
  CUgraphNode node = nullptr;
  EXPECT_EQ(cuGraphAddNode(&node, graph, nullptr, nullptr, 0, &p), CUDA_ERROR_NOT_SUPPORTED);
  CUgraphExec const exec = instantiate(graph);
  OK(cuGraphLaunch(exec, stream));
  OK(cuStreamSynchronize(stream));
  EXPECT_EQ(read(data)[0], 5);
  EXPECT_OK(cuGraphExecDestroy(exec));
  EXPECT_OK(cuGraphDestroy(graph));
  EXPECT_OK(cuGraphDestroy(child));
}

TEST_F(GraphStructure, ChildGraphIsACopyOwnedByItsNode) {
  CUgraph graph = nullptr, child = nullptr, inside = nullptr;
  OK(create_graph(&graph));
  OK(create_graph(&child));
  add_node(child, {}, data, 5);
  CUgraphNode node = nullptr;
  OK(cuGraphAddChildGraphNode(&node, graph, nullptr, 0, child));
  OK(cuGraphDestroy(child));
  OK(cuGraphChildGraphNodeGetGraph(node, &inside));
  EXPECT_EQ(cuGraphDestroy(inside), CUDA_ERROR_INVALID_VALUE);
  // Changes to the graph inside are the node's.
  add_node(inside, nodes_of(inside), data, 6);
  CUgraphExec const exec = instantiate(graph);
  OK(cuGraphLaunch(exec, stream));
  OK(cuStreamSynchronize(stream));
  EXPECT_TRUE(all(data, 11));
  EXPECT_OK(cuGraphExecDestroy(exec));
  EXPECT_OK(cuGraphDestroy(graph));
}

TEST_F(GraphStructure, DotFileNamesNodesAndEdges) {
  CUgraph graph = nullptr, child = nullptr;
  OK(create_graph(&graph));
  OK(create_graph(&child));
  CUgraphNode const a = add_node(graph, {}, data, 1);
  host_node(
      child, {}, [](void*) {}, nullptr);
  CUgraphNode node = nullptr;
  OK(cuGraphAddChildGraphNode(&node, graph, &a, 1, child));
  std::string const path = ::testing::TempDir() + "graph_" + std::to_string(::getpid()) + ".dot";
  OK(cuGraphDebugDotPrint(graph, path.c_str(), CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE));
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  for (const char* const part : {"digraph", "graph_add", "<<<4,1,1, 64,1,1, 0>>>", "HOST", "GRAPH", " -> "})
    EXPECT_NE(text.str().find(part), std::string::npos) << part;
  ::unlink(path.c_str());
  EXPECT_EQ(cuGraphDebugDotPrint(graph, "/nonexistent/graph.dot", 0), CUDA_ERROR_OPERATING_SYSTEM);
  EXPECT_EQ(cuGraphDebugDotPrint(graph, nullptr, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(cuGraphDestroy(graph));
  EXPECT_OK(cuGraphDestroy(child));
}

}  // namespace
}  // namespace tidemark::softgpu::test
