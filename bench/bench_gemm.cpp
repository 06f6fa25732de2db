// SPDX-License-Identifier: Apache-2.0
// Does softgpu's cuBLAS cost anything above OpenBLAS? Square products through cublasSgemm and cublasGemmEx, against
// cblas_sgemm called directly in the same process on the same numbers with the same number of threads. Each round
// measures both, in turns which of them first. Prints one JSON object; "ratio" is our speed over OpenBLAS' (goal: 0.9):
// the median of the rounds' ratios; "best" is the ratio of both sides' best rounds. Between them they tell how much
// other programs on the machine have disturbed. fp16 and bf16 are compared with OpenBLAS' fp32, since it has no product
// of theirs. With one thread (SOFTGPU_WORKERS=1) the thread's own time is taken instead of the wall's. With --short
// only the smallest size, once (a smoke test). Other sizes, up to 2048, may be given as arguments.
#include <cblas.h>
#include <cublas_v2.h>
#include <cuda.h>
#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <vector>

#include "softgpu/interface/device_link.h"

namespace {

using tidemark::softgpu::device_link;

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

bool thread_time = false;

double now() {
  timespec t{};
  clock_gettime(thread_time ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

double seconds(const std::function<void()>& work) {
  double const start = now();
  work();
  return now() - start;
}

double median(std::vector<double> values) {
  auto const middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
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
  double ours = 1e30, direct = 1e30, ratio = 0;  // the best time of each; the median of the rounds' ratios
};

Result measure(cublasHandle_t handle, cudaDataType type, int n, int rounds) {
  auto const count = static_cast<std::size_t>(n) * static_cast<std::size_t>(n);
  static void* const a = allocate(2048ull * 2048 * 4);
  static void* const b = allocate(2048ull * 2048 * 4);
  static void* const c = allocate(2048ull * 2048 * 4);
  static std::vector<float> fa(2048ull * 2048), fb(2048ull * 2048), fc(2048ull * 2048);
  fill(fa.data(), CUDA_R_32F, count);
  fill(fb.data(), CUDA_R_32F, count);
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
  std::vector<double> ratios;
  for (int i = 0; i < rounds; ++i) {
    double const early = i % 2 == 0 ? seconds(direct) : 0;
    double const own = seconds(ours);
    double const other = i % 2 == 0 ? early : seconds(direct);
    result.direct = std::min(result.direct, other);
    result.ours = std::min(result.ours, own);
    ratios.push_back(other / own);
  }
  result.ratio = median(ratios);
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  bool const brief = argc > 1 && std::strcmp(argv[1], "--short") == 0;
  std::vector<int> sizes;
  for (int i = 1; i < argc && !brief; ++i) sizes.push_back(std::clamp(std::atoi(argv[i]), 1, 2048));
  if (sizes.empty()) sizes = brief ? std::vector{256} : std::vector{256, 512, 1024, 2048};
  require(device_link() != nullptr, "finding softgpu's libcuda.so.1");
  if (device_link()->dry_run() != 0) {
    std::fprintf(stderr, "bench_gemm: the device is in dry run; set SOFTGPU_DRY_RUN=0\n");
    return 1;
  }
  cublasHandle_t handle = nullptr;
  require(cublasCreate(&handle) == CUBLAS_STATUS_SUCCESS, "cublasCreate");
  openblas_set_num_threads(device_link()->workers());
  thread_time = openblas_get_num_threads() == 1;
  std::printf("{\"bench\": \"gemm\", \"threads\": %d, \"openblas\": \"%s\", \"rows\": [", openblas_get_num_threads(),
              openblas_get_config());
  const char* separator = "\n";
  for (auto const& [name, type] : kCases)
    for (int const n : sizes) {
      Result const r = measure(handle, type, n, brief ? 1 : n <= 512 ? 400 : n == 1024 ? 60 : 16);
      double const work = 2.0 * n * n * n / 1e9;
      std::printf(
          "%s  {\"type\": \"%s\", \"n\": %d, \"gflops\": %.1f, \"openblas_gflops\": %.1f, \"ratio\": %.3f, \"best\": "
          "%.3f}",
          separator, name, n, work / r.ours, work / r.direct, r.ratio, r.direct / r.ours);
      separator = ",\n";
    }
  std::printf("\n]}\n");
  require(cublasDestroy(handle) == CUBLAS_STATUS_SUCCESS, "cublasDestroy");
  return 0;
}
