// SPDX-License-Identifier: Apache-2.0
// Memory nodes: addresses, lives, physical memory.
#include "tests/unit/softgpu/driver/graph_fixture.h"

namespace tidemark::softgpu::test {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

class GraphMemory : public GraphTest {
 protected:
  void SetUp() override {
    GraphTest::SetUp();
    OK(cuDeviceGraphMemTrim(0));
    cuuint64_t zero = 0;
    OK(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &zero));
    OK(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH, &zero));
    OK(create_graph(&graph));
  }
  CUgraphNode copy_node(std::vector<CUgraphNode> after, CUdeviceptr to, CUdeviceptr from) {
    CUDA_MEMCPY3D p{};
    p.srcMemoryType = p.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    p.srcDevice = from;
    p.dstDevice = to;
    p.WidthInBytes = kCount * sizeof(int);
    p.Height = p.Depth = 1;
    CUgraphNode node = nullptr;
    EXPECT_OK(cuGraphAddMemcpyNode(&node, graph, after.data(), after.size(), &p, context));
    return node;
  }
  CUgraphNode set_node(std::vector<CUgraphNode> after, CUdeviceptr to, unsigned value) {
    CUDA_MEMSET_NODE_PARAMS p{};
    p.dst = to;
    p.value = value;
    p.elementSize = 4;
    p.width = kCount;
    p.height = 1;
    CUgraphNode node = nullptr;
    EXPECT_OK(cuGraphAddMemsetNode(&node, graph, after.data(), after.size(), &p, context));
    return node;
  }
  void alloc_and_free(CUgraph in, std::size_t bytes) {
    CUdeviceptr p = 0;
    CUgraphNode const node = alloc_node(in, {}, bytes, &p);
    free_node(in, {node}, p);
  }
  static std::uint64_t used() { return attribute(CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT); }
  static std::uint64_t reserved() { return attribute(CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT); }
  void sync() { EXPECT_OK(cuStreamSynchronize(stream)); }

  CUgraph graph = nullptr;
};

TEST_F(GraphMemory, AllocatedAndFreedInTheGraph) {
  CUdeviceptr p = 0;
  CUgraphNode const a = alloc_node(graph, {}, 4 * kMiB, &p);
  ASSERT_NE(p, 0u);
  CUgraphNode const s = set_node({a}, p, 6), k = add_node(graph, {s}, p, 1), c = copy_node({k}, data, p);
  free_node(graph, {c}, p);
  std::size_t const before = free_bytes();
  CUgraphExec const exec = instantiate(graph);
  EXPECT_EQ(free_bytes(), before);  // nothing is taken before the first launch
  OK(cuGraphLaunch(exec, stream));
  EXPECT_EQ(before - free_bytes(), 4 * kMiB);
  EXPECT_EQ(used(), 4 * kMiB);
  EXPECT_EQ(reserved(), 4 * kMiB);
  for (int i = 0; i < 3; ++i) OK(cuGraphLaunch(exec, stream));
  sync();
  EXPECT_TRUE(all(data, 7));
  EXPECT_EQ(before - free_bytes(), 4 * kMiB);  // kept between launches
  // From outside it is not there.
  EXPECT_EQ(cuMemFree(p), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemsetD8Async(p, 0, 16, stream), CUDA_ERROR_INVALID_VALUE);
  OK(cuGraphExecDestroy(exec));
  EXPECT_EQ(used(), 0u);
  EXPECT_EQ(reserved(), 4 * kMiB);  // cached for the next graph
  OK(cuDeviceGraphMemTrim(0));
  EXPECT_EQ(reserved(), 0u);
  EXPECT_EQ(free_bytes(), before);
  EXPECT_EQ(attribute(CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH), 4 * kMiB);
  EXPECT_OK(cuGraphDestroy(graph));
}

TEST_F(GraphMemory, UnfreedAllocationIsTheProgramsUntilItFreesIt) {
  CUdeviceptr p = 0;
  CUgraphNode const a = alloc_node(graph, {}, 2 * kMiB, &p);
  set_node({a}, p, 3);
  CUgraphExec const exec = instantiate(graph);
  OK(cuGraphLaunch(exec, stream));
  OK(launch_scale_add(stream, data, p, 1));
  EXPECT_EQ(cuGraphLaunch(exec, stream), CUDA_ERROR_INVALID_VALUE);
  OK(cuMemFreeAsync(p, stream));
  EXPECT_EQ(cuMemFreeAsync(p, stream), CUDA_ERROR_INVALID_VALUE);
  OK(cuGraphLaunch(exec, stream));
  OK(launch_scale_add(stream, data, p, 1));
  sync();
  EXPECT_TRUE(all(data, 6));
  OK(cuMemFree(p));
  EXPECT_EQ(cuMemFree(p), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(cuGraphExecDestroy(exec));
  EXPECT_OK(cuGraphDestroy(graph));
}

TEST_F(GraphMemory, AllocationOutlivesItsGraph) {
  CUdeviceptr p = 0;
  CUgraphNode const a = alloc_node(graph, {}, 2 * kMiB, &p);
  set_node({a}, p, 9);
  CUgraphExec const exec = instantiate(graph);
  OK(cuGraphLaunch(exec, stream));
  OK(cuGraphExecDestroy(exec));
  OK(cuGraphDestroy(graph));
  OK(cuDeviceGraphMemTrim(0));
  EXPECT_EQ(reserved(), 2 * kMiB);
  sync();
  EXPECT_TRUE(all(p, 9));
  OK(cuMemFree(p));
  OK(cuDeviceGraphMemTrim(0));
  EXPECT_EQ(reserved(), 0u);
}

TEST_F(GraphMemory, AutoFreeOnLaunch) {
  CUdeviceptr p = 0;
  CUgraphNode const a = alloc_node(graph, {}, 2 * kMiB, &p);
  set_node({a}, p, 2);
  CUgraphExec const exec = instantiate(graph, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
  for (int i = 0; i < 4; ++i) {
    OK(cuGraphLaunch(exec, stream));
    OK(launch_scale_add(stream, data, p, 1));
  }
  sync();
  EXPECT_TRUE(all(data, 8));
  EXPECT_EQ(reserved(), 2 * kMiB);
  OK(cuMemFreeAsync(p, stream));
  EXPECT_OK(cuGraphExecDestroy(exec));
  EXPECT_OK(cuGraphDestroy(graph));
}

TEST_F(GraphMemory, LifetimesThatDoNotOverlapShareMemory) {
  CUdeviceptr p = 0, q = 0, r = 0;
  CUgraphNode const a = alloc_node(graph, {}, 8 * kMiB, &p), fa = free_node(graph, {a}, p);
  CUgraphNode const b = alloc_node(graph, {fa}, 4 * kMiB, &q), c = alloc_node(graph, {fa}, 4 * kMiB, &r);
  CUgraphNode const sb = set_node({b}, q, 1), sc = set_node({c}, r, 2), cp = copy_node({sb, sc}, data, q);
  free_node(graph, {cp}, q);
  free_node(graph, {cp}, r);
  CUgraphExec const exec = instantiate(graph);
  OK(cuGraphLaunch(exec, stream));
  sync();
  EXPECT_TRUE(all(data, 1));
  EXPECT_EQ(reserved(), 8 * kMiB);
  EXPECT_OK(cuGraphExecDestroy(exec));
  EXPECT_OK(cuGraphDestroy(graph));
}

TEST_F(GraphMemory, LargerAllocationGrowsIntoWhatIsFree) {
  CUdeviceptr p = 0, q = 0;
  CUgraphNode const a = alloc_node(graph, {}, 2 * kMiB, &p), fa = free_node(graph, {a}, p);
  CUgraphNode const b = alloc_node(graph, {fa}, 6 * kMiB, &q);
  free_node(graph, {b}, q);
  OK(cuGraphLaunch(instantiate(graph), stream));
  sync();
  EXPECT_EQ(reserved(), 6 * kMiB);
}

TEST_F(GraphMemory, UnorderedFreeIsNotReused) {
  CUdeviceptr p = 0, q = 0;
  CUgraphNode const a = alloc_node(graph, {}, 8 * kMiB, &p);
  free_node(graph, {a}, p);
  CUgraphNode const b = alloc_node(graph, {}, 8 * kMiB, &q);
  free_node(graph, {b}, q);
  CUgraphExec const exec = instantiate(graph);
  OK(cuGraphLaunch(exec, stream));
  sync();
  EXPECT_EQ(reserved(), 16 * kMiB);
  EXPECT_OK(cuGraphExecDestroy(exec));
  EXPECT_OK(cuGraphDestroy(graph));
}

TEST_F(GraphMemory, GraphsOneAfterAnotherShareMemory) {
  std::vector<CUgraphExec> execs;
  for (std::size_t const size : {8 * kMiB, 6 * kMiB, 12 * kMiB}) {
    CUgraph one = nullptr;
    OK(create_graph(&one));
    alloc_and_free(one, size);
    execs.push_back(instantiate(one));
    OK(cuGraphDestroy(one));
  }
  for (int i = 0; i < 2; ++i)
    for (CUgraphExec const exec : execs) OK(cuGraphLaunch(exec, stream));
  EXPECT_EQ(reserved(), 12 * kMiB);
  sync();
  for (CUgraphExec const exec : execs) EXPECT_OK(cuGraphExecDestroy(exec));
}

TEST_F(GraphMemory, RulesOfGraphsWithMemoryNodes) {
  CUdeviceptr p = 0;
  CUgraphNode const a = alloc_node(graph, {}, kMiB, &p), b = empty_node(graph, {a});
  CUgraph second = nullptr;
  CUgraphNode node = nullptr;
  CUgraphExec exec = nullptr;
  OK(create_graph(&second));
  EXPECT_EQ(cuGraphDestroyNode(b), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphRemoveDependencies(graph, &a, &b, nullptr, 1), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphClone(&second, graph), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphAddChildGraphNode(&node, second, nullptr, 0, graph), CUDA_ERROR_INVALID_VALUE);
  CUgraphExec const first = instantiate(graph);
  EXPECT_EQ(cuGraphInstantiate(&exec, graph, 0), CUDA_ERROR_INVALID_VALUE);
  OK(cuGraphExecDestroy(first));
  exec = instantiate(graph);
  EXPECT_EQ(cuGraphAddMemFreeNode(&node, graph, nullptr, 0, data), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphAddMemFreeNode(&node, graph, nullptr, 0, p + 512), CUDA_ERROR_INVALID_VALUE);
  free_node(graph, {b}, p);
  EXPECT_EQ(cuGraphAddMemFreeNode(&node, graph, &b, 1, p), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphAddMemFreeNode(&node, second, nullptr, 0, p), CUDA_ERROR_INVALID_VALUE);
  CUdeviceptr back = 0;
  OK(cuGraphMemFreeNodeGetParams(nodes_of(graph)[2], &back));
  EXPECT_EQ(back, p);
  CUDA_MEM_ALLOC_NODE_PARAMS params{};
  OK(cuGraphMemAllocNodeGetParams(a, &params));
  EXPECT_EQ(params.dptr, p);
  EXPECT_EQ(params.bytesize, kMiB);
  EXPECT_OK(cuGraphExecDestroy(exec));
  EXPECT_OK(cuGraphDestroy(graph));
}

TEST_F(GraphMemory, AnotherGraphMayFreeIt) {
  CUdeviceptr p = 0;
  CUgraphNode const a = alloc_node(graph, {}, kMiB, &p);
  set_node({a}, p, 5);
  CUgraph freeing = nullptr;
  OK(create_graph(&freeing));
  free_node(freeing, {}, p);
  CUgraphNode node = nullptr;
  EXPECT_EQ(cuGraphAddMemFreeNode(&node, graph, &a, 1, p), CUDA_ERROR_INVALID_VALUE);
  CUgraphExec const makes = instantiate(graph), frees = instantiate(freeing);
  EXPECT_EQ(cuGraphLaunch(frees, stream), CUDA_ERROR_INVALID_VALUE);
  for (int i = 0; i < 2; ++i) {
    OK(cuGraphLaunch(makes, stream));
    OK(launch_scale_add(stream, data, p, 1));
    OK(cuGraphLaunch(frees, stream));
  }
  sync();
  EXPECT_TRUE(all(data, 10));
  EXPECT_OK(cuGraphExecDestroy(makes));
  EXPECT_OK(cuGraphExecDestroy(frees));
}

TEST_F(GraphMemory, CapturedAllocationsAreMemoryNodes) {
  CUdeviceptr p = 0, q = 0;
  OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  OK(cuMemAllocAsync(&p, 4 * kMiB, stream));
  OK(launch_fill(stream, p, 4));
  OK(launch_scale_add(stream, data, p, 10));
  OK(cuMemFreeAsync(p, stream));
  OK(cuMemAllocAsync(&q, 4 * kMiB, stream));
  OK(launch_fill(stream, q, 5));
  OK(launch_scale_add(stream, data, q, 10));
  OK(cuMemFreeAsync(q, stream));
  CUgraph const captured = capture_end(stream);
  auto const nodes = nodes_of(captured);
  ASSERT_EQ(nodes.size(), 8u);
  EXPECT_EQ(type_of(nodes[0]), CU_GRAPH_NODE_TYPE_MEM_ALLOC);
  EXPECT_EQ(type_of(nodes[3]), CU_GRAPH_NODE_TYPE_MEM_FREE);
  CUgraphExec const exec = instantiate(captured);
  OK(cuGraphLaunch(exec, stream));
  OK(cuGraphLaunch(exec, other));
  OK(cuCtxSynchronize());
  EXPECT_TRUE(all(data, 4545));
  EXPECT_EQ(reserved(), 4 * kMiB);
  EXPECT_OK(cuGraphExecDestroy(exec));
  EXPECT_OK(cuGraphDestroy(captured));
}

TEST_F(GraphMemory, PoolMemoryCannotBeFreedInACapture) {
  CUdeviceptr p = 0;
  OK(cuMemAllocAsync(&p, 4096, stream));
  OK(cuStreamBeginCapture(other, CU_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT_EQ(cuMemFreeAsync(p, other), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(cuGraphDestroy(capture_end(other)));
  OK(cuMemFreeAsync(p, stream));
}

TEST_F(GraphMemory, WhatTheDeviceDoesNotHave) {
  std::size_t free = 0, total = 0;
  OK(cuMemGetInfo(&free, &total));
  alloc_and_free(graph, total * 2);
  CUgraphExec exec = nullptr;
  EXPECT_EQ(cuGraphInstantiate(&exec, graph, 0), CUDA_ERROR_OUT_OF_MEMORY);
  CUgraph fits = nullptr;
  OK(create_graph(&fits));
  alloc_and_free(fits, free);
  exec = instantiate(fits);
  CUdeviceptr block = 0;
  OK(cuMemAlloc(&block, 64 * kMiB));
  EXPECT_EQ(cuGraphLaunch(exec, stream), CUDA_ERROR_OUT_OF_MEMORY);
  OK(cuMemFree(block));
  EXPECT_OK(cuGraphLaunch(exec, stream));
  sync();
  EXPECT_EQ(free_bytes(), 0u);
  OK(cuDeviceGraphMemTrim(0));  // an idle graph's too
  EXPECT_EQ(free_bytes(), free);
  EXPECT_OK(cuGraphLaunch(exec, stream));
  sync();
  EXPECT_OK(cuGraphExecDestroy(exec));
  EXPECT_OK(cuGraphDestroy(fits));
}

TEST_F(GraphMemory, MovedChildGraphBringsItsMemory) {
  CUgraph child = nullptr;
  OK(create_graph(&child));
  CUdeviceptr p = 0;
  CUgraphNode const a = alloc_node(child, {}, kMiB, &p), k = add_node(child, {a}, p, 0);
  free_node(child, {k}, p);
  CUgraphNodeParams params{};
  params.type = CU_GRAPH_NODE_TYPE_GRAPH;
  params.graph.graph = child;
  params.graph.ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE;
  CUgraphNode node = nullptr;
  OK(cuGraphAddNode(&node, graph, nullptr, nullptr, 0, &params));
  EXPECT_EQ(cuGraphDestroy(child), CUDA_ERROR_INVALID_VALUE);
  CUgraphExec exec = nullptr;
  EXPECT_EQ(cuGraphInstantiate(&exec, child, 0), CUDA_ERROR_INVALID_VALUE);
  exec = instantiate(graph);
  OK(cuGraphLaunch(exec, stream));
  OK(cuGraphLaunch(exec, stream));
  sync();
  EXPECT_EQ(reserved(), 2 * kMiB);
  EXPECT_OK(cuGraphExecDestroy(exec));
  EXPECT_OK(cuGraphDestroy(graph));
}

TEST_F(GraphMemory, Attributes) {
  cuuint64_t value = 1;
  EXPECT_EQ(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &value), CUDA_ERROR_INVALID_VALUE);
  value = 0;
  EXPECT_EQ(cuDeviceSetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &value), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDeviceGetGraphMemAttribute(99, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &value), CUDA_ERROR_INVALID_DEVICE);
  EXPECT_EQ(cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, nullptr), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuDeviceGraphMemTrim(-1), CUDA_ERROR_INVALID_DEVICE);
}

}  // namespace
}  // namespace tidemark::softgpu::test
