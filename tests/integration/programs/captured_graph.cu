// SPDX-License-Identifier: Apache-2.0
// A training-like step captured from streams (fork and join), instantiated once, launched many times, updated.
#include "tests/integration/programs/check.h"

__global__ void step(float* w, const float* g, int n, float rate) {
  int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) w[i] -= rate * g[i];
}

cudaGraph_t capture(cudaStream_t main, cudaStream_t side, float* w, float* g, int n, float rate) {
  cudaEvent_t fork, join;
  cudaGraph_t graph = nullptr;
  CHECK(cudaEventCreateWithFlags(&fork, cudaEventDisableTiming));
  CHECK(cudaEventCreateWithFlags(&join, cudaEventDisableTiming));
  CHECK(cudaStreamBeginCapture(main, cudaStreamCaptureModeGlobal));
  CHECK(cudaEventRecord(fork, main));
  CHECK(cudaStreamWaitEvent(side, fork, 0));
  CHECK(cudaMemsetAsync(g, 0, n * sizeof(float), side));
  CHECK(cudaEventRecord(join, side));
  CHECK(cudaStreamWaitEvent(main, join, 0));
  step<<<(n + 255) / 256, 256, 0, main>>>(w, g, n, rate);
  CHECK(cudaGetLastError());
  CHECK(cudaStreamEndCapture(main, &graph));
  CHECK(cudaEventDestroy(fork));
  CHECK(cudaEventDestroy(join));
  return graph;
}

int main() {
  constexpr int kCount = 10000;
  cudaStream_t main_stream, side;
  float *w = nullptr, *g = nullptr;
  CHECK(cudaStreamCreate(&main_stream));
  CHECK(cudaStreamCreate(&side));
  CHECK(cudaMalloc(&w, kCount * sizeof(float)));
  CHECK(cudaMalloc(&g, kCount * sizeof(float)));
  cudaGraph_t graph = capture(main_stream, side, w, g, kCount, 0.1f);
  cudaGraphExec_t ready = nullptr;
  std::size_t nodes = 0;
  CHECK(cudaGraphGetNodes(graph, nullptr, &nodes));
  REQUIRE(nodes == 2);
  CHECK(cudaGraphInstantiate(&ready, graph, 0));
  for (int i = 0; i < 20; ++i) CHECK(cudaGraphLaunch(ready, main_stream));
  CHECK(cudaStreamSynchronize(main_stream));
  cudaGraph_t const slower = capture(main_stream, side, w, g, kCount, 0.01f);
  cudaGraphExecUpdateResultInfo info{};
  CHECK(cudaGraphExecUpdate(ready, slower, &info));
  REQUIRE(info.result == cudaGraphExecUpdateSuccess);
  CHECK(cudaGraphLaunch(ready, main_stream));
  CHECK(cudaStreamSynchronize(main_stream));
  CHECK(cudaGraphExecDestroy(ready));
  CHECK(cudaGraphDestroy(graph));
  CHECK(cudaGraphDestroy(slower));
  CHECK(cudaFree(w));
  CHECK(cudaFree(g));
  CHECK(cudaStreamDestroy(main_stream));
  CHECK(cudaStreamDestroy(side));
  return 0;
}
