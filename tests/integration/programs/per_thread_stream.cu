// SPDX-License-Identifier: Apache-2.0
// Built with --default-stream per-thread: each host thread's launches go to a stream of its own.
#include <thread>
#include <vector>

#include "tests/integration/programs/check.h"

__global__ void scale(float* data, int n, float by) {
  for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x)) data[i] *= by;
}

int main() {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      constexpr int kCount = 4096;
      std::vector<float> host(kCount, static_cast<float>(t));
      float* data = nullptr;
      CHECK(cudaMalloc(&data, kCount * sizeof(float)));
      for (int round = 0; round < 10; ++round) {
        CHECK(cudaMemcpyAsync(data, host.data(), kCount * sizeof(float), cudaMemcpyHostToDevice, cudaStreamPerThread));
        scale<<<1, 256>>>(data, kCount, 2);
        CHECK(cudaGetLastError());
        CHECK(cudaMemcpyAsync(host.data(), data, kCount * sizeof(float), cudaMemcpyDeviceToHost));
        CHECK(cudaStreamSynchronize(nullptr));
      }
      CHECK(cudaFree(data));
    });
  for (auto& thread : threads) thread.join();
  return 0;
}
