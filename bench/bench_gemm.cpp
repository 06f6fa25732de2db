// SPDX-License-Identifier: Apache-2.0
// Does softgpu's cuBLAS cost anything above OpenBLAS? Square products through cublasSgemm and cublasGemmEx, against
// cblas_sgemm called directly in the same process with the same number of threads; alternating rounds, the best of
// each. Prints one JSON object; "ratio" is our speed over OpenBLAS' (goal: 0.9 for fp32). fp16 and bf16 are compared
// with OpenBLAS' fp32, since it has no product of theirs. With --short only the small sizes, once (a smoke test).
#include <cblas.h>
#include <cublas_v2.h>
#include <cuda.h>
#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <vector>

#include "softgpu/interface/device_link.h"

namespace {

using tidemark::softgpu::device_link;
using Clock = std::chrono::steady_clock;

void require(bool holds, const char* what) {
  if (holds) return;
  std::fprintf(stderr, "bench_gemm: %s failed\n", what);
  std::exit(1);
}

template <class F>
F* driver(const char* name) {
  return reinterpret_cast<F*>(device_link()->driver_symbol(name));
}

// Device memory where the device has an allocator; filled from the host, which execute mode allows.
void* allocate(std::size_t bytes) {
  auto* const alloc = driver<decltype(cuMemAlloc_v2)>("cuMemAlloc_v2");
  if (alloc == nullptr) return std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
  CUdeviceptr address = 0;
  require(alloc(&address, bytes) == CUDA_SUCCESS, "cuMemAlloc");
  return reinterpret_cast<void*>(address);
}

void synchronize() {
  static auto* const wait = driver<decltype(cuStreamSynchronize)>("cuStreamSynchronize");
  require(wait(nullptr) == CUDA_SUCCESS, "cuStreamSynchronize");
}

double seconds(const std::function<void()>& work) {
  auto const start = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

struct Case {
  const char* name;
  cudaDataType type;
};
constexpr Case kCases[] = {{"fp32", CUDA_R_32F}, {"fp16", CUDA_R_16F}, {"bf16", CUDA_R_16BF}};

void fill(void* data, cudaDataType type, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    float const value = static_cast<float>(i % 7) - 3;
    if (type == CUDA_R_32F) std::memcpy(static_cast<char*>(data) + 4 * i, &value, 4);
    __half const h = __float2half(value);
    __nv_bfloat16 const b = __float2bfloat16(value);
    if (type == CUDA_R_16F) std::memcpy(static_cast<char*>(data) + 2 * i, &h, 2);
    if (type == CUDA_R_16BF) std::memcpy(static_cast<char*>(data) + 2 * i, &b, 2);
  }
}

struct Result {
  double ours = 1e30, direct = 1e30;
};

Result measure(cublasHandle_t handle, cudaDataType type, int n, int rounds) {
  auto const count = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  static void* const a = allocate(2048ull * 2048 * 4);
  static void* const b = allocate(2048ull * 2048 * 4);
  static void* const c = allocate(2048ull * 2048 * 4);
  static std::vector<float> fa(2048ull * 2048, 1), fb(2048ull * 2048, 2), fc(2048ull * 2048);
  fill(a, type, count);
  fill(b, type, count);
  float const one = 1, zero = 0;
  auto const ours = [&] {
    cublasStatus_t const status =
        type == CUDA_R_32F ? cublasSgemm(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, static_cast<float*>(a), n,
                                         static_cast<float*>(b), n, &zero, static_cast<float*>(c), n)
                           : cublasGemmEx(handle, CUBLAS_OP_N, CUBLAS_OP_N, n, n, n, &one, a, type, n, b, type, n,
                                          &zero, c, type, n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
    require(status == CUBLAS_STATUS_SUCCESS, "gemm");
    synchronize();
  };
  auto const direct = [&] {
    cblas_sgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, fa.data(), n, fb.data(), n, 0, fc.data(), n);
  };
  ours();
  direct();
  Result result;
  for (int i = 0; i < rounds; ++i) {
    result.direct = std::min(result.direct, seconds(direct));
    result.ours = std::min(result.ours, seconds(ours));
  }
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  bool const brief = argc > 1 && std::strcmp(argv[1], "--short") == 0;
  require(device_link() != nullptr, "finding softgpu's libcuda.so.1");
  if (device_link()->dry_run() != 0) {
    std::fprintf(stderr, "bench_gemm: the device is in dry run; set SOFTGPU_DRY_RUN=0\n");
    return 1;
  }
  cublasHandle_t handle = nullptr;
  require(cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS, "cublasCreate");
  openblas_set_num_threads(device_link()->workers());
  std::printf("{\"bench\": \"gemm\", \"threads\": %d, \"openblas\": \"%s\", \"rows\": [", openblas_get_num_threads(),
              openblas_get_config());
  const char* separator = "\n";
  for (auto const& [name, type] : kCases)
    for (int n : {256, 512, 1024, 2048}) {
      if (brief && n > 256) continue;
      Result const r = measure(handle, type, n, brief ? 1 : n <= 512 ? 60 : n == 1024 ? 20 : 6);
      double const work = 2.0 * n * n * n / 1e9;
      std::printf("%s  {\"type\": \"%s\", \"n\": %d, \"gflops\": %.1f, \"openblas_gflops\": %.1f, \"ratio\": %.3f}",
                  separator, name, n, work / r.ours, work / r.direct, r.direct / r.ours);
      separator = ",\n";
    }
  std::printf("\n]}\n");
  require(cublasDestroy(handle) == CUBLAS_STATUS_SUCCESS, "cublasDestroy");
  return 0;
}
