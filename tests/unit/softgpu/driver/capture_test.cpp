// SPDX-License-Identifier: Apache-2.0
// Stream capture: what becomes a node, how streams join, and what is forbidden meanwhile.
#include <thread>

#include "softgpu/interface/softgpu.h"
#include "tests/unit/softgpu/driver/graph_fixture.h"

namespace tidemark::softgpu::test {
namespace {

class CaptureTest : public GraphTest {
 protected:
  void SetUp() override {
    GraphTest::SetUp();
    OK(cuEventCreate(&event, CU_EVENT_DEFAULT));
    OK(cuEventCreate(&back, CU_EVENT_DEFAULT));
  }
  void begin(CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL) { OK(cuStreamBeginCapture(stream, mode)); }
  void expect_invalidated() {
    EXPECT_EQ(status_of(stream), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    EXPECT_EQ(launch_add(stream, data, 1), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CUgraph graph = reinterpret_cast<CUgraph>(1);
    EXPECT_EQ(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    EXPECT_EQ(graph, nullptr);
    EXPECT_EQ(status_of(stream), CU_STREAM_CAPTURE_STATUS_NONE);
    EXPECT_OK(launch_add(stream, data, 1));
  }
  void run(CUgraph graph, int times = 1) {
    CUgraphExec const exec = instantiate(graph);
    for (int i = 0; i < times; ++i) EXPECT_OK(cuGraphLaunch(exec, stream));
    EXPECT_OK(cuStreamSynchronize(stream));
    EXPECT_OK(cuGraphExecDestroy(exec));
    EXPECT_OK(cuGraphDestroy(graph));
  }
  CUevent event = nullptr, back = nullptr;
};

TEST_F(CaptureTest, NothingRunsBeforeTheLaunch) {
  begin();
  OK(launch_fill(stream, data, 3));
  OK(launch_add(stream, data, 4));
  CUgraph const graph = capture_end(stream);
  EXPECT_EQ(node_count(graph), 2u);
  EXPECT_TRUE(all(data, 0));
  run(graph);
  EXPECT_TRUE(all(data, 7));
}

TEST_F(CaptureTest, EveryKindOfWorkBecomesItsNode) {
  std::vector<int> host(kCount, 20);
  int called = 0;
  begin();
  OK(cuMemcpyHtoDAsync(data, host.data(), kCount * sizeof(int), stream));
  OK(launch_add(stream, data, 1));
  OK(cuMemsetD32Async(data, 5, 8, stream));
  OK(cuLaunchHostFunc(
      stream, [](void* p) { ++*static_cast<int*>(p); }, &called));
  OK(cuStreamWriteValue32(stream, data, 77, 0));
  CUgraph const graph = capture_end(stream);
  auto const nodes = nodes_of(graph);
  ASSERT_EQ(nodes.size(), 5u);
  EXPECT_EQ(type_of(nodes[0]), CU_GRAPH_NODE_TYPE_MEMCPY);
  EXPECT_EQ(type_of(nodes[1]), CU_GRAPH_NODE_TYPE_KERNEL);
  EXPECT_EQ(type_of(nodes[2]), CU_GRAPH_NODE_TYPE_MEMSET);
  EXPECT_EQ(type_of(nodes[3]), CU_GRAPH_NODE_TYPE_HOST);
  EXPECT_EQ(type_of(nodes[4]), CU_GRAPH_NODE_TYPE_BATCH_MEM_OP);
  CUDA_MEMCPY3D copy{};
  OK(cuGraphMemcpyNodeGetParams(nodes[0], &copy));
  EXPECT_EQ(copy.srcMemoryType, CU_MEMORYTYPE_HOST);
  EXPECT_EQ(copy.srcHost, host.data());
  EXPECT_EQ(copy.dstDevice, data);
  // A graph reads its host memory at the launch.
  host.assign(kCount, 30);
  run(graph, 2);
  EXPECT_EQ(called, 2);
  auto const values = read(data);
  EXPECT_EQ(values[0], 77);
  EXPECT_EQ(values[1], 5);
  EXPECT_EQ(values[9], 31);
}

TEST_F(CaptureTest, WorkOfASisterLibraryBecomesAKernelNode) {
  struct Args {
    int* counter;
    int step;
  };
  int counter = 0;
  Args const args{&counter, 5};
  SoftgpuWork work{};
  work.name = "library";
  work.run = [](void* p) {
    auto* const a = static_cast<Args*>(p);
    *a->counter += a->step;
    a->step = 1000;  // its own copy
  };
  work.args = &args;
  work.args_bytes = sizeof args;
  begin();
  ASSERT_EQ(softgpu_submit(stream, &work), CUDA_SUCCESS);
  CUgraph const graph = capture_end(stream);
  EXPECT_EQ(counter, 0);
  EXPECT_EQ(type_of(nodes_of(graph)[0]), CU_GRAPH_NODE_TYPE_KERNEL);
  CUDA_KERNEL_NODE_PARAMS params{};
  EXPECT_EQ(cuGraphKernelNodeGetParams(nodes_of(graph)[0], &params), CUDA_ERROR_NOT_SUPPORTED);
  run(graph, 3);
  EXPECT_EQ(counter, 15);
}

TEST_F(CaptureTest, ForkAndJoinThroughEvents) {
  CUdeviceptr second = 0;
  OK(cuMemAlloc(&second, kCount * sizeof(int)));
  begin();
  OK(launch_fill(stream, data, 2));
  OK(cuEventRecord(event, stream));
  OK(cuStreamWaitEvent(other, event, 0));
  EXPECT_EQ(status_of(other), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  OK(launch_fill(other, second, 5));
  OK(launch_add(stream, data, 1));
  OK(cuEventRecord(back, other));
  OK(cuStreamWaitEvent(stream, back, 0));
  OK(launch_scale_add(stream, data, second, 10));
  CUgraph const graph = capture_end(stream);
  EXPECT_EQ(status_of(other), CU_STREAM_CAPTURE_STATUS_NONE);
  std::size_t edges = 0;
  OK(cuGraphGetEdges(graph, nullptr, nullptr, nullptr, &edges));
  EXPECT_EQ(edges, 4u);
  run(graph, 3);
  EXPECT_TRUE(all(data, 35));
}

TEST_F(CaptureTest, UnjoinedForkIsAnError) {
  begin();
  OK(cuEventRecord(event, stream));
  OK(cuStreamWaitEvent(other, event, 0));
  OK(launch_add(other, data, 1));
  CUgraph graph = nullptr;
  EXPECT_EQ(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  EXPECT_EQ(graph, nullptr);
  EXPECT_EQ(status_of(other), CU_STREAM_CAPTURE_STATUS_NONE);
}

TEST_F(CaptureTest, ForkWithoutWorkNeedsNoJoin) {
  begin();
  OK(launch_add(stream, data, 1));
  OK(cuEventRecord(event, stream));
  OK(cuStreamWaitEvent(other, event, 0));
  run(capture_end(stream));
  EXPECT_TRUE(all(data, 1));
}

TEST_F(CaptureTest, DestroyedJoinedStreamKeepsTheCapture) {
  CUstream third = nullptr;
  OK(cuStreamCreate(&third, CU_STREAM_NON_BLOCKING));
  begin();
  OK(cuEventRecord(event, stream));
  OK(cuStreamWaitEvent(third, event, 0));
  OK(launch_add(third, data, 1));
  OK(cuEventRecord(back, third));
  OK(cuStreamDestroy(third));
  OK(cuStreamWaitEvent(stream, back, 0));
  OK(launch_add(stream, data, 1));
  run(capture_end(stream));
  EXPECT_TRUE(all(data, 2));
}

TEST_F(CaptureTest, EndErrors) {
  CUgraph graph = nullptr;
  EXPECT_EQ(cuStreamEndCapture(stream, &graph), CUDA_ERROR_ILLEGAL_STATE);
  begin();
  EXPECT_EQ(cuStreamBeginCapture(stream, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_ERROR_ILLEGAL_STATE);
  EXPECT_EQ(cuStreamBeginCapture(CU_STREAM_LEGACY, CU_STREAM_CAPTURE_MODE_GLOBAL),
            CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  std::thread([&] {
    EXPECT_OK(cuCtxSetCurrent(context));
    CUgraph none = nullptr;
    EXPECT_EQ(cuStreamEndCapture(stream, &none), CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
  }).join();
  OK(cuEventRecord(event, stream));
  OK(cuStreamWaitEvent(other, event, 0));
  EXPECT_EQ(cuStreamEndCapture(other, &graph), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  EXPECT_EQ(cuStreamEndCapture(stream, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(CaptureTest, RelaxedCaptureMayEndInAnotherThread) {
  begin(CU_STREAM_CAPTURE_MODE_RELAXED);
  OK(launch_add(stream, data, 1));
  CUgraph graph = nullptr;
  std::thread([&] {
    EXPECT_OK(cuCtxSetCurrent(context));
    graph = capture_end(stream);
  }).join();
  run(graph);
  EXPECT_TRUE(all(data, 1));
}

TEST_F(CaptureTest, DependenciesMustNotCrossTheBoundary) {
  OK(cuEventRecord(event, other));
  begin();
  EXPECT_EQ(cuStreamWaitEvent(stream, event, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  expect_invalidated();
}

TEST_F(CaptureTest, EventOfAnEndedCaptureIsOutside) {
  begin();
  OK(launch_add(stream, data, 1));
  OK(cuEventRecord(event, stream));
  CUgraph const graph = capture_end(stream);
  EXPECT_EQ(cuStreamWaitEvent(other, event, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_CAPTURED_EVENT);
  OK(cuEventRecord(event, other));
  EXPECT_OK(cuEventSynchronize(event));
  EXPECT_OK(cuGraphDestroy(graph));
}

TEST_F(CaptureTest, TwoSequencesDoNotMerge) {
  begin();
  OK(cuStreamBeginCapture(other, CU_STREAM_CAPTURE_MODE_GLOBAL));
  OK(cuEventRecord(event, other));
  EXPECT_EQ(cuStreamWaitEvent(stream, event, 0), CUDA_ERROR_STREAM_CAPTURE_MERGE);
  CUgraph graph = nullptr;
  EXPECT_EQ(cuStreamEndCapture(other, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  expect_invalidated();
}

TEST_F(CaptureTest, CapturedEventsAreNoPointsInTime) {
  begin(CU_STREAM_CAPTURE_MODE_RELAXED);
  OK(cuEventRecord(event, stream));
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  OK(cuThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(cuEventQuery(event), CUDA_ERROR_CAPTURED_EVENT);
  EXPECT_EQ(cuEventSynchronize(event), CUDA_ERROR_CAPTURED_EVENT);
  OK(cuThreadExchangeStreamCaptureMode(&mode));
  EXPECT_OK(cuGraphDestroy(capture_end(stream)));
}

struct Unsafe {
  const char* name;
  CUresult (*call)();
};

class UnsafeCalls : public CaptureTest, public ::testing::WithParamInterface<Unsafe> {};

CUresult allocate() {
  CUdeviceptr p = 0;
  CUresult const result = cuMemAlloc(&p, 4096);
  if (result == CUDA_SUCCESS) cuMemFree(p);
  return result;
}

CUresult copy_and_wait() {
  int from = 1, to = 0;
  return cuMemcpy(reinterpret_cast<CUdeviceptr>(&to), reinterpret_cast<CUdeviceptr>(&from), sizeof to);
}

CUresult query_event() {
  CUevent e = nullptr;
  cuEventCreate(&e, CU_EVENT_DEFAULT);
  CUresult const result = cuEventQuery(e);
  cuEventDestroy(e);
  return result;
}

INSTANTIATE_TEST_SUITE_P(Calls, UnsafeCalls,
                         ::testing::Values(Unsafe{"cuMemAlloc", allocate}, Unsafe{"cuMemcpy", copy_and_wait},
                                           Unsafe{"cuEventQuery", query_event}),
                         [](auto const& at) { return at.param.name; });

TEST_P(UnsafeCalls, AreForbiddenAsTheModesSay) {
  auto const call = GetParam().call;
  begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
  EXPECT_EQ(call(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  expect_invalidated();
  begin(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  EXPECT_EQ(call(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  expect_invalidated();
  begin(CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_OK(call());
  EXPECT_OK(cuGraphDestroy(capture_end(stream)));
  // The thread's own mode can allow it.
  begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  OK(cuThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(mode, CU_STREAM_CAPTURE_MODE_GLOBAL);
  EXPECT_OK(call());
  OK(cuThreadExchangeStreamCaptureMode(&mode));
  EXPECT_EQ(status_of(stream), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  EXPECT_OK(cuGraphDestroy(capture_end(stream)));
}

TEST_P(UnsafeCalls, InAnotherThreadOnlyAgainstGlobalCaptures) {
  auto const in_thread = [&](CUstreamCaptureMode mode) {
    CUresult result = CUDA_SUCCESS;
    std::thread([&] {
      EXPECT_OK(cuCtxSetCurrent(context));
      EXPECT_OK(cuThreadExchangeStreamCaptureMode(&mode));
      result = GetParam().call();
    }).join();
    return result;
  };
  begin(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  EXPECT_OK(in_thread(CU_STREAM_CAPTURE_MODE_GLOBAL));
  EXPECT_OK(cuGraphDestroy(capture_end(stream)));
  begin(CU_STREAM_CAPTURE_MODE_GLOBAL);
  EXPECT_OK(in_thread(CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  EXPECT_EQ(status_of(stream), CU_STREAM_CAPTURE_STATUS_ACTIVE);
  EXPECT_EQ(in_thread(CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  expect_invalidated();
}

TEST_F(CaptureTest, WaitingForACapturingStreamIsForbiddenInEveryMode) {
  begin(CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_EQ(cuStreamSynchronize(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  expect_invalidated();
  begin(CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_EQ(cuStreamQuery(stream), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  expect_invalidated();
  begin(CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_EQ(cuCtxSynchronize(), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  expect_invalidated();
}

TEST_F(CaptureTest, LegacyStreamAndABlockingCapture) {
  CUstream blocking = nullptr;
  OK(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
  OK(cuStreamBeginCapture(blocking, CU_STREAM_CAPTURE_MODE_RELAXED));
  CUstreamCaptureStatus status;
  EXPECT_EQ(cuStreamIsCapturing(CU_STREAM_LEGACY, &status), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  EXPECT_EQ(status_of(blocking), CU_STREAM_CAPTURE_STATUS_ACTIVE);  // a question does no harm
  EXPECT_EQ(launch_add(CU_STREAM_LEGACY, data, 1), CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  EXPECT_EQ(status_of(blocking), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
  CUgraph graph = nullptr;
  EXPECT_EQ(cuStreamEndCapture(blocking, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_OK(launch_add(CU_STREAM_LEGACY, data, 1));
  // One that does not block leaves the legacy stream alone.
  begin(CU_STREAM_CAPTURE_MODE_RELAXED);
  EXPECT_OK(launch_add(CU_STREAM_LEGACY, data, 1));
  EXPECT_OK(cuGraphDestroy(capture_end(stream)));
  EXPECT_TRUE(all(data, 2));
}

TEST_F(CaptureTest, CallbacksCannotBeCaptured) {
  begin();
  EXPECT_EQ(cuStreamAddCallback(
                stream, [](CUstream, CUresult, void*) {}, nullptr, 0),
            CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  expect_invalidated();
}

TEST_F(CaptureTest, InfoAndDependencies) {
  CUstreamCaptureStatus status;
  cuuint64_t id = 0;
  CUgraph graph = nullptr;
  const CUgraphNode* nodes = nullptr;
  const CUgraphEdgeData* edges = nullptr;
  std::size_t count = 7;
  OK(cuStreamGetCaptureInfo(stream, &status, &id, &graph, &nodes, &edges, &count));
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_NONE);
  begin();
  OK(launch_add(stream, data, 1));
  OK(cuStreamGetCaptureInfo(stream, &status, &id, &graph, &nodes, &edges, &count));
  EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
  EXPECT_NE(id, 0u);
  ASSERT_EQ(count, 1u);
  EXPECT_EQ(edges[0].type, 0);
  CUgraphNode const first = nodes[0];
  EXPECT_EQ(nodes_of(graph), std::vector<CUgraphNode>{first});
  // A node that the program adds by hand becomes what the stream's next one depends on.
  CUgraphNode mine = add_node(graph, {first}, data, 10);
  OK(cuStreamUpdateCaptureDependencies(stream, &mine, nullptr, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES));
  OK(launch_add(stream, data, 100));
  EXPECT_EQ(cuStreamUpdateCaptureDependencies(other, &mine, nullptr, 1, 0), CUDA_ERROR_ILLEGAL_STATE);
  CUgraph const captured = capture_end(stream);
  EXPECT_EQ(captured, graph);
  std::size_t n = 1;
  CUgraphNode dependency = nullptr;
  OK(cuGraphNodeGetDependencies(nodes_of(captured)[2], &dependency, nullptr, &n));
  EXPECT_EQ(dependency, mine);
  run(captured);
  EXPECT_TRUE(all(data, 111));
}

TEST_F(CaptureTest, CapturesIntoAnExistingGraph) {
  CUgraph graph = nullptr, out = nullptr;
  OK(create_graph(&graph));
  CUgraphNode const before = add_node(graph, {}, data, 1);
  OK(cuStreamBeginCaptureToGraph(stream, graph, &before, nullptr, 1, CU_STREAM_CAPTURE_MODE_GLOBAL));
  OK(launch_add(stream, data, 2));
  CUgraphExec exec = nullptr;
  EXPECT_EQ(cuGraphInstantiate(&exec, graph, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuGraphDestroy(graph), CUDA_ERROR_INVALID_VALUE);
  OK(cuStreamEndCapture(stream, &out));
  EXPECT_EQ(out, graph);
  EXPECT_EQ(node_count(graph), 2u);
  run(graph);
  EXPECT_TRUE(all(data, 3));
}

TEST_F(CaptureTest, ExternalEventsAreNodes) {
  EXPECT_EQ(cuEventRecordWithFlags(event, stream, CU_EVENT_RECORD_EXTERNAL), CUDA_ERROR_INVALID_VALUE);
  begin();
  OK(cuStreamWaitEvent(stream, back, CU_EVENT_WAIT_EXTERNAL));
  OK(launch_scale_add(stream, data, data, 10));
  OK(cuEventRecordWithFlags(event, stream, CU_EVENT_RECORD_EXTERNAL));
  CUgraph const graph = capture_end(stream);
  auto const nodes = nodes_of(graph);
  ASSERT_EQ(nodes.size(), 3u);
  EXPECT_EQ(type_of(nodes[0]), CU_GRAPH_NODE_TYPE_WAIT_EVENT);
  EXPECT_EQ(type_of(nodes[2]), CU_GRAPH_NODE_TYPE_EVENT_RECORD);
  CUgraphExec const exec = instantiate(graph);
  // Work in another stream before, and work in another stream after, ordered by the two events alone.
  OK(launch_fill(other, data, 1));
  OK(cuEventRecord(back, other));
  OK(cuGraphLaunch(exec, stream));
  OK(cuStreamWaitEvent(other, event, 0));
  OK(launch_add(other, data, 5));
  OK(cuStreamSynchronize(other));
  EXPECT_TRUE(all(data, 16));
  EXPECT_OK(cuGraphExecDestroy(exec));
  EXPECT_OK(cuGraphDestroy(graph));
}

TEST_F(CaptureTest, CapturedLaunchBecomesAChildGraph) {
  begin();
  OK(launch_add(stream, data, 3));
  CUgraph const inner = capture_end(stream);
  CUgraphExec const exec = instantiate(inner);
  begin();
  OK(launch_fill(stream, data, 1));
  OK(cuGraphLaunch(exec, stream));
  OK(launch_scale_add(stream, data, data, 2));
  CUgraph const graph = capture_end(stream);
  auto const nodes = nodes_of(graph);
  ASSERT_EQ(nodes.size(), 3u);
  EXPECT_EQ(type_of(nodes[1]), CU_GRAPH_NODE_TYPE_GRAPH);
  EXPECT_OK(cuGraphExecDestroy(exec));
  EXPECT_OK(cuGraphDestroy(inner));
  run(graph);
  EXPECT_TRUE(all(data, 12));
}

TEST_F(CaptureTest, PerThreadDefaultStreamCanCapture) {
  OK(cuStreamBeginCapture(CU_STREAM_PER_THREAD, CU_STREAM_CAPTURE_MODE_GLOBAL));
  OK(launch_add(CU_STREAM_PER_THREAD, data, 8));
  run(capture_end(CU_STREAM_PER_THREAD));
  EXPECT_TRUE(all(data, 8));
}

TEST_F(CaptureTest, DestroyedOriginEndsTheCapture) {
  CUstream third = nullptr;
  OK(cuStreamCreate(&third, CU_STREAM_NON_BLOCKING));
  OK(cuStreamBeginCapture(third, CU_STREAM_CAPTURE_MODE_GLOBAL));
  OK(launch_add(third, data, 1));
  OK(cuStreamDestroy(third));
  EXPECT_OK(cuCtxSynchronize());
  EXPECT_TRUE(all(data, 0));
}

}  // namespace
}  // namespace tidemark::softgpu::test
