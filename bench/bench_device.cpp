// SPDX-License-Identifier: Apache-2.0
// usage: bench_device [--json] [--short]
// What calls into the software device cost: a launch of an empty kernel, cudaMalloc and cudaFree with few and with many
// live blocks, copies against memcpy. Prints one line per question and JSON with --json. Run it with the device's
// libraries on the path: LD_LIBRARY_PATH=BUILD/lib/softgpu BUILD/bin/bench_device
#include <cuda_runtime_api.h>
#include <sys/utsname.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "bench/bench_device_kernel.h"

namespace {

void check(cudaError_t error, int line) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "bench_device.cpp:%d: %s\n", line, cudaGetErrorName(error));
  std::exit(1);
}
#define CHECK(call) check(call, __LINE__)

double now_ns() {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bool g_short = false;

// The best of several rounds: other work on the machine only ever adds time.
template <class F>
double best_ns(int rounds, int calls, F f) {
  double best = 1e300;
  if (g_short) rounds = 1;
  for (int r = 0; r < rounds; ++r) {
    double const begin = now_ns();
    for (int i = 0; i < calls; ++i) f(i);
    best = std::min(best, (now_ns() - begin) / calls);
  }
  return best;
}

struct Row {
  std::string question;
  double value;
  std::string unit;
  double goal;  // 0: none
};
std::vector<Row> g_rows;

void row(std::string question, double value, const char* unit, double goal = 0) {
  g_rows.push_back({std::move(question), value, unit, goal});
}

void launches() {
  row("launch of an empty kernel", best_ns(20, 2000, [](int) { bench::launch_empty(nullptr); }), "ns", 2000);
  cudaStream_t stream = nullptr;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  row("launch of an empty kernel on its own stream", best_ns(20, 2000, [&](int) { bench::launch_empty(stream); }), "ns",
      2000);
  CHECK(cudaStreamDestroy(stream));
}

// Pairs of malloc and free of mixed sizes while `live` other blocks stay.
double pair_ns(std::size_t live) {
  std::mt19937 random(1);
  auto const size = [&] { return std::size_t{256} << (random() % 13); };  // 256 B to 1 MiB
  std::vector<void*> blocks(live);
  for (auto& b : blocks) CHECK(cudaMalloc(&b, 512 * (1 + random() % 8)));
  std::vector<std::size_t> sizes(2000);
  for (auto& s : sizes) s = size();
  double const ns = best_ns(10, 2000, [&](int i) {
    void* p = nullptr;
    CHECK(cudaMalloc(&p, sizes[static_cast<std::size_t>(i)]));
    CHECK(cudaFree(p));
  });
  for (void* const b : blocks) CHECK(cudaFree(b));
  return ns / 2;
}

void allocations() {
  double const few = pair_ns(10'000), many = pair_ns(g_short ? 20'000 : 1'000'000);
  row("cudaMalloc or cudaFree, 10 000 live blocks", few, "ns", 1000);
  row("cudaMalloc or cudaFree, 1 000 000 live blocks", many, "ns", 3000);
  row("ratio of the two", many / few, "x", 3);
  row("cudaMallocAsync + cudaFreeAsync pair",
      best_ns(10, 2000,
              [](int) {
                void* p = nullptr;
                CHECK(cudaMallocAsync(&p, 4096, nullptr));
                CHECK(cudaFreeAsync(p, nullptr));
              }),
      "ns");
}

void copies() {
  for (std::size_t const bytes : {std::size_t{4} << 10, std::size_t{1} << 20, std::size_t{64} << 20}) {
    void *device = nullptr, *host = nullptr;
    CHECK(cudaMalloc(&device, bytes));
    CHECK(cudaMallocHost(&host, bytes));
    std::vector<char> other(bytes, 1);
    std::memset(host, 1, bytes);
    int const calls = bytes > (1u << 20) ? 3 : 200;
    double const ours = best_ns(5, calls, [&](int) { CHECK(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice)); });
    double const plain = best_ns(5, calls, [&](int) { std::memcpy(other.data(), host, bytes); });
    row("cudaMemcpy of " + std::to_string(bytes >> 10) + " KiB, against memcpy", ours / plain, "x");
    CHECK(cudaFree(device));
    CHECK(cudaFreeHost(host));
  }
}

void print_json() {
  utsname machine{};
  ::uname(&machine);
  std::printf("{\"bench\": \"device\", \"machine\": \"%s %s\", \"rows\": [", machine.sysname, machine.machine);
  for (std::size_t i = 0; i < g_rows.size(); ++i)
    std::printf("%s{\"question\": \"%s\", \"value\": %.2f, \"unit\": \"%s\", \"goal\": %.0f}", i == 0 ? "" : ", ",
                g_rows[i].question.c_str(), g_rows[i].value, g_rows[i].unit.c_str(), g_rows[i].goal);
  std::printf("]}\n");
}

}  // namespace

int main(int argc, char** argv) {
  bool json = false;
  for (int i = 1; i < argc; ++i) {
    json = json || std::strcmp(argv[i], "--json") == 0;
    g_short = g_short || std::strcmp(argv[i], "--short") == 0;
  }
  CHECK(cudaFree(nullptr));
  launches();
  allocations();
  copies();
  if (json) {
    print_json();
    return 0;
  }
  for (Row const& r : g_rows) {
    std::printf("%-52s %10.2f %-3s", r.question.c_str(), r.value, r.unit.c_str());
    if (r.goal != 0) std::printf(" (goal: at most %.0f)%s", r.goal, r.value <= r.goal ? "" : "  MISSED");
    std::printf("\n");
  }
  return 0;
}
