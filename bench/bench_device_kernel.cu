// SPDX-License-Identifier: Apache-2.0
#include "bench/bench_device_kernel.h"

__global__ void empty() {}

void bench::launch_empty(cudaStream_t stream) {
  empty<<<1, 1, 0, stream>>>();
}
