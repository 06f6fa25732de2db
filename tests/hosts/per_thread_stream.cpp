// SPDX-License-Identifier: Apache-2.0
// Built for a default stream per thread: other symbols under the same names.
#define CUDA_API_PER_THREAD_DEFAULT_STREAM
#include <cuda.h>

#include <thread>
#include <vector>

#include "tests/hosts/host.h"

namespace {

void runtime_work() {
  for (std::size_t i = 1; i <= 10; ++i) {
    void* block = nullptr;
    CHECK(cudaMallocAsync(&block, i * 1'000, nullptr));
    host::account.add(i * 1'000);
    if (i % 5 == 0) continue;
    CHECK(cudaFreeAsync(block, nullptr));
    host::account.remove(i * 1'000);
  }
}

// The driver's names, taken with the flag for this kind of stream.
void driver_work() {
  for (std::size_t i = 1; i <= 10; ++i) {
    CUdeviceptr block = 0;
    REQUIRE(cuMemAllocAsync(&block, i * 1'000, nullptr) == CUDA_SUCCESS);
    host::account.add(i * 1'000);
    if (i % 5 == 0) continue;
    REQUIRE(cuMemFreeAsync(block, nullptr) == CUDA_SUCCESS);
    host::account.remove(i * 1'000);
  }
}

}  // namespace

int main() {
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([] {
      runtime_work();
      driver_work();
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(cudaDeviceSynchronize());
  std::puts("done");
  host::account.write();
  return 0;
}
