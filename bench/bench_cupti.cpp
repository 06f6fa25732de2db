// SPDX-License-Identifier: Apache-2.0
// usage: bench_cupti [--short]
// What does CUPTI cost a recorded program, where it is asked for and where it is not? Each question is asked of a bare
// process, of a recorded one, and of one recorded with CUPTI, turn about. "whole" is the program's time from its
// beginning to its end, the last flush included. Prints JSON. The processes are this program itself (--client
// QUESTION).
#include <cuda.h>
#include <sys/utsname.h>
#include <tidemark/tidemark.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

namespace {

namespace fs = std::filesystem;

bool g_short = false;

void check(CUresult result, int line) {
  if (result == CUDA_SUCCESS) return;
  std::fprintf(stderr, "bench_cupti.cpp:%d: error %d\n", line, static_cast<int>(result));
  std::exit(1);
}
#define CHECK(call) check(call, __LINE__)

double now_ns() {
  return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The best of several rounds: other work on the machine only ever adds time.
template <class F>
double best_ns(int calls, F f) {
  if (g_short) calls = std::min(calls, 200);
  double best = 1e300;
  for (int round = 0; round < (g_short ? 2 : 20); ++round) {
    double const begin = now_ns();
    for (int i = 0; i < calls; ++i) f(i);
    best = std::min(best, (now_ns() - begin) / calls);
    CHECK(cuCtxSynchronize());
  }
  return best;
}

CUfunction kernel() {
  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  CHECK(cuInit(0));
  CHECK(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuModuleLoadData(&module,
                         ".version 9.0\n.target sm_75\n.address_size 64\n.visible .entry nothing()\n{\n ret;\n}\n"));
  CHECK(cuModuleGetFunction(&function, module, "nothing"));
  return function;
}

void launch(CUfunction function) {
  CHECK(cuLaunchKernel(function, 1, 1, 1, 1, 1, 1, 0, nullptr, nullptr, nullptr));
}
void pair() {
  CUdeviceptr block = 0;
  CHECK(cuMemAlloc(&block, 4096));
  CHECK(cuMemFree(block));
}
void mark(int i) {
  tidemark_push(TIDEMARK_LAYER, i % 2 == 0 ? "encoder.3.attn" : "encoder.3.mlp");
}

// A layer with three kernels and a block, many times: what a training loop does.
double whole() {
  double const begin = now_ns();
  CUfunction const function = kernel();
  for (int i = 0; i < (g_short ? 100 : 100'000); ++i) {
    mark(i);
    for (int k = 0; k < 3; ++k) launch(function);
    pair();
    tidemark_pop(TIDEMARK_LAYER);
  }
  CHECK(cuCtxSynchronize());
  return now_ns() - begin;
}

double answer(const std::string& question) {
  if (question == "whole") return whole();
  CUfunction const function = kernel();
  pair();  // the trace begins
  if (question == "launch") return best_ns(5000, [&](int) { launch(function); });
  if (question == "malloc_free") return best_ns(5000, [](int) { pair(); });
  return best_ns(50'000, [](int i) {
    mark(i);
    tidemark_pop(TIDEMARK_LAYER);
  });
}

enum class How { Bare, Recorded, WithCupti };

double ask(const std::string& self, const std::string& question, How how, const std::string& folder) {
  std::string command = "SOFTGPU_QUIET=1 TIDEMARK_SUMMARY=0 ";
  if (how != How::Bare) command += "TIDEMARK_OUT='" + folder + "/%p.tide' LD_PRELOAD='" TIDEMARK_PRELOAD "' ";
  if (how == How::WithCupti) command += "TIDEMARK_CUPTI=1 ";
  command += "'" + self + "' --client " + question + (g_short ? " --short" : "");
  double const begin = now_ns();
  FILE* const pipe = popen(command.c_str(), "r");
  double ns = 0;
  if (pipe == nullptr || std::fscanf(pipe, "%lf", &ns) != 1 || pclose(pipe) != 0) {
    std::fprintf(stderr, "bench_cupti: failed: %s\n", command.c_str());
    std::exit(1);
  }
  return question == "whole" ? now_ns() - begin : ns;
}

void compare(const std::string& self, const std::string& question, const std::string& folder) {
  double best[] = {1e300, 1e300, 1e300};
  for (int round = 0; round < (g_short ? 1 : 5); ++round)
    for (How const how : {How::Bare, How::Recorded, How::WithCupti}) {
      double& b = best[static_cast<int>(how)];
      b = std::min(b, ask(self, question, how, folder));
      fs::remove_all(folder);
      fs::create_directories(folder);
    }
  std::printf(",\n  \"%s\": {\"bare_ns\": %.1f, \"recorded_ns\": %.1f, \"with_cupti_ns\": %.1f, \"cupti_ratio\": %.3f}",
              question.c_str(), best[0], best[1], best[2], best[2] / best[1]);
  std::fflush(stdout);
}

}  // namespace

int main(int count, char** arguments) {
  std::string question;
  for (int i = 1; i < count; ++i) {
    if (std::strcmp(arguments[i], "--short") == 0) g_short = true;
    if (std::strcmp(arguments[i], "--client") == 0 && i + 1 < count) question = arguments[++i];
  }
  if (!question.empty()) {
    std::printf("%.2f\n", answer(question));
    return 0;
  }
  std::string const self = fs::read_symlink("/proc/self/exe");
  std::string const folder = fs::temp_directory_path() / ("bench_cupti-" + std::to_string(getpid()));
  fs::create_directories(folder);
  utsname machine{};
  uname(&machine);
  std::printf("{\"bench\": \"cupti\", \"machine\": \"%s %s\"", machine.sysname, machine.machine);
  for (const char* const q : {"launch", "malloc_free", "mark", "whole"}) compare(self, q, folder);
  std::printf("}\n");
  fs::remove_all(folder);
  return 0;
}
