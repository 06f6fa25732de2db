// SPDX-License-Identifier: Apache-2.0
// A CUDA program that uses graphs through the runtime, as frameworks do: values are checked, the exit code is the
// number of wrong ones. It knows nothing of softgpu and could run on a card.
#include <cuda_runtime.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/unit/softgpu/driver/graph_program_body.h"

namespace {

using graph_program::kThreads;

constexpr int kCount = 1000;
constexpr int kBlocks = (kCount + kThreads - 1) / kThreads;
constexpr std::size_t kBytes = kCount * sizeof(float);

int g_wrong = 0;

#define CHECK(call)                                                                                 \
  do {                                                                                              \
    cudaError_t const error_ = (call);                                                              \
    if (error_ != cudaSuccess) {                                                                    \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorName(error_)); \
      std::exit(99);                                                                                \
    }                                                                                               \
  } while (0)
#define EXPECT(condition)                                                          \
  do {                                                                             \
    if (!(condition)) {                                                            \
      std::fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition); \
      ++g_wrong;                                                                   \
    }                                                                              \
  } while (0)

struct Device {
  float *x = nullptr, *y = nullptr, *sums = nullptr;
  cudaStream_t stream = nullptr, side = nullptr;
  cudaEvent_t fork = nullptr, join = nullptr;
  Device() {
    CHECK(cudaMalloc(&x, kBytes));
    CHECK(cudaMalloc(&y, kBytes));
    CHECK(cudaMalloc(&sums, kBlocks * sizeof(float)));
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
    CHECK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
  }
  float first(const float* p) const {
    float value = -1;
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(&value, p, sizeof value, cudaMemcpyDeviceToHost));
    return value;
  }
  float total() const {
    std::vector<float> host(kBlocks);
    CHECK(cudaStreamSynchronize(stream));
    CHECK(cudaMemcpy(host.data(), sums, kBlocks * sizeof(float), cudaMemcpyDeviceToHost));
    float sum = 0;
    for (float const v : host) sum += v;
    return sum;
  }
};

// A step as a training loop has it: fork, join, a reduction through shared memory, a copy back to the host.
cudaGraph_t capture_step(Device& d, float scale, float* host_total) {
  CHECK(cudaStreamBeginCapture(d.stream, cudaStreamCaptureModeThreadLocal));
  cudaStreamCaptureStatus status;
  unsigned long long id = 0;
  cudaGraph_t graph = nullptr;
  const cudaGraphNode_t* dependencies = nullptr;
  std::size_t count = 9;
  graph_program::fill<float><<<kBlocks, kThreads, 0, d.stream>>>(d.x, kCount, 2.0f);
  CHECK(cudaGetLastError());
  CHECK(cudaStreamGetCaptureInfo(d.stream, &status, &id, &graph, &dependencies, nullptr, &count));
  EXPECT(status == cudaStreamCaptureStatusActive && id != 0 && graph != nullptr && count == 1);
  CHECK(cudaEventRecord(d.fork, d.stream));
  CHECK(cudaStreamWaitEvent(d.side, d.fork, 0));
  graph_program::fill<float><<<kBlocks, kThreads, 0, d.side>>>(d.y, kCount, 1.0f);
  CHECK(cudaEventRecord(d.join, d.side));
  CHECK(cudaStreamWaitEvent(d.stream, d.join, 0));
  graph_program::axpy<<<kBlocks, kThreads, 0, d.stream>>>(d.y, d.x, kCount, scale);
  graph_program::block_sum<<<kBlocks, kThreads, 0, d.stream>>>(d.y, d.sums, kCount);
  CHECK(cudaMemcpyAsync(host_total, d.sums, sizeof(float), cudaMemcpyDeviceToHost, d.stream));
  CHECK(cudaStreamEndCapture(d.stream, &graph));
  return graph;
}

void replay(Device& d) {
  float host_total = 0;
  cudaGraph_t const graph = capture_step(d, 3.0f, &host_total);
  std::size_t count = 0;
  CHECK(cudaGraphGetNodes(graph, nullptr, &count));
  EXPECT(count == 5);
  cudaGraphExec_t exec = nullptr;
  CHECK(cudaGraphInstantiateWithFlags(&exec, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
  for (int i = 0; i < 10; ++i) CHECK(cudaGraphLaunch(exec, d.stream));
  EXPECT(d.total() == 7.0f * kCount);
  EXPECT(host_total == 7.0f * kThreads);

  // The same shape with another number: an update, and by node.
  cudaGraph_t const changed = capture_step(d, 5.0f, &host_total);
  cudaGraphExecUpdateResultInfo info{};
  CHECK(cudaGraphExecUpdate(exec, changed, &info));
  EXPECT(info.result == cudaGraphExecUpdateSuccess);
  CHECK(cudaGraphLaunch(exec, d.stream));
  EXPECT(d.total() == 11.0f * kCount);
  std::vector<cudaGraphNode_t> nodes(count);
  CHECK(cudaGraphGetNodes(graph, nodes.data(), &count));
  cudaKernelNodeParams params{};
  CHECK(cudaGraphKernelNodeGetParams(nodes[2], &params));
  EXPECT(params.func == reinterpret_cast<void*>(graph_program::axpy));
  EXPECT(params.gridDim.x == kBlocks && params.blockDim.x == kThreads);
  float scale = 10.0f;
  params.kernelParams[3] = &scale;
  CHECK(cudaGraphExecKernelNodeSetParams(exec, nodes[2], &params));
  CHECK(cudaGraphLaunch(exec, d.stream));
  EXPECT(d.total() == 21.0f * kCount);

  std::string const path = "/tmp/graph_program_" + std::to_string(::getpid()) + ".dot";
  CHECK(cudaGraphDebugDotPrint(graph, path.c_str(), cudaGraphDebugDotFlagsVerbose));
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT(text.str().find("block_sum") != std::string::npos);
  ::unlink(path.c_str());
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaGraphDestroy(changed));
}

// As a framework's caching allocator does it: cudaMalloc in the middle of a global capture, with the thread relaxed.
void allocate_during_capture(Device& d) {
  void* block = nullptr;
  CHECK(cudaStreamBeginCapture(d.stream, cudaStreamCaptureModeGlobal));
  EXPECT(cudaMalloc(&block, 1 << 20) == cudaErrorStreamCaptureUnsupported);
  (void)cudaGetLastError();
  cudaGraph_t graph = nullptr;
  EXPECT(cudaStreamEndCapture(d.stream, &graph) == cudaErrorStreamCaptureInvalidated);
  (void)cudaGetLastError();
  CHECK(cudaStreamBeginCapture(d.stream, cudaStreamCaptureModeGlobal));
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  CHECK(cudaThreadExchangeStreamCaptureMode(&mode));
  CHECK(cudaMalloc(&block, 1 << 20));
  CHECK(cudaThreadExchangeStreamCaptureMode(&mode));
  auto* const own = static_cast<float*>(block);
  graph_program::fill<float><<<kBlocks, kThreads, 0, d.stream>>>(own, kCount, 4.0f);
  graph_program::axpy<<<kBlocks, kThreads, 0, d.stream>>>(own, own, kCount, 1.0f);
  CHECK(cudaStreamEndCapture(d.stream, &graph));
  cudaGraphExec_t exec = nullptr;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphLaunch(exec, d.stream));
  EXPECT(d.first(own) == 8.0f);
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaFree(block));
}

void memory_nodes(Device& d) {
  float *p = nullptr, *q = nullptr;
  CHECK(cudaDeviceGraphMemTrim(0));
  CHECK(cudaStreamBeginCapture(d.stream, cudaStreamCaptureModeRelaxed));
  CHECK(cudaMallocAsync(&p, 8 << 20, d.stream));
  graph_program::fill<float><<<kBlocks, kThreads, 0, d.stream>>>(p, kCount, 5.0f);
  CHECK(cudaMemcpyAsync(d.x, p, kBytes, cudaMemcpyDeviceToDevice, d.stream));
  CHECK(cudaFreeAsync(p, d.stream));
  CHECK(cudaMallocAsync(&q, 6 << 20, d.stream));
  graph_program::fill<float><<<kBlocks, kThreads, 0, d.stream>>>(q, kCount, 6.0f);
  cudaGraph_t graph = nullptr;
  CHECK(cudaStreamEndCapture(d.stream, &graph));
  cudaGraphExec_t exec = nullptr;
  CHECK(cudaGraphInstantiateWithFlags(&exec, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch));
  for (int i = 0; i < 3; ++i) CHECK(cudaGraphLaunch(exec, d.stream));
  graph_program::axpy<<<kBlocks, kThreads, 0, d.stream>>>(d.x, q, kCount, 10.0f);
  EXPECT(d.first(d.x) == 65.0f);
  std::size_t reserved = 0;
  CHECK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrReservedMemCurrent, &reserved));
  EXPECT(reserved == 8u << 20);
  CHECK(cudaFreeAsync(q, d.stream));
  CHECK(cudaGraphExecDestroy(exec));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaStreamSynchronize(d.stream));
  CHECK(cudaDeviceGraphMemTrim(0));
  CHECK(cudaDeviceGetGraphMemAttribute(0, cudaGraphMemAttrReservedMemCurrent, &reserved));
  EXPECT(reserved == 0);
}

// A graph by hand, with an object that lives as long as the graph needs it.
void build_by_hand(Device& d) {
  static std::atomic<int> released{0};
  cudaGraph_t graph = nullptr;
  CHECK(cudaGraphCreate(&graph, 0));
  cudaUserObject_t object = nullptr;
  CHECK(cudaUserObjectCreate(
      &object, &released, [](void* p) { ++*static_cast<std::atomic<int>*>(p); }, 1, cudaUserObjectNoDestructorSync));
  CHECK(cudaGraphRetainUserObject(graph, object, 1, cudaGraphUserObjectMove));
  cudaGraphNode_t set = nullptr, kernel = nullptr, copy = nullptr, host = nullptr;
  cudaMemsetParams clear{};
  clear.dst = d.y;
  clear.elementSize = 4;
  clear.width = kCount;
  clear.height = 1;
  CHECK(cudaGraphAddMemsetNode(&set, graph, nullptr, 0, &clear));
  int n = kCount;
  float value = 9.0f;
  void* arguments[] = {&d.x, &n, &value};
  cudaKernelNodeParams fill{};
  fill.func = reinterpret_cast<void*>(graph_program::fill<float>);
  fill.gridDim = dim3(kBlocks);
  fill.blockDim = dim3(kThreads);
  fill.kernelParams = arguments;
  CHECK(cudaGraphAddKernelNode(&kernel, graph, nullptr, 0, &fill));
  cudaGraphNode_t const both[] = {set, kernel};
  CHECK(cudaGraphAddMemcpyNode1D(&copy, graph, both, 2, d.y, d.x, kBytes / 2, cudaMemcpyDeviceToDevice));
  static float seen = 0;
  cudaHostNodeParams call{};
  call.fn = [](void* p) { *static_cast<float*>(p) += 1; };
  call.userData = &seen;
  CHECK(cudaGraphAddHostNode(&host, graph, &copy, 1, &call));
  cudaGraphExec_t exec = nullptr;
  CHECK(cudaGraphInstantiate(&exec, graph, 0));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaGraphLaunch(exec, d.stream));
  CHECK(cudaGraphLaunch(exec, d.stream));
  EXPECT(d.first(d.y) == 9.0f);
  EXPECT(d.first(d.y + kCount - 1) == 0.0f);
  EXPECT(seen == 2);
  EXPECT(released == 0);
  CHECK(cudaGraphExecDestroy(exec));
  for (int i = 0; i < 1000 && released == 0; ++i) ::usleep(1000);
  EXPECT(released == 1);
}

}  // namespace

int main() {
  Device device;
  replay(device);
  allocate_during_capture(device);
  memory_nodes(device);
  build_by_hand(device);
  CHECK(cudaDeviceReset());
  std::printf(g_wrong == 0 ? "graphs: all right\n" : "graphs: %d wrong\n", g_wrong);
  return g_wrong;
}
