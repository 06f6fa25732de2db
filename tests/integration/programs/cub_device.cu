// SPDX-License-Identifier: Apache-2.0
// CUB's device-wide algorithms: ask for the temporary storage, allocate it, run.
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>

#include "tests/integration/programs/check.h"

template <class Algorithm>
void run(const char* name, Algorithm algorithm) {
  std::size_t bytes = 0;
  CHECK(algorithm(nullptr, bytes));
  void* storage = nullptr;
  CHECK(cudaMalloc(&storage, bytes));
  CHECK(algorithm(storage, bytes));
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaFree(storage));
  std::printf("%s: %zu bytes of temporary storage\n", name, bytes);
  REQUIRE(bytes > 0);
}

int main(int argc, char** argv) {
  constexpr int kCount = 100000;
  unsigned *in = nullptr, *out = nullptr;
  CHECK(cudaMalloc(&in, kCount * sizeof *in));
  CHECK(cudaMalloc(&out, kCount * sizeof *out));
  CHECK(cudaMemset(in, 1, kCount * sizeof *in));
  run("reduce", [&](void* t, std::size_t& n) { return cub::DeviceReduce::Sum(t, n, in, out, kCount); });
  unsigned sum = 0;
  CHECK(cudaMemcpy(&sum, out, sizeof sum, cudaMemcpyDeviceToHost));
  run("scan", [&](void* t, std::size_t& n) { return cub::DeviceScan::ExclusiveSum(t, n, in, out, kCount); });
  run("sort", [&](void* t, std::size_t& n) { return cub::DeviceRadixSort::SortKeys(t, n, in, out, kCount); });
  CHECK(cudaFree(in));
  CHECK(cudaFree(out));
  if (values_count(argc, argv)) REQUIRE(sum == 0x01010101u * kCount);
  return 0;
}
