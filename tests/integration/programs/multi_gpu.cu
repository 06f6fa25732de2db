// SPDX-License-Identifier: Apache-2.0
// One part of the work per device, results brought together by peer copies.
#include <vector>

#include "tests/integration/programs/check.h"

__global__ void fill(float* data, int n, float value) {
  int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) data[i] = value;
}

struct Part {
  cudaStream_t stream = nullptr;
  cudaEvent_t done = nullptr;
  float* data = nullptr;
};

int main(int argc, char** argv) {
  constexpr int kCount = 1 << 16;
  int devices = 0;
  CHECK(cudaGetDeviceCount(&devices));
  std::vector<Part> parts(static_cast<std::size_t>(devices));
  for (int d = 0; d < devices; ++d) {
    Part& part = parts[static_cast<std::size_t>(d)];
    CHECK(cudaSetDevice(d));
    int peer = 0;
    if (d > 0) CHECK(cudaDeviceCanAccessPeer(&peer, d, 0));
    if (peer) CHECK(cudaDeviceEnablePeerAccess(0, 0));
    CHECK(cudaStreamCreateWithFlags(&part.stream, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&part.done, cudaEventDisableTiming));
    CHECK(cudaMalloc(&part.data, kCount * sizeof(float)));
    fill<<<kCount / 256, 256, 0, part.stream>>>(part.data, kCount, static_cast<float>(d));
    CHECK(cudaGetLastError());
    CHECK(cudaEventRecord(part.done, part.stream));
  }
  CHECK(cudaSetDevice(0));
  float* all = nullptr;
  CHECK(cudaMalloc(&all, parts.size() * kCount * sizeof(float)));
  for (int d = 0; d < devices; ++d) {
    Part& part = parts[static_cast<std::size_t>(d)];
    CHECK(cudaStreamWaitEvent(parts[0].stream, part.done, 0));
    CHECK(cudaMemcpyPeerAsync(all + d * kCount, 0, part.data, d, kCount * sizeof(float), parts[0].stream));
  }
  float last = -1;
  CHECK(cudaStreamSynchronize(parts[0].stream));
  CHECK(cudaMemcpy(&last, all + devices * kCount - 1, sizeof last, cudaMemcpyDeviceToHost));
  for (int d = 0; d < devices; ++d) {
    Part& part = parts[static_cast<std::size_t>(d)];
    CHECK(cudaSetDevice(d));
    CHECK(cudaFree(part.data));
    CHECK(cudaEventDestroy(part.done));
    CHECK(cudaStreamDestroy(part.stream));
    CHECK(cudaDeviceReset());
  }
  std::printf("%d devices, last value %g\n", devices, last);
  if (values_count(argc, argv)) REQUIRE(last == static_cast<float>(devices - 1));
  return 0;
}
