// SPDX-License-Identifier: Apache-2.0
// Graphs on the simulated clock: each node costs what its kind does, and independent ones run side by side.
#include "tests/unit/softgpu/driver/graph_fixture.h"

namespace tidemark::softgpu::test {
namespace {

class GraphClock : public GraphTest {
 protected:
  void SetUp() override {
    GraphTest::SetUp();
    OK(cuEventCreate(&begin, CU_EVENT_DEFAULT));
    OK(cuEventCreate(&end, CU_EVENT_DEFAULT));
    OK(create_graph(&graph));
  }
  float microseconds() {
    CUgraphExec const exec = instantiate(graph);
    float ms = -1;
    EXPECT_OK(cuEventRecord(begin, stream));
    EXPECT_OK(cuGraphLaunch(exec, stream));
    EXPECT_OK(cuEventRecord(end, stream));
    EXPECT_OK(cuEventSynchronize(end));
    EXPECT_OK(cuEventElapsedTime(&ms, begin, end));
    EXPECT_OK(cuGraphExecDestroy(exec));
    return ms * 1000;
  }
  CUevent begin = nullptr, end = nullptr;
  CUgraph graph = nullptr;
};

TEST_F(GraphClock, AChainCostsItsSum) {
  CUgraphNode const a = add_node(graph, {}, data, 1), b = add_node(graph, {a}, data, 1), c = empty_node(graph, {b});
  add_node(graph, {c}, data, 1);
  EXPECT_FLOAT_EQ(microseconds(), 3);
}

TEST_F(GraphClock, IndependentNodesOverlap) {
  CUgraphNode const a = add_node(graph, {}, data, 1);
  std::vector<CUgraphNode> middle;
  for (int i = 0; i < 5; ++i) middle.push_back(add_node(graph, {a}, data, 0));
  add_node(graph, middle, data, 1);
  EXPECT_FLOAT_EQ(microseconds(), 3);
}

}  // namespace
}  // namespace tidemark::softgpu::test
