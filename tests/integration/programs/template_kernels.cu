// SPDX-License-Identifier: Apache-2.0
// Templates, lambdas, structures by value, kernels as template arguments.
#include "tests/integration/programs/check.h"

template <class T, int kPerThread>
struct View {
  T* data;
  int n;
};

template <class T, int kPerThread, class F>
__global__ void apply(View<T, kPerThread> view, F f) {
  int const base = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) * kPerThread;
  for (int i = base; i < base + kPerThread && i < view.n; ++i) view.data[i] = f(view.data[i]);
}

struct Add {
  double by;
  template <class T>
  __device__ T operator()(T x) const {
    return x + static_cast<T>(by);
  }
};

template <class T, int kPerThread>
T first_after(int n) {
  T* data = nullptr;
  T value{};
  CHECK(cudaMalloc(&data, n * sizeof(T)));
  CHECK(cudaMemset(data, 0, n * sizeof(T)));
  int const threads = 128, blocks = (n + threads * kPerThread - 1) / (threads * kPerThread);
  apply<T, kPerThread><<<blocks, threads>>>(View<T, kPerThread>{data, n}, Add{3});
  CHECK(cudaGetLastError());
  apply<T, kPerThread><<<blocks, threads>>>(View<T, kPerThread>{data, n}, [] __device__(T x) { return x * 2; });
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(&value, data, sizeof value, cudaMemcpyDeviceToHost));
  CHECK(cudaFree(data));
  return value;
}

int main(int argc, char** argv) {
  auto const a = first_after<float, 4>(1000);
  auto const b = first_after<long long, 1>(77);
  std::printf("%g %lld\n", a, b);
  if (values_count(argc, argv)) REQUIRE(a == 6 && b == 6);
  return 0;
}
