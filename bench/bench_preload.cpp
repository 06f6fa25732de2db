// SPDX-License-Identifier: Apache-2.0
// usage: bench_preload [--short] [--json]
// What does recording cost a program, and what does it save to have its memory served? Each question is asked of a bare
// process and of two with libtidemark.so preloaded, one observed and one served, turn about, and answered as ratios.
// Prints JSON. The processes are this program itself (--client QUESTION).
#include <cuda_runtime_api.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <tidemark/tidemark.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <vector>

namespace {

bool g_short = false;

void check(cudaError_t result, int line) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "bench_preload.cpp:%d: %s\n", line, cudaGetErrorName(result));
  std::exit(1);
}
#define CHECK(call) check(call, __LINE__)

double now_ns() {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void pair(std::size_t bytes) {
  void* block = nullptr;
  CHECK(cudaMalloc(&block, bytes));
  CHECK(cudaFree(block));
}

// Nanoseconds per cudaMalloc and cudaFree, the best of several rounds.
double pairs_ns(unsigned threads) {
  int const calls = g_short ? 200 : 20'000;
  double best = 1e300;
  for (int round = 0; round < (g_short ? 2 : 7); ++round) {
    double const begin = now_ns();
    std::vector<std::thread> running;
    for (unsigned t = 0; t < threads; ++t)
      running.emplace_back([&] {
        for (int i = 0; i < calls; ++i) pair(4096);
      });
    for (auto& t : running) t.join();
    best = std::min(best, (now_ns() - begin) / calls);
  }
  return best;
}

// Marks alone: what a layer costs that is opened and closed.
double marks_ns() {
  int const calls = g_short ? 1000 : 1'000'000;
  pair(4096);  // the trace begins with the first CUDA call
  double best = 1e300;
  for (int round = 0; round < (g_short ? 2 : 5); ++round) {
    double const begin = now_ns();
    for (int i = 0; i < calls; ++i) {
      tidemark_push(TIDEMARK_LAYER, i % 2 == 0 ? "encoder.3.attn" : "encoder.3.mlp");
      tidemark_pop(TIDEMARK_LAYER);
    }
    best = std::min(best, (now_ns() - begin) / calls);
  }
  return best;
}

// Steps of a network of fifty layers as a program without a caching allocator runs them: two blocks and a copy of some
// length in each layer, forward and backward.
double step_ns() {
  constexpr int kLayers = 50;
  int const steps = g_short ? 2 : 40;
  std::vector<void*> kept(2 * kLayers);
  double best = 1e300;
  for (int step = 0; step < steps; ++step) {
    double const begin = now_ns();
    tidemark_step(static_cast<std::uint64_t>(step));
    tidemark_push(TIDEMARK_PHASE, "forward");
    for (int layer = 0; layer < kLayers; ++layer) {
      tidemark_push(TIDEMARK_LAYER, "layer");
      for (int i = 0; i < 2; ++i) CHECK(cudaMalloc(&kept[2 * layer + i], 1 << 20));
      CHECK(cudaMemsetAsync(kept[2 * layer], 0, 1 << 20, nullptr));
      tidemark_pop(TIDEMARK_LAYER);
    }
    tidemark_pop(TIDEMARK_PHASE);
    tidemark_push(TIDEMARK_PHASE, "backward");
    for (int layer = kLayers - 1; layer >= 0; --layer) {
      CHECK(cudaMemsetAsync(kept[2 * layer], 0, 1 << 20, nullptr));
      for (int i = 0; i < 2; ++i) CHECK(cudaFree(kept[2 * layer + i]));
    }
    tidemark_pop(TIDEMARK_PHASE);
    CHECK(cudaDeviceSynchronize());
    best = std::min(best, now_ns() - begin);
  }
  return best;
}

int client(const char* question) {
  double const ns = std::strcmp(question, "pairs") == 0     ? pairs_ns(1)
                    : std::strcmp(question, "pairs_2") == 0 ? pairs_ns(2)
                    : std::strcmp(question, "marks") == 0   ? marks_ns()
                                                            : step_ns();
  std::printf("%.2f\n", ns);
  return 0;
}

// One process; what it printed. `mode` null: bare.
double ask(const std::string& self, const char* question, const char* mode, const std::string& folder) {
  std::string command = "SOFTGPU_QUIET=1 TIDEMARK_SUMMARY=0 ";
  if (mode != nullptr)
    command += std::string("TIDEMARK_MODE=") + mode + " TIDEMARK_OUT='" + folder +
               "/%p.tide' LD_PRELOAD='" TIDEMARK_PRELOAD "' ";
  command += "'" + self + "' --client " + question + (g_short ? " --short" : "");
  FILE* const pipe = popen(command.c_str(), "r");
  double ns = 0;
  if (pipe == nullptr || std::fscanf(pipe, "%lf", &ns) != 1 || pclose(pipe) != 0) {
    std::fprintf(stderr, "bench_preload: failed: %s\n", command.c_str());
    std::exit(1);
  }
  return ns;
}

void compare(const std::string& self, const char* question, const std::string& folder) {
  double bare = 1e300, observed = 1e300, served = 1e300;
  for (int round = 0; round < (g_short ? 1 : 5); ++round) {
    bare = std::min(bare, ask(self, question, nullptr, folder));
    observed = std::min(observed, ask(self, question, "observe", folder));
    served = std::min(served, ask(self, question, "cache", folder));
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
  }
  std::printf(",\n  \"%s\": {\"bare_ns\": %.1f, \"observed_ns\": %.1f, \"served_ns\": %.1f", question, bare, observed,
              served);
  // A mark is nothing at all in a bare program, and JSON knows no infinity.
  if (bare >= 0.05) std::printf(", \"observed_ratio\": %.3f, \"served_ratio\": %.3f", observed / bare, served / bare);
  std::printf("}");
  std::fflush(stdout);
}

}  // namespace

int main(int count, char** arguments) {
  const char* question = nullptr;
  for (int i = 1; i < count; ++i) {
    if (std::strcmp(arguments[i], "--short") == 0) g_short = true;
    if (std::strcmp(arguments[i], "--client") == 0 && i + 1 < count) question = arguments[++i];
  }
  if (question != nullptr) return client(question);
  std::string const self = std::filesystem::read_symlink("/proc/self/exe");
  std::string const folder = std::filesystem::temp_directory_path() / ("bench_preload-" + std::to_string(getpid()));
  std::filesystem::create_directories(folder);
  utsname machine{};
  uname(&machine);
  std::printf("{\"bench\": \"preload\", \"machine\": \"%s %s\"", machine.sysname, machine.machine);
  for (const char* const q : {"pairs", "pairs_2", "marks", "step"}) compare(self, q, folder);
  std::printf("}\n");
  std::filesystem::remove_all(folder);
  return 0;
}
