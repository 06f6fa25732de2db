// SPDX-License-Identifier: Apache-2.0
// The checker looks into graphs: planted faults are found at the launch that makes them, and generations are new at
// each launch. Each test counts the reports it expects; the program's exit code is the checker's.
#include "softgpu/interface/softgpu.h"
#include "tests/unit/softgpu/driver/graph_fixture.h"

namespace tidemark::softgpu::test {
namespace {

class GraphCheck : public GraphTest {
 protected:
  void SetUp() override {
    GraphTest::SetUp();
    before = softgpu_check_reports();
  }
  std::uint64_t reports() const { return softgpu_check_reports() - before; }
  std::uint64_t before = 0;
};

TEST_F(GraphCheck, ReplayAfterTheMemoryWasFreed) {
  CUdeviceptr p = 0;
  OK(cuMemAlloc(&p, kCount * sizeof(int)));
  OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  OK(launch_add(stream, p, 1));
  CUgraphExec const exec = instantiate(capture_end(stream));
  OK(cuGraphLaunch(exec, stream));
  OK(cuStreamSynchronize(stream));
  EXPECT_EQ(reports(), 0u);
  OK(cuMemFree(p));
  OK(cuGraphLaunch(exec, stream));
  OK(cuStreamSynchronize(stream));
  EXPECT_EQ(reports(), 1u);
}

TEST_F(GraphCheck, UseAfterTheFreeNode) {
  CUgraph graph = nullptr;
  OK(create_graph(&graph));
  CUdeviceptr p = 0;
  CUgraphNode const a = alloc_node(graph, {}, kCount * sizeof(int), &p), b = add_node(graph, {a}, p, 1);
  CUgraphNode const f = free_node(graph, {b}, p);
  CUgraphExec exec = instantiate(graph);
  for (int i = 0; i < 3; ++i) OK(cuGraphLaunch(exec, stream));
  OK(cuStreamSynchronize(stream));
  EXPECT_EQ(reports(), 0u);
  OK(cuGraphExecDestroy(exec));
  add_node(graph, {f}, p, 1);
  exec = instantiate(graph);
  OK(cuGraphLaunch(exec, stream));
  OK(cuStreamSynchronize(stream));
  EXPECT_EQ(reports(), 1u);
}

TEST_F(GraphCheck, WorkOfAnotherStreamThatIsNotOrderedBehindTheLaunch) {
  CUgraph graph = nullptr;
  OK(create_graph(&graph));
  CUdeviceptr p = 0;
  alloc_node(graph, {}, kCount * sizeof(int), &p);
  CUgraphExec const exec = instantiate(graph);
  OK(cuGraphLaunch(exec, stream));
  OK(launch_add(other, p, 1));  // late runs it first: the memory is not there yet
  OK(cuStreamSynchronize(other));
  OK(cuStreamSynchronize(stream));
  EXPECT_EQ(reports(), 1u);
  OK(cuMemFree(p));
}

TEST_F(GraphCheck, AnAllocatorsBlocksAreReplayed) {
  // Two blocks of an allocator at one address, one after the other, and then it is the allocator's again.
  OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  OK(launch_fill(stream, data, 0));
  softgpu_range_async(reinterpret_cast<void*>(data), kCount * sizeof(int), 101, stream);
  OK(launch_add(stream, data, 1));
  softgpu_range_async(reinterpret_cast<void*>(data), kCount * sizeof(int), 0, stream);
  softgpu_range_async(reinterpret_cast<void*>(data), kCount * sizeof(int), 102, stream);
  OK(launch_add(stream, data, 1));
  softgpu_range_async(reinterpret_cast<void*>(data), kCount * sizeof(int), 0, stream);
  CUgraph const graph = capture_end(stream);
  EXPECT_EQ(node_count(graph), 3u);  // the checker adds no nodes
  CUgraphExec const exec = instantiate(graph);
  softgpu_range(reinterpret_cast<void*>(data), kCount * sizeof(int), 103);
  OK(cuGraphLaunch(exec, stream));
  OK(cuStreamSynchronize(stream));
  EXPECT_EQ(reports(), 0u);
  softgpu_range(reinterpret_cast<void*>(data), kCount * sizeof(int), 104);
}

}  // namespace
}  // namespace tidemark::softgpu::test
