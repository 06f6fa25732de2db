// SPDX-License-Identifier: Apache-2.0
// A small CUDA program that knows nothing of softgpu: it allocates, adds two vectors, sums the result through shared
// memory, checks every value and says what it did. The same binary runs on a real GPU.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#include "samples/hello_softgpu/hello_body.h"

namespace {

#define CHECK(call) check((call), #call, __FILE__, __LINE__)

void check(cudaError_t error, const char* call, const char* file, int line) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s:%d: %s: %s (%s)\n", file, line, call, cudaGetErrorName(error), cudaGetErrorString(error));
  std::exit(1);
}

double mib(std::size_t bytes) {
  return static_cast<double>(bytes) / (1024.0 * 1024.0);
}

struct Options {
  std::size_t array_mib = 4;
  bool check_values = true;
};

Options read_options(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--no-check") == 0) {
      options.check_values = false;
    } else if (std::strcmp(argv[i], "--mib") == 0 && i + 1 < argc && std::atol(argv[i + 1]) > 0) {
      options.array_mib = static_cast<std::size_t>(std::atol(argv[++i]));
    } else {
      bool const help = std::strcmp(argv[i], "--help") == 0 || std::strcmp(argv[i], "-h") == 0;
      bool const size = std::strcmp(argv[i], "--mib") == 0;
      if (!help)
        std::fprintf(stderr, "error: %s%s\n\n", size ? "a whole number must follow " : "unknown argument: ", argv[i]);
      std::fprintf(help ? stdout : stderr,
                   "usage: hello_softgpu [--mib N] [--no-check]\n"
                   "Adds two vectors and sums the result on the CUDA device.\n"
                   "  --mib N      size of each of the three arrays (default 4)\n"
                   "  --no-check   do not look at the values (a dry run computes none)\n");
      std::exit(help ? 0 : 2);
    }
  }
  return options;
}

std::size_t free_bytes() {
  std::size_t free = 0, total = 0;
  CHECK(cudaMemGetInfo(&free, &total));
  return free;
}

void show_device() {
  cudaDeviceProp device{};
  std::size_t free = 0, total = 0;
  CHECK(cudaGetDeviceProperties(&device, 0));
  CHECK(cudaMemGetInfo(&free, &total));
  std::printf("device      %s, compute capability %d.%d, %d multiprocessors\n", device.name, device.major, device.minor,
              device.multiProcessorCount);
  std::printf("memory      %.2f MiB, of which %.2f MiB free\n", mib(total), mib(free));
}

class Stopwatch {
 public:
  Stopwatch() {
    CHECK(cudaEventCreate(&start_));
    CHECK(cudaEventCreate(&stop_));
    CHECK(cudaEventRecord(start_));
  }
  ~Stopwatch() {
    cudaEventDestroy(start_);
    cudaEventDestroy(stop_);
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  float stop_ms() {
    float ms = 0;
    CHECK(cudaEventRecord(stop_));
    CHECK(cudaEventSynchronize(stop_));
    CHECK(cudaEventElapsedTime(&ms, start_, stop_));
    return ms;
  }

 private:
  cudaEvent_t start_ = nullptr, stop_ = nullptr;
};

template <class T>
std::vector<T> to_host(const T* device, std::size_t n) {
  std::vector<T> host(n);
  CHECK(cudaMemcpy(host.data(), device, n * sizeof(T), cudaMemcpyDeviceToHost));
  return host;
}

std::size_t count_wrong(const std::vector<float>& c) {
  std::size_t wrong = 0;
  for (std::size_t i = 0; i < c.size(); ++i) wrong += c[i] != 3.0f * static_cast<float>(i % hello::kPeriod);
  return wrong;
}

double total_of(const std::vector<float>& values) {
  double total = 0;
  for (float v : values) total += v;
  return total;
}

double expected_total(std::size_t n) {
  double total = 0;
  for (std::size_t i = 0; i < n; ++i) total += 3.0 * static_cast<double>(i % hello::kPeriod);
  return total;
}

}  // namespace

int main(int argc, char** argv) {
  Options const options = read_options(argc, argv);
  std::size_t const bytes = options.array_mib << 20;
  std::size_t const n = bytes / sizeof(float);
  auto const blocks = static_cast<unsigned>((n + hello::kThreads - 1) / hello::kThreads);
  show_device();

  std::size_t const free_before = free_bytes();
  float *a = nullptr, *b = nullptr, *c = nullptr, *sums = nullptr;
  for (float** array : {&a, &b, &c}) CHECK(cudaMalloc(array, bytes));
  CHECK(cudaMalloc(&sums, blocks * sizeof(float)));
  std::printf("allocated   3 arrays of %.2f MiB and %.2f MiB of sums: free memory fell by %.2f MiB\n", mib(bytes),
              mib(blocks * sizeof(float)), mib(free_before - free_bytes()));

  bool right = true;
  {
    Stopwatch watch;
    hello::fill<<<blocks, hello::kThreads>>>(a, n, 1.0f);
    hello::fill<<<blocks, hello::kThreads>>>(b, n, 2.0f);
    hello::add<<<blocks, hello::kThreads>>>(a, b, c, n);
    CHECK(cudaGetLastError());
    std::printf("fill, add   %zu elements in %.3f ms", n, watch.stop_ms());
    std::size_t const wrong = options.check_values ? count_wrong(to_host(c, n)) : 0;
    std::printf(options.check_values ? ": %zu wrong\n" : ": not looked at\n", wrong);
    right = right && wrong == 0;
  }
  {
    Stopwatch watch;
    hello::block_sum<<<blocks, hello::kThreads>>>(c, sums, n);
    CHECK(cudaGetLastError());
    std::printf("reduction   %u blocks of %d threads in %.3f ms", blocks, hello::kThreads, watch.stop_ms());
    if (options.check_values) {
      double const total = total_of(to_host(sums, blocks)), expected = expected_total(n);
      std::printf(": sum %.0f, expected %.0f\n", total, expected);
      right = right && total == expected;
    } else {
      std::printf(": not looked at\n");
    }
  }

  for (float* array : {a, b, c, sums}) CHECK(cudaFree(array));
  std::printf("freed       %.2f MiB missing\n", mib(free_before - free_bytes()));
  if (options.check_values)
    std::printf(right ? "all values right\n" : "WRONG VALUES (a dry run computes none: then add --no-check)\n");
  return right ? 0 : 1;
}
