// SPDX-License-Identifier: Apache-2.0
// Launches: order in the stream, order of the nodes, what happens to what they refer to.
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <mutex>

#include "tests/unit/softgpu/driver/graph_fixture.h"

namespace tidemark::softgpu::test {
namespace {

using GraphLaunch = GraphTest;

TEST_F(GraphLaunch, ComesInTheStreamsOrder) {
  CUgraph graph = nullptr;
  OK(create_graph(&graph));
  add_node(graph, {}, data, 5);
  CUgraphExec const exec = instantiate(graph);
  OK(launch_fill(stream, data, 1));
  OK(cuGraphLaunch(exec, stream));
  OK(launch_scale_add(stream, data, data, 9));
  OK(cuGraphLaunch(exec, stream));
  OK(cuStreamSynchronize(stream));
  EXPECT_TRUE(all(data, 65));
  EXPECT_OK(cuGraphExecDestroy(exec));
  EXPECT_OK(cuGraphDestroy(graph));
}

// Who ran when, as host functions saw it.
struct Log {
  std::mutex mutex;
  std::vector<int> order;
};
struct Mark {
  Log* log;
  int id;
  static void add(void* p) {
    auto* const mark = static_cast<Mark*>(p);
    std::lock_guard const lock(mark->log->mutex);
    mark->log->order.push_back(mark->id);
  }
};

TEST_F(GraphLaunch, NodesRunInATopologicalOrder) {
  // Ladders of host nodes with kernels between them, and edges that cross.
  constexpr int kLayers = 6, kWidth = 4;
  Log log;
  std::vector<Mark> marks;
  for (int i = 0; i < kLayers * kWidth; ++i) marks.push_back({&log, i});
  CUgraph graph = nullptr;
  OK(create_graph(&graph));
  std::vector<CUgraphNode> nodes;
  std::vector<std::pair<int, int>> edges;
  for (int i = 0; i < kLayers * kWidth; ++i) {
    std::vector<CUgraphNode> after;
    int const above = i - kWidth;
    if (above >= 0) {
      int const across = above / kWidth * kWidth + (above + 1) % kWidth;
      for (int const d : {above, across}) {
        after.push_back(nodes[static_cast<std::size_t>(d)]);
        edges.emplace_back(d, i);
      }
    }
    nodes.push_back(host_node(graph, after, Mark::add, &marks[static_cast<std::size_t>(i)]));
  }
  CUgraphExec const exec = instantiate(graph);
  for (int launch = 0; launch < 3; ++launch) {
    log.order.clear();
    OK(cuGraphLaunch(exec, stream));
    OK(cuStreamSynchronize(stream));
    ASSERT_EQ(log.order.size(), marks.size());
    auto const place = [&](int id) { return std::find(log.order.begin(), log.order.end(), id) - log.order.begin(); };
    for (auto const& [before, after] : edges) EXPECT_LT(place(before), place(after));
  }
  EXPECT_OK(cuGraphExecDestroy(exec));
  EXPECT_OK(cuGraphDestroy(graph));
}

TEST_F(GraphLaunch, LaunchesOfOneExecutableAreSerialised) {
  CUgraph graph = nullptr;
  OK(create_graph(&graph));
  CUdeviceptr to = data;
  int n = kCount, factor = 2;
  void* arguments[] = {&to, &to, &n, &factor};  // to = 3 * to
  CUDA_KERNEL_NODE_PARAMS const p = kernel_params(scale_add, arguments);
  CUgraphNode node = nullptr;
  OK(cuGraphAddKernelNode(&node, graph, nullptr, 0, &p));
  add_node(graph, {node}, data, 1);
  CUgraphExec const exec = instantiate(graph);
  for (int i = 0; i < 3; ++i) {
    OK(cuGraphLaunch(exec, stream));
    OK(cuGraphLaunch(exec, other));
  }
  OK(cuCtxSynchronize());
  EXPECT_TRUE(all(data, 364));  // x -> 3x + 1, six times from 0
  EXPECT_OK(cuGraphExecDestroy(exec));
  EXPECT_OK(cuGraphDestroy(graph));
}

TEST_F(GraphLaunch, DestroyedWhileRunning) {
  CUgraph graph = nullptr;
  OK(create_graph(&graph));
  CUgraphNode last = nullptr;
  for (int i = 0; i < 50; ++i)
    last = add_node(graph, last != nullptr ? std::vector{last} : std::vector<CUgraphNode>{}, data, 1);
  add_node(graph, {}, data + kCount * sizeof(int) / 2, 0);
  CUgraphExec const exec = instantiate(graph);
  OK(cuGraphLaunch(exec, stream));
  OK(cuGraphExecDestroy(exec));
  OK(cuGraphDestroy(graph));
  EXPECT_EQ(cuGraphLaunch(exec, stream), CUDA_ERROR_INVALID_VALUE);
  OK(cuStreamSynchronize(stream));
  EXPECT_TRUE(all(data, 50));
}

TEST_F(GraphLaunch, HostFunctionMayWaitForTheProgram) {
  std::atomic<bool> go{false};
  CUgraph graph = nullptr;
  OK(create_graph(&graph));
  CUgraphNode const host = host_node(
      graph, {},
      [](void* p) {
        while (!*static_cast<std::atomic<bool>*>(p)) {
        }
      },
      &go);
  add_node(graph, {host}, data, 4);
  CUgraphExec const exec = instantiate(graph);
  OK(cuGraphLaunch(exec, stream));
  go = true;
  OK(cuStreamSynchronize(stream));
  EXPECT_TRUE(all(data, 4));
  EXPECT_OK(cuGraphExecDestroy(exec));
  EXPECT_OK(cuGraphDestroy(graph));
}

TEST_F(GraphLaunch, EventNodesGiveRealEvents) {
  CUevent first = nullptr, second = nullptr;
  OK(cuEventCreate(&first, CU_EVENT_DEFAULT));
  OK(cuEventCreate(&second, CU_EVENT_DEFAULT));
  CUgraph graph = nullptr;
  OK(create_graph(&graph));
  CUgraphNode a = nullptr, c = nullptr;
  OK(cuGraphAddEventRecordNode(&a, graph, nullptr, 0, first));
  CUgraphNode const b = add_node(graph, {a}, data, 1);
  OK(cuGraphAddEventRecordNode(&c, graph, &b, 1, second));
  CUevent found = nullptr;
  OK(cuGraphEventRecordNodeGetEvent(c, &found));
  EXPECT_EQ(found, second);
  CUgraphExec const exec = instantiate(graph);
  OK(cuGraphLaunch(exec, stream));
  OK(cuEventSynchronize(second));
  float ms = -1;
  OK(cuEventElapsedTime(&ms, first, second));
  EXPECT_GE(ms, 0.0f);
  // An executable graph can be given another event.
  OK(cuGraphExecEventRecordNodeSetEvent(exec, c, first));
  OK(cuGraphLaunch(exec, stream));
  OK(cuEventSynchronize(first));
  EXPECT_OK(cuGraphExecDestroy(exec));
  EXPECT_OK(cuGraphDestroy(graph));
}

TEST_F(GraphLaunch, FaultInsideIsTheContextsError) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer reports faults itself";
#endif
  CUgraph graph = nullptr;
  OK(create_graph(&graph));
  CUdeviceptr nowhere = 4096;  // mapped by nobody
  void* arguments[] = {&nowhere};
  CUDA_KERNEL_NODE_PARAMS const p = kernel_params(fault, arguments);
  CUgraphNode node = nullptr;
  OK(cuGraphAddKernelNode(&node, graph, nullptr, 0, &p));
  int called = 0;
  host_node(
      graph, {node}, [](void* x) { ++*static_cast<int*>(x); }, &called);
  CUgraphExec const exec = instantiate(graph);
  CUresult const launched = cuGraphLaunch(exec, stream);
  EXPECT_TRUE(launched == CUDA_SUCCESS || launched == CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cuStreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cuGraphLaunch(exec, stream), CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(called, 0);
}

// The checker would rightly report it: named so that checked runs leave it out.
TEST_F(GraphLaunch, MisuseOfMemoryThatIsGoneIsAnErrorNotACrash) {
  void* pinned = nullptr;
  OK(cuMemAllocHost(&pinned, kCount * sizeof(int)));
  OK(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
  OK(cuMemcpyHtoDAsync(data, pinned, kCount * sizeof(int), stream));
  CUgraph const graph = capture_end(stream);
  CUgraphExec const exec = instantiate(graph);
  OK(cuMemFreeHost(pinned));
  CUresult const launched = cuGraphLaunch(exec, stream);
  EXPECT_TRUE(launched == CUDA_SUCCESS || launched == CUDA_ERROR_ILLEGAL_ADDRESS);
  EXPECT_EQ(cuStreamSynchronize(stream), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(GraphLaunch, IntoTheLegacyStreamAndBlockingStreams) {
  CUstream blocking = nullptr;
  OK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
  CUgraph graph = nullptr;
  OK(create_graph(&graph));
  CUdeviceptr second = 0;
  OK(cuMemAlloc(&second, kCount * sizeof(int)));
  add_node(graph, {}, data, 3);
  CUDA_MEMSET_NODE_PARAMS set{};
  set.dst = second;
  set.value = 7;
  set.elementSize = 4;
  set.width = kCount;
  set.height = 1;
  CUgraphNode node = nullptr;
  OK(cuGraphAddMemsetNode(&node, graph, nullptr, 0, &set, context));  // a second lane
  CUgraphExec const exec = instantiate(graph);
  OK(launch_fill(blocking, data, 1));
  OK(cuGraphLaunch(exec, CU_STREAM_LEGACY));
  OK(launch_scale_add(blocking, data, second, 10));
  OK(cuStreamSynchronize(blocking));
  EXPECT_TRUE(all(data, 47));
  EXPECT_OK(cuGraphExecDestroy(exec));
  EXPECT_OK(cuGraphDestroy(graph));
}

TEST_F(GraphLaunch, ManyIndependentNodes) {
  CUgraph graph = nullptr;
  OK(create_graph(&graph));
  std::vector<CUgraphNode> all_nodes;
  std::atomic<int> count{0};
  auto const increment = [](void* p) { ++*static_cast<std::atomic<int>*>(p); };
  for (int i = 0; i < 400; ++i) all_nodes.push_back(host_node(graph, {}, increment, &count));
  CUgraphNode const join = empty_node(graph, all_nodes);
  host_node(graph, {join}, increment, &count);
  CUgraphExec const exec = instantiate(graph);
  OK(cuGraphLaunch(exec, stream));
  OK(cuStreamSynchronize(stream));
  EXPECT_EQ(count, 401);
  EXPECT_OK(cuGraphExecDestroy(exec));
  EXPECT_OK(cuGraphDestroy(graph));
}

TEST_F(GraphLaunch, EmptyGraphCanBeLaunched) {
  CUgraph graph = nullptr;
  OK(create_graph(&graph));
  CUgraphExec const exec = instantiate(graph);
  OK(cuGraphUpload(exec, stream));
  OK(cuGraphLaunch(exec, stream));
  EXPECT_OK(cuStreamSynchronize(stream));
  cuuint64_t flags = 9;
  OK(cuGraphExecGetFlags(exec, &flags));
  EXPECT_EQ(flags, 0u);
  EXPECT_OK(cuGraphExecDestroy(exec));
  EXPECT_OK(cuGraphDestroy(graph));
}

TEST_F(GraphLaunch, InstantiationFlags) {
  CUgraph graph = nullptr;
  OK(create_graph(&graph));
  add_node(graph, {}, data, 1);
  CUgraphExec exec = nullptr;
  EXPECT_EQ(cuGraphInstantiate(&exec, graph, 1024), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphInstantiate(&exec, graph, CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphInstantiate(&exec, graph, CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH), CUDA_ERROR_NOT_SUPPORTED);
  CUDA_GRAPH_INSTANTIATE_PARAMS params{};
  params.flags = CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY;
  params.hUploadStream = stream;
  OK(cuGraphInstantiateWithParams(&exec, graph, &params));
  EXPECT_EQ(params.result_out, CUDA_GRAPH_INSTANTIATE_SUCCESS);
  cuuint64_t flags = 0;
  OK(cuGraphExecGetFlags(exec, &flags));
  EXPECT_EQ(flags, CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY);
  EXPECT_OK(cuGraphExecDestroy(exec));
  EXPECT_OK(cuGraphDestroy(graph));
}

TEST_F(GraphLaunch, UserObjectsLiveAsLongAsSomethingNeedsThem) {
  std::atomic<int> destroyed{0};
  auto const destroy = [](void* p) { ++*static_cast<std::atomic<int>*>(p); };
  auto const wait_for = [&](int n) {
    for (int i = 0; i < 2000 && destroyed != n; ++i) cuStreamQuery(stream);
    for (int i = 0; i < 200 && destroyed != n; ++i) ::usleep(1000);
    EXPECT_EQ(destroyed, n);
  };
  CUuserObject object = nullptr;
  EXPECT_EQ(cuUserObjectCreate(&object, &destroyed, destroy, 1, 0), CUDA_ERROR_INVALID_VALUE);
  OK(cuUserObjectCreate(&object, &destroyed, destroy, 2, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
  OK(cuUserObjectRelease(object, 1));
  CUgraph graph = nullptr;
  OK(create_graph(&graph));
  add_node(graph, {}, data, 1);
  OK(cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE));
  EXPECT_EQ(cuGraphReleaseUserObject(graph, object, 2), CUDA_ERROR_INVALID_VALUE);
  CUgraphExec const exec = instantiate(graph);
  OK(cuGraphDestroy(graph));
  OK(cuGraphLaunch(exec, stream));
  EXPECT_EQ(destroyed, 0);
  OK(cuGraphExecDestroy(exec));
  OK(cuStreamSynchronize(stream));
  wait_for(1);
  EXPECT_EQ(cuUserObjectRetain(object, 1), CUDA_ERROR_INVALID_VALUE);
}

TEST_F(GraphLaunch, NodesCanBeSwitchedOff) {
  CUgraph graph = nullptr;
  OK(create_graph(&graph));
  CUgraphNode const a = add_node(graph, {}, data, 1), b = add_node(graph, {a}, data, 10), c = empty_node(graph, {b});
  CUgraphExec const exec = instantiate(graph);
  unsigned enabled = 7;
  OK(cuGraphNodeSetEnabled(exec, a, 0));
  OK(cuGraphNodeGetEnabled(exec, a, &enabled));
  EXPECT_EQ(enabled, 0u);
  EXPECT_EQ(cuGraphNodeSetEnabled(exec, c, 0), CUDA_ERROR_INVALID_VALUE);
  OK(cuGraphLaunch(exec, stream));
  OK(cuGraphNodeSetEnabled(exec, a, 1));
  OK(cuGraphLaunch(exec, stream));
  OK(cuStreamSynchronize(stream));
  EXPECT_TRUE(all(data, 21));
  EXPECT_OK(cuGraphExecDestroy(exec));
  EXPECT_OK(cuGraphDestroy(graph));
}

TEST_F(GraphLaunch, ContextThatGoesTakesItsExecutablesAlong) {
  CUcontext second = nullptr;
  OK(cuCtxCreate(&second, nullptr, 0, 0));
  CUgraph graph = nullptr;
  OK(create_graph(&graph));
  empty_node(graph);
  CUgraphExec const exec = instantiate(graph);
  OK(cuCtxDestroy(second));
  OK(cuCtxSetCurrent(context));
  EXPECT_EQ(cuGraphLaunch(exec, stream), CUDA_ERROR_INVALID_VALUE);
  EXPECT_OK(cuGraphDestroy(graph));
}

}  // namespace
}  // namespace tidemark::softgpu::test
