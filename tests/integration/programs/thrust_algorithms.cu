// SPDX-License-Identifier: Apache-2.0
// Thrust on device vectors: sort, reduce, transform, copy_if.
#include <thrust/copy.h>
#include <thrust/device_vector.h>
#include <thrust/reduce.h>
#include <thrust/sequence.h>
#include <thrust/sort.h>
#include <thrust/transform.h>

#include "tests/integration/programs/check.h"

struct Square {
  __host__ __device__ int operator()(int x) const { return x * x; }
};
struct Odd {
  __host__ __device__ bool operator()(int x) const { return x % 2 != 0; }
};

int main(int argc, char** argv) {
  thrust::device_vector<int> numbers(1000), squares(1000), odd(1000);
  thrust::sequence(numbers.rbegin(), numbers.rend());
  thrust::sort(numbers.begin(), numbers.end());
  thrust::transform(numbers.begin(), numbers.end(), squares.begin(), Square{});
  int const sum = thrust::reduce(squares.begin(), squares.end());
  auto const end = thrust::copy_if(numbers.begin(), numbers.end(), odd.begin(), Odd{});
  std::printf("sum of squares %d, %td odd numbers, first %d\n", sum, end - odd.begin(), static_cast<int>(numbers[0]));
  CHECK(cudaDeviceSynchronize());
  if (values_count(argc, argv)) REQUIRE(sum == 332833500 && end - odd.begin() == 500);
  return 0;
}
