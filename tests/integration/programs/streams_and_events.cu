// SPDX-License-Identifier: Apache-2.0
// Copy, compute, copy back in several streams, timed by events, reported by host functions.
#include <atomic>
#include <vector>

#include "tests/integration/programs/check.h"

__global__ void square(float* data, int n) {
  int const i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) data[i] *= data[i];
}

int main(int argc, char** argv) {
  constexpr int kStreams = 4, kCount = 1 << 18, kEach = kCount / kStreams;
  float *host = nullptr, *device = nullptr;
  CHECK(cudaMallocHost(&host, kCount * sizeof(float)));
  CHECK(cudaMalloc(&device, kCount * sizeof(float)));
  for (int i = 0; i < kCount; ++i) host[i] = 3;
  int least = 0, greatest = 0;
  CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  std::vector<cudaStream_t> streams(kStreams);
  for (int s = 0; s < kStreams; ++s)
    CHECK(cudaStreamCreateWithPriority(&streams[s], cudaStreamNonBlocking, s % 2 ? least : greatest));
  cudaEvent_t start, stop;
  CHECK(cudaEventCreate(&start));
  CHECK(cudaEventCreate(&stop));
  std::atomic<int> finished{0};
  CHECK(cudaEventRecord(start));
  for (int s = 0; s < kStreams; ++s) {
    float *h = host + s * kEach, *d = device + s * kEach;
    CHECK(cudaMemcpyAsync(d, h, kEach * sizeof(float), cudaMemcpyHostToDevice, streams[s]));
    square<<<kEach / 256, 256, 0, streams[s]>>>(d, kEach);
    CHECK(cudaGetLastError());
    CHECK(cudaMemcpyAsync(h, d, kEach * sizeof(float), cudaMemcpyDeviceToHost, streams[s]));
    CHECK(cudaLaunchHostFunc(
        streams[s], [](void* n) { ++*static_cast<std::atomic<int>*>(n); }, &finished));
  }
  for (auto stream : streams) {
    cudaError_t busy = cudaErrorNotReady;
    while ((busy = cudaStreamQuery(stream)) == cudaErrorNotReady) {
    }
    CHECK(busy);
  }
  CHECK(cudaEventRecord(stop));
  CHECK(cudaEventSynchronize(stop));
  float milliseconds = -1;
  CHECK(cudaEventElapsedTime(&milliseconds, start, stop));
  REQUIRE(finished == kStreams && milliseconds >= 0);
  if (values_count(argc, argv)) REQUIRE(host[kCount - 1] == 9);
  for (auto stream : streams) CHECK(cudaStreamDestroy(stream));
  CHECK(cudaEventDestroy(start));
  CHECK(cudaEventDestroy(stop));
  CHECK(cudaFreeHost(host));
  CHECK(cudaFree(device));
  return 0;
}
